import { useState } from "preact/hooks";
import { ask, type Refused } from "../api";

export function Login({ onEnter }: { onEnter: () => void }) {
  const [problem, setProblem] = useState("");
  async function send(event: Event): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const token = String(new FormData(form).get("token") ?? "").trim();
    try {
      await ask("/api/login", "POST", { token });
      form.reset();
      onEnter();
    } catch (error) {
      setProblem((error as Refused).message);
    }
  }
  return (
    <section class="card door">
      <h1>A token is needed</h1>
      <p><code>kabc serve</code> prints an address with one when it starts. <code>kabc serve token create</code> makes others.</p>
      <form onSubmit={send}>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autoComplete="off" required autoFocus aria-describedby="problem" />
        <button>Come in</button>
      </form>
      <p id="problem" class="problem" role="alert">{problem === "" ? "" : `${problem[0]!.toUpperCase()}${problem.slice(1)}.`}</p>
    </section>
  );
}
