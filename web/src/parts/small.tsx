// Small things that several views use.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Refused } from "../api";
import { ago, clock, count } from "../words";

/** Seconds since the epoch by the clock of the store, every second. `at` is what it said when it was asked. */
export function useNow(at: number | undefined): number {
  const [ahead, setAhead] = useState(0);
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    if (at !== undefined) setAhead(at - Date.now() / 1000);
  }, [at]);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + ahead;
}

export function Ago({ at, now }: { at: number; now: number }) {
  return <time dateTime={new Date(1000 * at).toISOString()} title={clock(at)}>{ago(at, now)}</time>;
}

export function Name({ text }: { text: string }) {
  return <bdi>{text}</bdi>;
}

export function Badge({ group }: { group: number | null }) {
  if (group === null) return <span class="soft">none</span>;
  return (
    <>
      <svg class="badge" width="22" height="22" viewBox="0 0 20 20" aria-hidden="true">
        <circle class={`g${(group - 1) % 8}`} cx="10" cy="10" r="10" />
        <text class="in node-ink" x="10" y="13.2" text-anchor="middle">{group}</text>
      </svg>
      <span class="spoken">group {group}</span>
    </>
  );
}

export function State({ state, status }: { state: string; status: string | null }) {
  return <span class={`state ${state}`}>{status === null || status === "" ? state : `${state}: ${status}`}</span>;
}

export function Spend({ samples, most, named }: { samples: number; most: number | null; named: string }) {
  if (most === null) return <>{count(samples)}</>;
  return (
    <>
      {count(samples)} of {count(most)}
      <meter min={0} max={Math.max(most, 1)} value={Math.min(samples, most)} aria-label={`samples of the budget, ${named}`} />
    </>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([term, said]) => <div key={term}><dt>{term}</dt><dd>{said}</dd></div>)}
    </dl>
  );
}

export function Problem({ error }: { error: Refused | null }) {
  return error === null ? null : <p class="notice problem" role="alert">{error.message}</p>;
}

/** A table that scrolls in its frame; the keyboard reaches it. */
export function Table({ label, heads, numeric = [], children }: {
  label: string; heads: readonly string[]; numeric?: readonly number[]; children: ComponentChildren;
}) {
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead><tr>{heads.map((head, i) => <th key={head} scope="col" class={numeric.includes(i) ? "n" : ""}>{head}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export interface Stacked { key: number; cells: ComponentChildren[] }

/** A table whose rows become small cards on a phone. Its roles are written down: a table that is laid out as something else loses them. */
export function StackedTable({ label, heads, numeric, plain, rows }: {
  label: string; heads: readonly string[]; numeric: readonly number[]; plain: readonly number[]; rows: Stacked[];
}) {
  const kind = (i: number): string => `${numeric.includes(i) ? "n" : ""}${plain.includes(i) ? " plain" : ""}`;
  return (
    <div class="scroll tall stack" tabIndex={0} role="region" aria-label={label}>
      <table role="table" aria-label={label}>
        <thead role="rowgroup"><tr role="row">{heads.map((head, i) => <th key={head} scope="col" role="columnheader" class={kind(i)}>{head}</th>)}</tr></thead>
        <tbody role="rowgroup">
          {rows.map(({ key, cells }) => (
            <tr key={key} role="row">
              {cells.map((cell, i) => i === 0
                ? <th key={i} scope="row" role="rowheader">{cell}</th>
                : <td key={i} role="cell" class={kind(i)} data-head={heads[i]}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A text that follows another one after a pause, such as what is typed into a search field. */
export function useSettled(text: string): string {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
