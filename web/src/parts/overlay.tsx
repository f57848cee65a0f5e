// Two arms over each other, column by column, and how their evidence grew. Estimates from the samples kept.
import type { Figure, Packed, Samples } from "../types";
import { count, figure, size } from "../words";

const [WIDE, HIGH, BASE] = [420, 150, 128];
const BINS = 32;
const MOST_COLUMNS = 12;

export interface Column { name: string; a: number[]; b: number[]; levels: Map<number, string> | null; distance: number }

/** Columns of both arms, those that differ most first. */
export function columnsOf(found: Samples): Column[] {
  const [a, b] = [unpacked(found.a.samples), unpacked(found.b.samples)];
  const wide = Math.max(a[0]?.length ?? 0, b[0]?.length ?? 0);
  const columns = Array.from({ length: wide }, (_, i): Column => {
    const name = found.columns[i] ?? (wide === 1 ? "value" : `column ${i + 1}`);
    const [mine, theirs] = [a, b].map((rows) => rows.map((row) => row[i] ?? NaN).filter((value) => !Number.isNaN(value))) as [number[], number[]];
    const levels = found.levels[name] === undefined ? null : new Map(found.levels[name]);
    return { name, a: mine, b: theirs, levels, distance: levels === null ? gap(mine, theirs) : share(mine, theirs, levels) };
  });
  return columns.sort((x, y) => y.distance - x.distance);
}

function unpacked(packed: Packed | null): number[][] {
  if (packed === null || packed.kind === "text") return [];
  const [rows = 0, columns = 1] = packed.shape;
  const value = (one: unknown): number => (one === true ? 1 : one === false ? 0 : size(one as Figure));
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => value(packed.data === null ? packed.fill : packed.data[row * columns + column])));
}

/** The Kolmogorov-Smirnov distance: the largest gap between the two distribution functions. */
export function gap(a: number[], b: number[]): number {
  if (a.length === 0 || b.length === 0) return 0;
  const [x, y] = [[...a].sort((p, q) => p - q), [...b].sort((p, q) => p - q)];
  let [i, j, most] = [0, 0, 0];
  while (i < x.length && j < y.length) {
    const at = Math.min(x[i]!, y[j]!);
    while (i < x.length && x[i]! <= at) i++;
    while (j < y.length && y[j]! <= at) j++;
    most = Math.max(most, Math.abs(i / x.length - j / y.length));
  }
  return most;
}

function share(a: number[], b: number[], levels: Map<number, string>): number {
  const part = (rows: number[], level: number): number => rows.filter((one) => one === level).length / Math.max(rows.length, 1);
  return Math.max(0, ...[...levels.keys()].map((level) => Math.abs(part(a, level) - part(b, level))));
}

export function quantile(values: number[], p: number): number {
  const sorted = [...values].sort((x, y) => x - y);
  const place = p * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (low === undefined || high === undefined) return NaN;
  return low === high ? low : low + (place % 1) * (high - low);
}

export function Overlays({ columns, a, b }: { columns: Column[]; a: string; b: string }) {
  return (
    <>
      <p class="key"><span class="swatch one" aria-hidden="true" /> <bdi>{a}</bdi> <span class="swatch two" aria-hidden="true" /> <bdi>{b}</bdi></p>
      <div class="figures">
        {columns.slice(0, MOST_COLUMNS).map((column) => <Overlay key={column.name} column={column} a={a} b={b} />)}
      </div>
      {columns.length > MOST_COLUMNS && <p class="soft">{count(columns.length - MOST_COLUMNS)} columns with smaller differences left out.</p>}
    </>
  );
}

function Overlay({ column, a, b }: { column: Column; a: string; b: string }) {
  const { one, two, ticks } = column.levels === null ? numbers(column) : categories(column, column.levels);
  const label = `${column.name} of ${a} and ${b}: largest difference of their distributions ${figure(column.distance, 2)}`;
  const step = (WIDE - 16) / Math.max(one.length, 1);
  const top = Math.max(...one, ...two, 1e-9);
  const outline = (shares: number[]): string =>
    `M8 ${BASE}${shares.map((part, i) => `V${(BASE - (part / top) * (BASE - 10)).toFixed(1)}H${(8 + (i + 1) * step).toFixed(1)}`).join("")}V${BASE}`;
  return (
    <figure>
      <h3><bdi>{column.name}</bdi></h3>
      <svg role="img" aria-label={label} viewBox={`0 0 ${WIDE} ${HIGH}`}>
        <path class="fill-one" d={outline(one)} />
        <path class="fill-two" d={outline(two)} />
        <path class="line-one" d={outline(one)} />
        <path class="line-two" d={outline(two)} />
        <line class="axis" x1={8} y1={BASE} x2={WIDE - 8} y2={BASE} />
        {ticks.map(([at, text], i) => (
          <text key={i} class="t" x={8 + at * (WIDE - 16)} y={BASE + 15} text-anchor={at < 0.05 ? "start" : at > 0.95 ? "end" : "middle"}>{text}</text>
        ))}
      </svg>
      <figcaption>{caption(column, a, b)}</figcaption>
    </figure>
  );
}

