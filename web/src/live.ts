// What a tab hears of changes.
import { useEffect, useState } from "preact/hooks";
import type { Studies, StudyEvent } from "./types";
import { Watcher, type Heard, type LiveState, type Said, type Target } from "./watcher";

const SIGN = 20_000; // milliseconds between two signs of life

let target: Target = null;
const listeners = new Set<(heard: Heard) => void>();
const hear = (heard: Heard): void => listeners.forEach((listener) => listener(heard));
const say = connect();

function connect(): (said: Said) => void {
  if (typeof SharedWorker === "undefined") return alone();
  const worker = new SharedWorker("/static/stream.js", { type: "module", name: "kabc" });
  worker.port.onmessage = ({ data }: MessageEvent<Heard>) => hear(data);
  return (said) => worker.port.postMessage(said);
}

function alone(): (said: Said) => void {
  const watcher = new Watcher();
  return (said) => (said.kind === "watch" ? watcher.watch(hear, said.target, said.again) : watcher.leave(hear));
}

setInterval(() => say({ kind: "watch", target, again: false }), SIGN);
addEventListener("pagehide", () => say({ kind: "leave" }));
addEventListener("pageshow", () => say({ kind: "watch", target, again: false }));

/** There is a new token: try again. */
export function comeBack(): void {
  say({ kind: "watch", target, again: true });
}

function useHeard(take: (heard: Heard) => void, looked?: Target): void {
  useEffect(() => {
    listeners.add(take);
    if (looked !== undefined) {
      target = looked;
      say({ kind: "watch", target, again: false });
    }
    return () => void listeners.delete(take);
  }, [looked]);
}

/** How the line to the server is. */
export function useLive(): LiveState {
  const [state, set] = useState<LiveState>({ live: true, since: Date.now(), refused: false, tabs: 1 });
  useHeard((heard) => heard.kind === "state" && set(heard.state));
  return state;
}

/** The latest event of a study. */
export function useStudyEvent(study: number): StudyEvent | null {
  const [event, set] = useState<StudyEvent | null>(null);
  useHeard((heard) => heard.kind === "event" && heard.event.study === study && set(heard.event), study);
  return event?.study === study ? event : null;
}

/** All studies. */
export function useStudies(): Studies | null {
  const [list, set] = useState<Studies | null>(null);
  useHeard((heard) => heard.kind === "list" && set(heard.list), "list");
  return list;
}
