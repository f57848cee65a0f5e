// Two arms side by side.
import { useEffect, useMemo } from "preact/hooks";
import { useAsked } from "../api";
import { useStudyEvent } from "../live";
import { columnsOf, Overlays, Trace } from "../parts/overlay";
import { Badge, Facts, Name, Problem } from "../parts/small";
import { toArm, toStudies, toStudy } from "../route";
import type { ArmSamples, Pairs, Samples, StudyView } from "../types";
import { count, counted, evidence, figure, SAID } from "../words";

export function PairPage({ study, a, b }: { study: number; a: string; b: string }) {
  const revision = useStudyEvent(study)?.revision ?? 0;
  const { data: view } = useAsked<StudyView>(`/api/studies/${study}`, 0);
  const { data, error } = useAsked<Samples>(`/api/studies/${study}/samples?${new URLSearchParams({ a, b })}`, revision);
  const { data: terms } = useAsked<Pairs>(`/api/studies/${study}/pairs?${new URLSearchParams({ arm: a, limit: "1" })}`, revision);
  const columns = useMemo(() => (data === null ? [] : columnsOf(data)), [data]);
  useEffect(() => void (document.title = `kabc: ${a} and ${b}`), [a, b]);
  const said = data === null ? null : SAID[data.pair.verdict];
  return (
    <>
      <nav class="trail" aria-label="Where you are">
        <a href={toStudies}>Studies</a> › <a href={toStudy(study)}><Name text={view?.name ?? `study ${study}`} /></a> › pair
      </nav>
      <h1><Name text={a} /> and <Name text={b} /></h1>
      <Problem error={error} />
      {data !== null && said !== null && terms !== null && (
        <>
          <div class={`verdict ${data.pair.verdict === "open" ? "no" : "yes"}`}>
            <p><strong>{said.sign} {said.word[0]!.toUpperCase()}{said.word.slice(1)}{data.pair.verdict === "open" || terms.conditional_on === "" ? "" : `, if ${terms.conditional_on}`}.</strong></p>
            <p>{spelled(data)}</p>
            <Facts facts={[...arm(study, data.a), ...arm(study, data.b)]} />
          </div>
          <h2>What distinguishes them</h2>
          <p class="soft">Estimates from the samples kept, no part of the guarantee. The columns that differ most come first. Values beyond the frame are counted in the outermost bars.</p>
          {columns.length === 0 ? <p>No samples were kept that have a picture.</p> : <Overlays columns={columns} a={a} b={b} />}
          <h2>Evidence</h2>
          {data.trace === null ? <p class="soft">How the evidence grew is kept for at most 40 arms.</p> : <div class="figures"><Trace trace={data.trace} /></div>}
        </>
      )}
    </>
  );
}

function spelled({ pair }: Samples): string {
  const parts = [evidence(pair.strength)];
  if (pair.told_in_round > 0) parts.push(`first told apart in round ${count(pair.told_in_round)}`);
  if (pair.same_within !== null) parts.push(`proven to be at most ${figure(pair.same_within)} apart`);
  if (pair.apart_at_least !== null && pair.apart_at_least !== 0) parts.push(`proven to be at least ${figure(pair.apart_at_least)} apart`);
  const text = parts.join("; ");
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

function arm(study: number, one: ArmSamples): [string, preact.ComponentChildren][] {
  return [[one.arm, <><Badge group={one.group} /> <a href={toArm(study, one.arm)}>{counted(one.n_samples, "sample")}</a></>]];
}