interface Shape { one: number[]; two: number[]; ticks: [number, string][] }

/** Values beyond the middle 98 % are counted in the outermost bars. */
function numbers(column: Column): Shape {
  const both = [...column.a, ...column.b].filter(Number.isFinite);
  let [low, high] = [quantile(both, 0.01), quantile(both, 0.99)];
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const bins = (values: number[]): number[] => {
    const found = new Array<number>(BINS).fill(0);
    for (const value of values) {
      const bin = Math.max(0, Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS)));
      found[bin]! += 1 / values.length;
    }
    return found;
  };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at): [number, string] => [at, figure(low + at * (high - low), 3)]);
  return { one: bins(column.a), two: bins(column.b), ticks };
}

function categories(column: Column, levels: Map<number, string>): Shape {
  const known = [...levels.keys()].slice(0, 12);
  const shares = (values: number[]): number[] => known.map((level) => values.filter((one) => one === level).length / Math.max(values.length, 1));
  const ticks = known.map((level, i): [number, string] => [(i + 0.5) / known.length, (levels.get(level) ?? "").slice(0, 12)]);
  return { one: shares(column.a), two: shares(column.b), ticks };
}

function caption(column: Column, a: string, b: string): string {
  const far = `largest difference of the distributions ${figure(column.distance, 2)}`;
  if (column.levels !== null) return far;
  const said = (values: number[]): string =>
    `median ${figure(quantile(values, 0.5))}, 5-95 % ${figure(quantile(values, 0.05))} to ${figure(quantile(values, 0.95))}`;
  return `${a}: ${said(column.a)}. ${b}: ${said(column.b)}. ${far[0]!.toUpperCase()}${far.slice(1)}.`;
}

const TICKS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16] as const; // as in the report: what lies beyond is drawn at the edge

/** Evidence over samples; above 1 the pair is told apart. The axis is logarithmic. */
export function Trace({ trace }: { trace: { n_samples: number[]; strength: Figure[] } }) {
  const points = trace.n_samples.map((n, i): [number, number] => [n, size(trace.strength[i] ?? null)]).filter(([, by]) => !Number.isNaN(by));
  if (points.length < 2) return <p class="soft">There are too few rounds for a picture of the evidence.</p>;
  const most = Math.max(...points.map(([n]) => n));
  const [low, ...above] = TICKS;
  const high = above.find((tick) => tick >= Math.max(2, ...points.map(([, by]) => by))) ?? TICKS[TICKS.length - 1]!;
  const x = (n: number): number => 44 + (n / most) * (WIDE - 60);
  const y = (by: number): number => BASE - (Math.log(Math.max(Math.min(by, high), low) / low) / Math.log(high / low)) * (BASE - 10);
  const last = points[points.length - 1]!;
  return (
    <figure>
      <h3>Evidence over samples</h3>
      <svg role="img" aria-label={`Evidence over samples: ${figure(last[1], 3)} times its threshold after ${count(last[0])} samples`} viewBox={`0 0 ${WIDE} ${HIGH}`}>
        {TICKS.filter((tick) => tick <= high).map((tick) => (
          <g key={tick}>
            <line class={tick === 1 ? "threshold" : "grid"} x1={44} y1={y(tick)} x2={WIDE - 16} y2={y(tick)} />
            <text class="s" x={40} y={y(tick) + 3} text-anchor="end">{tick < 1 ? `1/${1 / tick}` : tick}</text>
          </g>
        ))}
        <polyline class="trace" points={points.map(([n, by]) => `${x(n).toFixed(1)},${y(by).toFixed(1)}`).join(" ")} />
        <line class="axis" x1={44} y1={BASE} x2={WIDE - 16} y2={BASE} />
        <text class="t" x={44} y={BASE + 15}>0</text>
        <text class="t" x={WIDE - 16} y={BASE + 15} text-anchor="end">{count(most)} samples of all arms</text>
      </svg>
      <figcaption>Evidence in units of its threshold, up to 16 times. Once it crosses 1, the pair is told apart.</figcaption>
    </figure>
  );
}
