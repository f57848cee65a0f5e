// What the server sends, as far as the page reads it. The models are those of /openapi.json.

export type Scope = "read" | "tell" | "admin";
export type Verdict = "different" | "same" | "open";
export type Figure = number | "inf" | "-inf" | null;

export interface Visitor { scope: Scope; label: string; version: string }

export interface SoFar { n_samples: number; n_groups: number; n_groups_at_least: number; certified: boolean; forecast: number | null }
export interface StudyLine {
  id: number; name: string; state: string; status: string | null; created: number; last_change: number;
  revision: number; n_arms: number; n_rounds: number; n_samples: number; max_samples: number | null; spent: number;
  n_workers: number; so_far: SoFar | null;
}
export interface Studies { storage: string; now: number; studies: StudyLine[]; unread: number }

export interface WorkerView {
  name: string; host: string; alive: boolean; first_seen: number; last_seen: number; n_leases: number; n_arms: number;
}
export interface LeaseView {
  ticket: number; arm: string; count: number; worker: string; expires: number; lapsed: boolean; deaths: number;
}
export interface Tickets { open: number; leased: number; done: number; failed: number }
export interface StudyView extends StudyLine {
  now: number; question: Record<string, unknown>; arms: string[]; price: number;
  n_paid: number; tickets: Tickets; workers: WorkerView[]; leases: LeaseView[]; notes: Record<string, number>;
}
export interface StudyEvent {
  study: number; revision: number; state: string; status: string | null; n_rounds: number; n_samples: number;
  n_paid: number; spent: number; tickets: Tickets; last_change: number;
}
export interface Note { id: number; kind: string; body: Record<string, unknown>; written: number }
export interface Notes { notes: Note[]; more: boolean }

export interface Answer {
  status: string; certified: boolean; labels: Record<string, number | null>; n_samples: number; samples_per_arm: Record<string, number>;
  groups: { number: number; arms: string[] }[]; tolerance: { said: string; unit: string } | null;
}
export interface Snapshot {
  id: number; name: string; state: string; revision: number; computing: boolean; certainty: string; sentence: string;
  since: number; n_samples: number; max_samples: number | null; spent: number; answer: Answer | null;
}

export interface Pair {
  a: string; b: string; verdict: Verdict; told_in_round: number; strength: Figure; same_within: Figure;
  apart_at_least: Figure;
}
export interface Pairs { revision: number; total: number; void: boolean; conditional_on: string; unit: string; pairs: Pair[] }

export interface Contrast { what: string; value: Figure; low: Figure; high: Figure; at: number | string | null }
export interface ColumnEffect {
  column: string; n: number; median: Figure; low: Figure; high: Figure; mean: Figure; sd: Figure;
  shares: [string, number][]; contrasts: Contrast[];
}
export interface ArmView {
  arm: string; group: number | null; n_samples: number; spent: number; set_aside: string; n_failures: number;
  oddness: Figure; columns: ColumnEffect[];
}
export interface Arms { revision: number; total: number; certified: boolean; arms: ArmView[] }

export interface Packed { shape: number[]; kind: string; data: unknown[] | null; fill: unknown }
export interface ArmSamples { arm: string; group: number | null; n_samples: number; samples: Packed | null }
export interface Samples {
  revision: number; a: ArmSamples; b: ArmSamples; pair: Pair; columns: string[];
  levels: Record<string, [number, string][]>; trace: { n_samples: number[]; strength: Figure[] } | null;
}
export interface ReportPart { revision: number; html: string }
export interface Changes {
  revision: number; before: { id: number; name: string; created: number } | null; same: boolean; alarm: boolean; lines: string[];
  refused: string;
}
