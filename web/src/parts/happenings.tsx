// What happened to a study, the latest first.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../api";
import { Ago, Table } from "./small";
import type { Note, Notes } from "../types";
import { count } from "../words";

const MOST = 200;

export function Happenings({ study, arms, revision, now }: { study: number; arms: string[]; revision: number; now: number }) {
  const notes = useNotes(study, revision);
  const latest = notes.slice(-MOST).reverse();
  return (
    <>
      <h2>Events</h2>
      {notes.length === 0 ? <p class="soft">Nothing happened that is worth a note: no draw failed, came late or was drawn again.</p> : (
        <>
          {notes.length > MOST && <p class="soft">The latest {MOST} of {count(notes.length)}.</p>}
          <Table label="Events" heads={["When", "What", "Details"]}>
            {latest.map((one) => (
              <tr key={one.id}>
                <td><Ago at={one.written} now={now} /></td>
                <td>{one.kind}</td>
                <td>{details(one.body, arms)}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </>
  );
}

/** All notes; only new ones are asked for. */
function useNotes(study: number, revision: number): Note[] {
  const [notes, set] = useState<Note[]>([]);
  const known = useRef<Note[]>([]);
  const busy = useRef(false);
  const wanted = useRef(revision);
  wanted.current = revision;
  useEffect(() => {
    if (!busy.current) void follow();
  }, [study, revision]);

  async function follow(): Promise<void> {
    busy.current = true;
    for (let more = true, done = -1; more || done !== wanted.current; ) {
      done = wanted.current;
      const after = known.current.at(-1)?.id ?? 0;
      const found = await ask<Notes>(`/api/studies/${study}/notes?after=${after}&limit=1000`).catch(() => null);
      if (found === null) break;
      more = found.more;
      if (found.notes.length > 0) set((known.current = [...known.current, ...found.notes]));
    }
    busy.current = false;
  }
  return notes;
}

function details(body: Record<string, unknown>, arms: string[]): string {
  return Object.entries(body)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => (name === "arm" && typeof value === "number" ? `arm ${arms[value] ?? value}` : `${name.replaceAll("_", " ")} ${text(value)}`))
    .join("; ");
}

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value)).slice(0, 400);
