// All arms, the odd ones first. Only the rows in sight exist, so thousands of arms are no burden.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, type Refused } from "../api";
import { Badge, Name, Problem, useSettled } from "./small";
import { toArm } from "../route";
import type { Arms, ArmView } from "../types";
import { count, counted, figure, oddness } from "../words";

const ROW = 36; // pixels, as in page.css
const PAGE = 100; // rows that are asked for together
const BEYOND = 8; // rows above and below the frame

export function ArmsList({ study, version, priced }: { study: number; version: string; priced: boolean }) {
  const [typed, setTyped] = useState("");
  const search = useSettled(typed);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(480);
  const frame = useRef<HTMLDivElement>(null);
  const paper = usePaper();
  const first = paper ? 0 : Math.max(0, Math.floor(top / ROW) - BEYOND);
  const last = paper ? PAGE : Math.ceil((top + height) / ROW) + BEYOND;
  const { rows, total, error } = useRows(study, version, search, first, last);
  useEffect(() => {
    if (frame.current === null) return;
    const seen = new ResizeObserver(([entry]) => setHeight(entry?.contentRect.height ?? 480));
    seen.observe(frame.current);
    return () => seen.disconnect();
  }, []);
  useEffect(() => void frame.current?.scrollTo(0, 0), [search]);
  const shown = Array.from({ length: Math.max(0, Math.min(last, total ?? 0) - first) }, (_, i) => first + i);
  return (
    <>
      <h2>All arms</h2>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <label for="arms-search">Search</label>
        <input id="arms-search" type="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <span class="soft" role="status">{total === null ? "Loading …" : counted(total, "arm")}</span>
      </form>
      <p class="soft">The odd ones first. Oddness and values are estimates from the samples kept, no part of the guarantee.</p>
      {(total ?? 0) > PAGE && <p class="printed soft">The first {PAGE} of {counted(total ?? 0, "arm")}.</p>}
      <Problem error={error} />
      <div ref={frame} class="list" role="table" aria-label="Arms, the odd ones first" aria-rowcount={(total ?? 0) + 1} tabIndex={0}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div role="rowgroup" class="list-head"><div role="row" class="list-row" aria-rowindex={1}>
          {["Arm", "Group", "Samples", priced ? "Spent" : "Failed", "Oddness", "Values"].map((head, i) => (
            <span key={head} role="columnheader" class={CELLS[i]}>{head}</span>
          ))}
        </div></div>
        <div role="rowgroup" style={{ height: `${(total ?? 0) * ROW}px`, paddingTop: `${first * ROW}px` }} class="list-body">
          {shown.map((place) => <Row key={place} study={study} place={place} arm={rows.get(place)} priced={priced} />)}
        </div>
      </div>
    </>
  );
}

/** Whether the page is being printed: paper has no window to scroll in. */
function usePaper(): boolean {
  const [paper, set] = useState(false);
  useEffect(() => {
    const begin = (): void => set(true);
    const end = (): void => set(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return paper;
}

const CELLS = ["arm", "group", "samples n", "spent n", "odd n", "values"];

function Row({ study, place, arm, priced }: { study: number; place: number; arm: ArmView | undefined; priced: boolean }) {
  const cells = arm === undefined ? ["…"] : [
    <a href={toArm(study, arm.arm)} title={arm.arm}><Name text={arm.arm} /></a>,
    arm.set_aside === "" ? <Badge group={arm.group} /> : <span title={arm.set_aside}>set aside</span>,
    count(arm.n_samples),
    priced ? figure(arm.spent) : count(arm.n_failures),
    oddness(arm.oddness),
    values(arm),
  ];
  return (
    <div role="row" class="list-row" aria-rowindex={place + 2}>
      {cells.map((cell, i) => <span key={i} role="cell" class={CELLS[i]}>{cell}</span>)}
    </div>
  );
}

function values(arm: ArmView): string {
  const column = arm.columns[0];
  if (column === undefined) return "";
  if (column.shares.length > 0) return `${column.column}: mostly ${column.shares[0]?.[0]}`;
  return `${column.column}: median ${figure(column.median)}, 5-95 % ${figure(column.low)} to ${figure(column.high)}`;
}

interface Kept { key: string; rows: Map<number, ArmView>; total: number | null; error: Refused | null }

/** The rows from `first` to `last`. Rows of an older version stay until the new ones are there. */
function useRows(study: number, version: string, search: string, first: number, last: number): Kept {
  const [kept, set] = useState<Kept>({ key: "", rows: new Map(), total: null, error: null });
  const [again, setAgain] = useState(0);
  const asked = useRef({ key: "", pages: new Set<number>() });
  const key = `${version}\n${search}`;
  useEffect(() => {
    if (asked.current.key !== key) asked.current = { key, pages: new Set() };
    const pages = asked.current.pages;
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) {
      const beyond = kept.key === key && kept.total !== null && page * PAGE >= Math.max(kept.total, 1);
      if (!pages.has(page) && !beyond) {
        pages.add(page);
        void load(page);
      }
    }
  }, [key, Math.floor(first / PAGE), Math.floor(last / PAGE), again]);

  async function load(page: number): Promise<void> {
    const words = new URLSearchParams({ search, offset: String(page * PAGE), limit: String(PAGE) });
    try {
      const found = await ask<Arms>(`/api/studies/${study}/arms?${words}`);
      if (asked.current.key !== key) return; // something newer was asked for meanwhile
      set((old) => {
        const rows = old.key.split("\n")[1] === search ? new Map(old.rows) : new Map<number, ArmView>();
        found.arms.forEach((arm, i) => rows.set(page * PAGE + i, arm));
        return { key, rows, total: found.total, error: null };
      });
    } catch (error) {
      if (asked.current.key !== key) return;
      asked.current.pages.delete(page);
      if ((error as Refused).code === 503) setTimeout(() => setAgain((n) => n + 1), 300); // still being computed
      else set((old) => ({ ...old, error: error as Refused }));
    }
  }
  return kept;
}
