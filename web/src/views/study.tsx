// One study: what is known, who works for it, what happened.
import { useEffect, useState } from "preact/hooks";
import { useAsked } from "../api";
import { useStudyEvent } from "../live";
import { Actions } from "../parts/actions";
import { ArmsList } from "../parts/arms";
import { ChangesSince, useChanges } from "../parts/changes";
import { Happenings } from "../parts/happenings";
import { MOST_DRAWN, PairMap } from "../parts/pairmap";
import { Part } from "../parts/report";
import { Ago, Facts, Name, Problem, Spend, State, useNow } from "../parts/small";
import { Crew } from "../parts/crew";
import { toStudies } from "../route";
import type { Snapshot, StudyEvent, StudyView } from "../types";
import { clock, count, figure } from "../words";

const SECTIONS = [["answer", "Answer"], ["changes", "Changes"], ["groups", "Groups"], ["pairs", "Pairs"], ["arms", "Arms"], ["workers", "Workers"],
  ["events", "Events"], ["pictures", "Pictures"], ["certificate", "Certificate"]] as const;

export function StudyPage({ study, admin }: { study: number; admin: boolean }) {
  const event = useStudyEvent(study);
  const revision = event?.revision ?? 0;
  const path = event?.state === "deleted" ? null : `/api/studies/${study}`;
  const { data: view, error } = useAsked<StudyView>(path, revision);
  const snapshot = useSnapshot(path, revision);
  const now = useNow(view?.now);
  useEffect(() => void (document.title = `kabc: ${view?.name ?? "study"}`), [view?.name]);
  const answer = snapshot?.answer ?? null;
  const version = `${answer?.n_samples}/${answer?.status}/${answer?.certified}/${view?.state}`;
  const changes = useChanges(study, version, answer !== null && path !== null);
  if (path === null) return <Gone />;
  if (view === null) return error === null ? <p class="soft" role="status">Loading …</p> : <><h1>Study</h1><Problem error={error} /></>;
  const figures = latest(view, event);
  const sections = SECTIONS.filter(([id]) => id !== "changes" || (changes !== null && changes.before !== null));
  return (
    <>
      <nav class="trail" aria-label="Where you are"><a href={toStudies}>Studies</a> › <Name text={view.name} /></nav>
      <h1><Name text={view.name} /></h1>
      <Facts facts={[
        ["State", <State state={figures.state} status={figures.state === "ended" ? figures.status : null} />],
        ["Samples", <Spend samples={figures.n_samples} most={view.max_samples} named={view.name} />],
        ...(view.price > 0 ? [["Spent", figure(figures.spent)] as [string, string]] : []),
        ["Rounds", count(figures.n_rounds)],
        ["Workers", count(view.n_workers)],
        ["Last change", <Ago at={figures.last_change} now={now} />],
      ]} />
      {admin && <Actions view={view} />}
      <nav class="tabs" aria-label="Sections">
        {sections.map(([id, title]) => <button key={id} type="button" onClick={() => jump(id)}>{title}</button>)}
      </nav>
      <section id="answer" tabIndex={-1} aria-label="Answer"><AnswerSoFar study={study} snapshot={snapshot} version={version} /></section>
      {changes !== null && changes.before !== null && <section id="changes" tabIndex={-1} aria-label="Changes"><ChangesSince changes={changes} /></section>}
      {answer !== null && (
        <>
          <section id="groups" tabIndex={-1} aria-label="Groups"><Part study={study} name="groups" version={version} /></section>
          <section id="pairs" tabIndex={-1} aria-label="Pairs">
            <h2>Pairs</h2>
            {view.arms.length <= MOST_DRAWN
              ? <PairMap study={study} arms={view.arms} answer={answer} version={version} />
              : <Part study={study} name="pairs" version={version} />}
            {answer.tolerance !== null && <Part study={study} name="verdicts" version={version} />}
          </section>
          <section id="arms" tabIndex={-1} aria-label="Arms"><ArmsList study={study} version={version} priced={view.price > 0} /></section>
        </>
      )}
      <section id="workers" tabIndex={-1} aria-label="Workers"><Crew view={view} tickets={figures.tickets} now={now} /></section>
      <section id="events" tabIndex={-1} aria-label="Events"><Happenings study={study} arms={view.arms} revision={revision} now={now} /></section>
      {answer !== null && (
        <>
          <section id="pictures" tabIndex={-1} aria-label="Pictures">
            {["effects", "values", "pictures"].map((name) => <Part key={name} study={study} name={name} version={version} />)}
          </section>
          <section id="certificate" tabIndex={-1} aria-label="Certificate and settings">
            <Part study={study} name="certificate" version={version} />
            <Part study={study} name="settings" version={version} />
          </section>
        </>
      )}
    </>
  );
}

function jump(id: string): void {
  const place = document.getElementById(id);
  place?.scrollIntoView();
  place?.focus({ preventScroll: true });
}

/** The answer so far; while a newer one is being computed it is asked for again. */
function useSnapshot(path: string | null, revision: number): Snapshot | null {
  const [again, setAgain] = useState(0);
  const { data, error } = useAsked<Snapshot>(path && `${path}/snapshot`, `${revision}/${again}`);
  useEffect(() => {
    if (data?.computing !== true && error === null) return;
    const timer = setTimeout(() => setAgain((n) => n + 1), 700);
    return () => clearTimeout(timer);
  }, [data, error]);
  return data;
}

/** An event is ahead of what was asked for last. */
function latest(view: StudyView, event: StudyEvent | null): StudyView | StudyEvent {
  return event !== null && event.revision > view.revision ? event : view;
}

function AnswerSoFar({ study, snapshot, version }: { study: number; snapshot: Snapshot | null; version: string }) {
  if (snapshot === null || (snapshot.answer === null && snapshot.computing)) {
    return <p class="soft" role="status">Computing the answer so far …</p>;
  }
  if (snapshot.answer === null) return <p class="verdict no"><strong>No answer yet: no round is finished.</strong></p>;
  const ended = snapshot.state === "ended";
  return (
    <>
      <p class="spoken" role="status">{snapshot.certainty}: {snapshot.sentence}</p>
      <Part study={study} name="answer" version={version} />
      <p class="soft since">
        {ended ? "The answer stands since " : "The answer so far, as of "}{clock(snapshot.since)}.
        {snapshot.computing ? " A newer one is being computed." : ""}
      </p>
    </>
  );
}

function Gone() {
  return <><h1>No such study</h1><p>It was deleted, or the address is wrong. <a href={toStudies}>All studies</a></p></>;
}
