// What who steers can do. Each action is an event in the study, with the label of the token.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, type Refused } from "../api";
import { toStudies } from "../route";
import type { StudyView } from "../types";
import { count } from "../words";

interface Asking { what: "budget" | "stop" | "delete"; number: number }

export function Actions({ view }: { view: StudyView }) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState<Asking | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const number = useRef(0); // of the dialog: each is an element of its own, so that word of an old one closing does not close a new one

  async function act(path: string, method: string, body: unknown): Promise<boolean> {
    setBusy(true);
    setProblem("");
    try {
      await ask(path, method, body);
      dialog.current?.close();
      return true;
    } catch (error) {
      setProblem((error as Refused).message);
      return false;
    } finally {
      setBusy(false);
    }
  }
  const steer = (action: string, more: object = {}): Promise<boolean> =>
    act(`/api/studies/${view.id}/actions`, "POST", { action, ...more });
  function open(what: Asking["what"]): void {
    setProblem("");
    setAsking({ what, number: ++number.current });
  }
  useLayoutEffect(() => {
    if (asking !== null) dialog.current?.showModal(); // once what it asks is there: so the right field has the focus
  }, [asking]);
  const ended = view.state === "ended";
  return (
    <section class="actions" aria-label="Actions">
      {view.state === "paused"
        ? <button type="button" disabled={busy} onClick={() => steer("resume")}>Resume</button>
        : <button type="button" disabled={busy || ended} onClick={() => steer("pause")}>Pause</button>}
      <button type="button" disabled={busy} onClick={() => open("budget")}>Raise budget …</button>
      <button type="button" disabled={busy || ended} onClick={() => open("stop")}>Stop …</button>
      <button type="button" class="grave" disabled={busy} onClick={() => open("delete")}>Delete …</button>
      {asking === null && <span role="alert" class="problem">{problem}</span>}
      {asking !== null && (
        <dialog key={asking.number} ref={dialog} aria-labelledby="asked" onClose={() => setAsking((now) => (now === asking ? null : now))}>
          {asking.what === "budget" && <Budget view={view} onSend={(most) => steer("raise-budget", { max_samples: most })} busy={busy} />}
          {asking.what === "stop" && <Stop onSend={() => steer("stop")} busy={busy} />}
          {asking.what === "delete" && (
            <Delete name={view.name} busy={busy} onSend={async (name) => {
              if (await act(`/api/studies/${view.id}`, "DELETE", { name })) location.hash = toStudies;
            }} />
          )}
          <p role="alert" class="problem">{problem}</p>
          <button type="button" autoFocus={asking.what === "stop"} onClick={() => dialog.current?.close()}>Cancel</button>
        </dialog>
      )}
    </section>
  );
}

function Budget({ view, onSend, busy }: { view: StudyView; onSend: (most: number | null) => void; busy: boolean }) {
  function send(event: Event): void {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget as HTMLFormElement).get("most"));
    onSend(given === "" ? null : Number(given));
  }
  const least = Math.max(view.n_samples, view.max_samples ?? 0) + 1;
  return (
    <form onSubmit={send}>
      <h2 id="asked">Raise the budget</h2>
      <p>{view.max_samples === null ? "There is no limit now." : `It may draw ${count(view.max_samples)} samples now.`} An ended study whose budget was spent goes on.</p>
      <label for="most">Samples at most; empty: no limit</label>
      <input id="most" name="most" type="number" min={least} step={1} autoFocus />
      <button disabled={busy}>Raise it</button>
    </form>
  );
}

function Stop({ onSend, busy }: { onSend: () => void; busy: boolean }) {
  return (
    <form onSubmit={(event) => (event.preventDefault(), onSend())}>
      <h2 id="asked">Stop the study</h2>
      <p>It ends with the answer so far. Draws under way are kept, and not used. It goes on only if its budget is raised; to wait a while, pause it instead.</p>
      <button class="grave" disabled={busy}>Stop it</button>
    </form>
  );
}

function Delete({ name, onSend, busy }: { name: string; onSend: (typed: string) => void; busy: boolean }) {
  const [typed, setTyped] = useState("");
  return (
    <form onSubmit={(event) => (event.preventDefault(), onSend(typed))}>
      <h2 id="asked">Delete the study</h2>
      <p>All its samples and its answer are gone then. Type its name, <bdi class="typed">{name}</bdi>, to delete it.</p>
      <label for="typed">Name of the study</label>
      <input id="typed" value={typed} autoComplete="off" autoFocus onInput={(event) => setTyped(event.currentTarget.value)} />
      <button class="grave" disabled={busy || typed !== name}>Delete it</button>
    </form>
  );
}
