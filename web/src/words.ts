// Numbers and times as people read them; the same forms as in the report.
import type { Figure } from "./types";

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value: number): string => counts.format(value);

export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function figure(value: Figure | undefined, digits = 4): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value === "inf" ? "∞" : "−∞";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(2);
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

export const oddness = (value: Figure): string => (typeof value === "number" ? value.toFixed(3) : figure(value));

/** Rounded down, because evidence below the threshold must not be shown as 1. */
export function strength(value: Figure): string {
  if (typeof value !== "number") return figure(value) || "–";
  return figure(Math.abs(value) < 10 ? Math.floor(value * 100) / 100 : Math.floor(value));
}

export const evidence = (value: Figure): string =>
  value === null ? "no evidence of their own" : `evidence ${strength(value)} times its threshold`;

export const size = (value: Figure): number =>
  value === null ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value;

export const clock = (seconds: number): string => new Date(1000 * seconds).toLocaleString();

/** How long ago, by the clock of the store. */
export function ago(seconds: number, now: number): string {
  const past = Math.max(0, now - seconds);
  if (past < 2) return "just now";
  if (past < 90) return `${Math.round(past)} s ago`;
  if (past < 5400) return `${Math.round(past / 60)} min ago`;
  if (past < 129_600) return `${Math.round(past / 3600)} h ago`;
  return `${Math.round(past / 86_400)} days ago`;
}

export const SAID = {
  different: { word: "different", sign: "≠" },
  same: { word: "the same within the tolerance", sign: "=" },
  open: { word: "open: nothing is proven yet", sign: "?" },
} as const;
