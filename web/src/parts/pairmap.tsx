// The map of all pairs: a full square is different, a disc is the same, a small square is open. The colour is the evidence.
// It is drawn on a canvas, because 300 arms are 45,000 pairs. Pointer and keyboard choose a pair.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsked } from "../api";
import { Problem } from "./small";
import { toPair } from "../route";
import type { Answer, Pair, Pairs } from "../types";
import { count, evidence, figure, SAID, size } from "../words";

export const MOST_DRAWN = 300; // arms; with more, the report draws groups
const EDGES = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8]; // between two colours, in units of the threshold: as in the report
const [SMALLEST, LARGEST] = [4, 44]; // pixels of a cell
const NAMED = 13; // pixels that a cell must have for names beside it

interface Props { study: number; arms: string[]; answer: Answer; version: string }
interface Cell { row: number; column: number }

export function PairMap({ study, arms, answer, version }: Props) {
  const { data, error } = useAsked<Pairs>(`/api/studies/${study}/pairs?limit=50000`, version);
  const [chosen, choose] = useState<Cell | null>(null);
  const [width, setWidth] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const order = useMemo(() => ordered(arms, answer.labels), [version]);
  const names = order.map((i) => arms[i] ?? "");
  const known = useMemo(() => table(data?.pairs ?? [], names), [data, version]);
  const room = Math.min(150, width * 0.3, Math.max(0, ...names.map((name) => name.length * 7)) + 8);
  const cell = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - room) / Math.max(names.length, 1))));
  const left = cell >= NAMED ? room : 0;
  const groups = names.map((name) => answer.labels[name] ?? null);

  useEffect(() => {
    if (place.current === null) return;
    const seen = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    seen.observe(place.current);
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    const paint = (): void => {
      if (canvas.current !== null && width > 0) draw(canvas.current, { names, groups, known, cell, left, chosen });
    };
    paint();
    const media = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
    for (const one of media) one.addEventListener("change", paint);
    return () => media.forEach((one) => one.removeEventListener("change", paint));
  }, [known, cell, left, chosen, width]);

  function at(event: MouseEvent): Cell | null {
    const column = Math.floor((event.offsetX - left) / cell);
    const row = Math.floor(event.offsetY / cell);
    return row >= 0 && column >= 0 && row < names.length && column < names.length && row !== column ? { row, column } : null;
  }
  function open(cell: Cell | null): void {
    if (cell !== null) location.hash = toPair(study, names[cell.row] ?? "", names[cell.column] ?? "");
  }
  function press(event: KeyboardEvent): void {
    const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = step[event.key];
    if (event.key === "Enter" || event.key === " ") open(chosen);
    else if (move === undefined) return;
    else choose(moved(chosen, move, names.length));
    event.preventDefault();
  }
  const pair = chosen === null ? undefined : known[chosen.row]?.[chosen.column];
  const n = names.length;
  const told = (data?.pairs ?? []).filter((one) => one.verdict === "different").length;
  return (
    <figure class="whole pairmap">
      <Problem error={error} />
      <div ref={place} class="scroll">
        <canvas ref={canvas} width={1} height={1} role="application" tabIndex={0} aria-describedby="pair-said"
          aria-label={`Map of the pairs of ${count(n)} arms: ${count(told)} of ${count((n * (n - 1)) / 2)} different. Arrow keys choose a pair, Enter opens it.`}
          onMouseMove={(event) => choose(at(event))} onMouseLeave={() => choose(null)} onClick={(event) => open(at(event))} onKeyDown={press} />
      </div>
      <p id="pair-said" class="said" aria-live="polite">{pair === undefined ? "Point at a pair, or choose one with the arrow keys, to read what is known of it; press it to see its arms." : words(pair, data, answer)}</p>
      <figcaption>{caption(data, answer)}</figcaption>
    </figure>
  );
}

function caption(data: Pairs | null, answer: Answer): string {
  const sure = data === null || data.void ? "" : `, which is certified${data.conditional_on === "" ? "" : ` if ${data.conditional_on}`}`;
  const same = answer.tolerance === null ? "" : " A disc: the same within the tolerance.";
  return `Each cell is a pair of arms. A full square: different${sure}.${same} A small square: open, which never means the same. `
    + "The colour is the evidence in units of its threshold, from blue to orange above 1. Frames are groups. Select a pair to see its arms side by side.";
}

function words(pair: Pair, data: Pairs | null, answer: Answer): string {
  const samples = (name: string): string => `${count(answer.samples_per_arm[name] ?? 0)} samples`;
  const margin = [
    pair.same_within === null ? "" : `at most ${figure(pair.same_within)} apart`,
    pair.apart_at_least === null || pair.apart_at_least === 0 ? "" : `at least ${figure(pair.apart_at_least)} apart`,
  ].filter(Boolean).join(", ");
  const parts = [SAID[pair.verdict].word, evidence(pair.strength), margin === "" ? "" : `${margin} ${data?.unit ?? ""}`.trim()];
  return `${pair.a} (${samples(pair.a)}) and ${pair.b} (${samples(pair.b)}): ${parts.filter(Boolean).join("; ")}`;
}

