// What changed since the last run of the same name, in the words of `kabc compare`.
import { useAsked } from "../api";
import { Name } from "./small";
import { toStudy } from "../route";
import type { Changes } from "../types";
import { clock } from "../words";

export function useChanges(study: number, version: string, known: boolean): Changes | null {
  return useAsked<Changes>(known ? `/api/studies/${study}/changes` : null, version).data;
}

export function ChangesSince({ changes }: { changes: Changes }) {
  const { before } = changes;
  if (before === null) return null;
  return (
    <>
      <h2>Changes since <a href={toStudy(before.id)}><Name text={before.name} /></a></h2>
      <p class="soft">The last run of this name that has ended, made {clock(before.created)}.</p>
      {changes.refused !== "" ? <p class="notice">They cannot be compared: {changes.refused}.</p> : (
        <>
          <p><strong>{verdict(changes)}</strong></p>
          <ul class="changes">{changes.lines.map((line) => <li key={line} class={line.startsWith("  ") ? "deep" : ""}><bdi>{line.trim()}</bdi></li>)}</ul>
        </>
      )}
    </>
  );
}

function verdict({ same, alarm }: Changes): string {
  if (alarm) return "Something has changed: certified, or shown by a test.";
  return same ? "No arm changed its group." : "Arms seem to have changed their groups: a guess.";
}
