// One arm: its values, and all its pairs.
import { useEffect, useState } from "preact/hooks";
import { useAsked } from "../api";
import { useStudyEvent } from "../live";
import { Badge, Facts, Name, Problem, Table } from "../parts/small";
import { toArm, toPair, toStudies, toStudy } from "../route";
import type { Arms, ArmView, Pair, Pairs, StudyView } from "../types";
import { count, counted, figure, oddness, SAID, size, strength } from "../words";

const MOST = 100; // pairs in the table; a search finds the others

export function ArmPage({ study, arm }: { study: number; arm: string }) {
  const revision = useStudyEvent(study)?.revision ?? 0;
  const { data: view } = useAsked<StudyView>(`/api/studies/${study}`, 0);
  const found = useAsked<Arms>(`/api/studies/${study}/arms?${new URLSearchParams({ search: arm, limit: "5000" })}`, revision);
  const pairs = useAsked<Pairs>(`/api/studies/${study}/pairs?${new URLSearchParams({ arm, limit: "50000" })}`, revision);
  useEffect(() => void (document.title = `kabc: ${arm}`), [arm]);
  const one = found.data?.arms.find((entry) => entry.arm === arm);
  return (
    <>
      <nav class="trail" aria-label="Where you are">
        <a href={toStudies}>Studies</a> › <a href={toStudy(study)}><Name text={view?.name ?? `study ${study}`} /></a> › arm
      </nav>
      <h1><Name text={arm} /></h1>
      <Problem error={found.error ?? pairs.error} />
      {one !== undefined && <About arm={one} certified={found.data?.certified ?? false} />}
      {pairs.data !== null && <ItsPairs study={study} arm={arm} pairs={pairs.data} />}
    </>
  );
}

function About({ arm, certified }: { arm: ArmView; certified: boolean }) {
  return (
    <>
      <Facts facts={[
        [certified ? "Group" : "Group (guess)", <Badge group={arm.group} />],
        ["Samples", count(arm.n_samples)],
        ...(arm.spent > 0 ? [["Spent", figure(arm.spent)] as [string, string]] : []),
        ["Failed tries", count(arm.n_failures)],
        ["Oddness", oddness(arm.oddness) || "not known"],
      ]} />
      {arm.set_aside !== "" && <p class="notice">Set aside: {arm.set_aside}</p>}
      {arm.columns.length > 0 && (
        <>
          <h2>Values</h2>
          <p class="soft">Estimates from the samples kept, no part of the guarantee.</p>
          <Table label="Values" heads={["Column", "Samples kept", "Median", "5 %", "95 %", "Mean", "SD"]} numeric={[1, 2, 3, 4, 5, 6]}>
            {arm.columns.map((one) => (
              <tr key={one.column}>
                <th scope="row"><Name text={one.column} /></th>
                <td class="n">{count(one.n)}</td>
                {one.shares.length > 0
                  ? <td colSpan={5}>{one.shares.slice(0, 6).map(([level, part]) => `${level} (${Math.round(100 * part)} %)`).join(", ")}</td>
                  : [one.median, one.low, one.high, one.mean, one.sd].map((value, i) => <td key={i} class="n">{figure(value)}</td>)}
              </tr>
            ))}
          </Table>
        </>
      )}
    </>
  );
}

function ItsPairs({ study, arm, pairs }: { study: number; arm: string; pairs: Pairs }) {
  const [search, setSearch] = useState("");
  const other = (pair: Pair): string => (pair.a === arm ? pair.b : pair.a);
  const wanted = search.toLowerCase();
  const chosen = pairs.pairs.filter((pair) => other(pair).toLowerCase().includes(wanted));
  const by = (pair: Pair): number => (Number.isNaN(size(pair.strength)) ? -Infinity : size(pair.strength));
  chosen.sort((a, b) => by(b) - by(a) || 0);
  return (
    <>
      <h2>Pairs</h2>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <label for="pairs-search">Search</label>
        <input id="pairs-search" type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        <span class="soft" role="status">{counted(chosen.length, "pair")}{chosen.length > MOST ? `, the first ${MOST} are shown` : ""}</span>
      </form>
      <p class="soft">The strongest evidence comes first, in units of its threshold: from 1 on a pair is told apart. Open means that nothing is proven yet.{pairs.void ? " Nothing is proven: an assumption is refuted, or the rule is a heuristic." : ""}{pairs.conditional_on === "" ? "" : ` Verdicts hold if ${pairs.conditional_on}.`}</p>
      <Table label="Pairs" heads={["With", "Verdict", "Evidence", "Side by side"]} numeric={[2]}>
        {chosen.slice(0, MOST).map((pair) => (
          <tr key={other(pair)}>
            <th scope="row"><a href={toArm(study, other(pair))}><Name text={other(pair)} /></a></th>
            <td>{SAID[pair.verdict].sign} {pair.verdict}</td>
            <td class="n">{strength(pair.strength)}</td>
            <td><a href={toPair(study, arm, other(pair))}>compare<span class="spoken"> with {other(pair)}</span></a></td>
          </tr>
        ))}
      </Table>
    </>
  );
}