/** Places of arms, group by group: as in the report. */
function ordered(arms: string[], labels: Record<string, number | null>): number[] {
  const group = (i: number): number => labels[arms[i] ?? ""] ?? Infinity;
  return arms.map((_, i) => i).sort((a, b) => (group(a) === group(b) ? a - b : group(a) - group(b)));
}

function table(pairs: Pair[], names: string[]): (Pair | undefined)[][] {
  const place = new Map(names.map((name, i) => [name, i]));
  const rows: (Pair | undefined)[][] = names.map(() => []);
  for (const pair of pairs) {
    const [a, b] = [place.get(pair.a), place.get(pair.b)];
    if (a === undefined || b === undefined) continue;
    rows[a]![b] = pair;
    rows[b]![a] = pair;
  }
  return rows;
}

function moved(from: Cell | null, [down, right]: [number, number], n: number): Cell | null {
  if (n < 2) return null;
  if (from === null) return { row: 0, column: 1 };
  const into = (value: number): number => Math.max(0, Math.min(n - 1, value));
  let to = { row: into(from.row + down), column: into(from.column + right) };
  if (to.row === to.column) to = { row: into(to.row + down), column: into(to.column + right) }; // over the diagonal
  return to.row === to.column ? from : to;
}

interface Picture { names: string[]; groups: (number | null)[]; known: (Pair | undefined)[][]; cell: number; left: number; chosen: Cell | null }

function draw(canvas: HTMLCanvasElement, { names, groups, known, cell, left, chosen }: Picture): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const n = names.length;
  const [wide, high] = [left + n * cell + 1, n * cell + 1];
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(wide * scale);
  canvas.height = Math.round(high * scale);
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${high}px`;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(scale, scale);
  const heat = Array.from({ length: EDGES.length + 1 }, (_, i) => colour(`h${i}`));
  const [thin, ink, soft, none] = [colour("thin"), colour("ink"), colour("soft"), colour("none")];
  pen.textBaseline = "middle";
  pen.lineWidth = 0.8;
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const [x, y] = [left + column * cell, row * cell];
      if (row === column) {
        if (cell >= NAMED) write(pen, String(groups[row] ?? "–"), x + cell / 2, y + cell / 2, soft, cell, "center");
        continue;
      }
      const pair = known[row]?.[column];
      if (pair === undefined) continue;
      const by = size(pair.strength);
      pen.fillStyle = Number.isNaN(by) ? none : heat[EDGES.filter((edge) => by >= edge).length] ?? none;
      pen.strokeStyle = thin;
      mark(pen, pair, x, y, cell);
    }
  }
  pen.strokeStyle = ink;
  pen.lineWidth = 1.3;
  for (let start = 0; start < n; ) {
    let end = start + 1;
    while (end < n && groups[end] === groups[start]) end++;
    pen.strokeRect(left + start * cell + 0.5, start * cell + 0.5, (end - start) * cell, (end - start) * cell);
    start = end;
  }
  if (left > 0) names.forEach((name, row) => write(pen, fitting(pen, name, left - 6), left - 5, (row + 0.5) * cell, ink, cell, "right"));
  if (chosen !== null) {
    pen.lineWidth = 2.5;
    pen.strokeStyle = colour("link");
    pen.strokeRect(left + chosen.column * cell + 1, chosen.row * cell + 1, cell - 1, cell - 1);
  }
}

function mark(pen: CanvasRenderingContext2D, pair: Pair, x: number, y: number, cell: number): void {
  const inset = pair.verdict === "open" ? Math.max(1, cell * 0.18) : 0.5;
  pen.beginPath();
  if (pair.verdict === "same") pen.arc(x + cell / 2, y + cell / 2, cell / 2 - 0.5, 0, 2 * Math.PI);
  else pen.rect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
  pen.fill();
  if (pair.verdict !== "different" && cell >= 8) pen.stroke();
}

function write(pen: CanvasRenderingContext2D, text: string, x: number, y: number, ink: string, cell: number, side: CanvasTextAlign): void {
  pen.font = `${Math.min(12, cell - 2)}px system-ui, sans-serif`;
  pen.textAlign = side;
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

function fitting(pen: CanvasRenderingContext2D, name: string, width: number): string {
  if (pen.measureText(name).width <= width) return name;
  const letters = [...name];
  const cut = (n: number): string => `${letters.slice(0, Math.ceil(n / 2)).join("")}…${letters.slice(letters.length - Math.floor(n / 2)).join("")}`;
  let kept = letters.length - 1;
  while (kept > 1 && pen.measureText(cut(kept)).width > width) kept--;
  return cut(kept); // names often differ at their ends
}
