import { useEffect, useState } from "preact/hooks";
import { Ago, Name, Spend, StackedTable, State, useNow } from "../parts/small";
import { useStudies } from "../live";
import { toStudy } from "../route";
import type { SoFar, StudyLine } from "../types";
import { count, counted, figure } from "../words";

const MOST = 300; // rows; who has more studies searches
const HEADS = ["Study", "State", "Arms", "Groups so far", "Samples", "More needed", "Spent", "Workers", "Last change"];
const NOTHING = "–"; // nothing is known

export function StudiesPage() {
  const list = useStudies();
  const now = useNow(list?.now);
  const [search, setSearch] = useState("");
  useEffect(() => void (document.title = "kabc: studies"), []);
  if (list === null) return <><h1>Studies</h1><p class="soft" role="status">Loading …</p></>;
  if (list.studies.length === 0 && list.unread === 0) {
    return <><h1>Studies</h1><p>There are no studies in <code>{list.storage}</code> yet. <code>kabc run ... --study NAME</code> makes one, with the same <code>--storage</code>.</p></>;
  }
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (one: StudyLine): string => `${one.name} ${one.state} ${one.status ?? ""}`.toLowerCase();
  const found = list.studies.filter((one) => words.every((word) => text(one).includes(word)));
  found.sort((a, b) => b.last_change - a.last_change);
  return (
    <>
      <h1>Studies</h1>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <label for="search">Search</label>
        <input id="search" type="search" value={search} placeholder="name or state" onInput={(event) => setSearch(event.currentTarget.value)} />
        <span class="soft" role="status">{said(found.length, list.studies.length)}{list.unread > 0 ? `; ${count(list.unread)} more are being read` : ""}</span>
      </form>
      <StackedTable label="Studies" heads={HEADS} numeric={[2, 4, 5, 6, 7]} plain={[1]} rows={found.slice(0, MOST).map((one) => ({ key: one.id, cells: [
        <a href={toStudy(one.id)}><Name text={one.name} /></a>,
        <State state={one.state} status={one.status} />,
        count(one.n_arms),
        groups(one.so_far),
        <Spend samples={one.n_samples} most={one.max_samples} named={one.name} />,
        forecast(one.so_far),
        one.spent > 0 ? figure(one.spent) : NOTHING,
        count(one.n_workers),
        <Ago at={one.last_change} now={now} />,
      ] }))} />
      <p class="soft">The latest change comes first. “More needed” is an estimate; {NOTHING} means that nothing is known without reading the study: open it. Kept in <code>{list.storage}</code>.</p>
    </>
  );
}

function groups(so_far: SoFar | null): string {
  if (so_far === null) return NOTHING;
  if (so_far.certified) return `${count(so_far.n_groups)}, certified`;
  const least = so_far.n_groups_at_least > 1 ? `; at least ${count(so_far.n_groups_at_least)}` : "";
  return `${count(so_far.n_groups)}, a guess${least}`;
}

const forecast = (so_far: SoFar | null): string => (so_far === null || so_far.forecast === null ? NOTHING : `about ${count(so_far.forecast)}`);

function said(found: number, every: number): string {
  if (found === every) return every === 1 ? "1 study" : `${count(every)} studies`;
  return `${counted(found, "match").replace("matchs", "matches")} of ${count(every)}${found > MOST ? `, the first ${MOST} are shown` : ""}`;
}
