// Who watches what, for all tabs of a browser: one stream of events, and one look at the list of studies a second.
// It runs in a worker that the tabs share; where a browser has none, in the tab itself.
import type { Studies, StudyEvent } from "./types";

export type Target = number | "list" | null; // a study, the list of studies, nothing

export type Heard =
  | { kind: "event"; event: StudyEvent }
  | { kind: "list"; list: Studies }
  | { kind: "state"; state: LiveState };

export interface LiveState {
  live: boolean;
  since: number; // milliseconds since the epoch: when the server was heard last
  refused: boolean; // a token is needed
  tabs: number; // that share the stream
}

type Tab = (heard: Heard) => void;

const LOOK = 1_000; // milliseconds between two looks at the list
const CHECK = 5_000; // between two questions whether the server is there: a stream alone does not tell
const PATIENCE = 4_000;
const SILENT = 180_000; // after which a tab is gone: browsers let hidden tabs speak once a minute

export class Watcher {
  private readonly tabs = new Map<Tab, { target: Target; seen: number }>();
  private readonly latest = new Map<number, StudyEvent>();
  private source: EventSource | null = null;
  private watched = "";
  private list: Studies | null = null;
  private state: LiveState = { live: true, since: Date.now(), refused: false, tabs: 0 };
  private checked = 0;
  private busy = false;

  constructor() {
    setInterval(() => this.tick(), LOOK);
  }

  /** A tab looks at something; also its sign of life. */
  watch(tab: Tab, target: Target, again: boolean): void {
    const known = this.tabs.get(tab);
    this.tabs.set(tab, { target, seen: Date.now() });
    if (again) this.change({ refused: false }); // it has a new token
    if (known?.target !== target || again) {
      this.greet(tab, target);
      this.follow();
      void this.look(true);
    }
  }

  leave(tab: Tab): void {
    this.tabs.delete(tab);
    this.follow();
  }

  private greet(tab: Tab, target: Target): void {
    const event = typeof target === "number" ? this.latest.get(target) : undefined;
    if (event !== undefined) tab({ kind: "event", event });
    if (target === "list" && this.list !== null) tab({ kind: "list", list: this.list });
    tab({ kind: "state", state: { ...this.state, tabs: this.tabs.size } });
  }

  private tick(): void {
    for (const [tab, one] of this.tabs) if (Date.now() - one.seen > SILENT) this.leave(tab);
    if (this.source?.readyState === EventSource.CLOSED) this.close(); // refused: it does not come back by itself
    this.follow();
    void this.look(false);
  }

  /** The one stream, of all studies that a tab shows. */
  private follow(): void {
    const studies = new Set<number>();
    for (const { target } of this.tabs.values()) if (typeof target === "number") studies.add(target);
    const there = [...studies].filter((study) => this.latest.get(study)?.state !== "deleted");
    const wanted = this.state.refused ? "" : there.sort((a, b) => a - b).join(",");
    this.change({ tabs: this.tabs.size });
    if (wanted === this.watched) return;
    this.close();
    for (const study of this.latest.keys()) if (!studies.has(study)) this.latest.delete(study);
    this.watched = wanted;
    if (wanted === "") return;
    const source = (this.source = new EventSource(`/api/events?studies=${wanted}`));
    source.addEventListener("study", (message) => this.hear(JSON.parse((message as MessageEvent<string>).data) as StudyEvent));
    source.onopen = () => this.change({ live: true, since: Date.now() });
    source.onerror = () => {
      if (this.source === source) this.change({ live: false });
    };
  }

  private close(): void {
    this.source?.close();
    this.source = null;
    this.watched = "";
  }

  private hear(event: StudyEvent): void {
    this.latest.set(event.study, event);
    this.change({ live: true, since: Date.now() });
    for (const [tab, one] of this.tabs) if (one.target === event.study) tab({ kind: "event", event });
  }

  /** Ask the server for the list, or only whether it is there. */
  private async look(now: boolean): Promise<void> {
    const listed = [...this.tabs.values()].some((one) => one.target === "list");
    const due = now || listed || !this.state.live || Date.now() - this.checked >= CHECK;
    if (this.busy || this.tabs.size === 0 || this.state.refused || !due) return;
    this.busy = true;
    try {
      const answer = await fetch(listed ? "/api/studies" : "/api/me", { signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status === 401) this.change({ refused: true });
      else if (!answer.ok) this.change({ live: false });
      else await this.heard(listed, answer);
    } catch {
      this.change({ live: false });
    }
    this.checked = Date.now();
    this.busy = false;
  }

  private async heard(listed: boolean, answer: Response): Promise<void> {
    if (listed) {
      const list = (this.list = (await answer.json()) as Studies);
      for (const [tab, one] of this.tabs) if (one.target === "list") tab({ kind: "list", list });
    }
    if (this.source === null || this.source.readyState === EventSource.OPEN) this.change({ live: true, since: Date.now() });
  }

  /** Tabs hear of a change, not of every sign of life. */
  private change(part: Partial<LiveState>): void {
    const old = this.state;
    this.state = { ...old, ...part };
    const same = old.live === this.state.live && old.refused === this.state.refused && old.tabs === this.state.tabs;
    if (!same) for (const tab of this.tabs.keys()) tab({ kind: "state", state: this.state });
  }
}

/** What a tab says to the shared worker. */
export type Said = { kind: "watch"; target: Target; again: boolean } | { kind: "leave" };
