// Questions to the server. What it refuses is an error with its one line.
import { useEffect, useRef, useState } from "preact/hooks";

export class Refused extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

const PATIENCE = 20_000; // milliseconds for an answer

export async function ask<T>(path: string, method = "GET", body?: unknown): Promise<T> {
  // a foreign page cannot send this header: so the server knows that the page itself asks
  const headers: Record<string, string> = method === "GET" ? {} : { "X-Kabc": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const asked: RequestInit = { method, headers, signal: AbortSignal.timeout(PATIENCE) };
  if (body !== undefined) asked.body = JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(path, asked);
  } catch {
    throw new Refused(0, "the server does not answer");
  }
  const found: unknown = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, said(found) ?? `the server refused it, with code ${answer.status}`);
  return found as T;
}

function said(found: unknown): string | null {
  const error = (found as { error?: unknown } | null)?.error;
  return typeof error === "string" ? error : null;
}

export interface Asked<T> { data: T | null; error: Refused | null }

const LEAST = 150; // milliseconds between two questions
const AGAIN = 300; // until a question is asked again that the server is still computing the answer to
const REST = 2; // times as long as the last answer took, until the next question

/** The answer to a GET, asked again whenever `key` changes. The last answer stays until there is a new one, and one
 *  question is under way at a time, so a slow server is not asked more often than it can answer. */
export function useAsked<T>(path: string | null, key: string | number): Asked<T> {
  const [found, set] = useState<Asked<T> & { path: string | null }>({ data: null, error: null, path });
  const wanted = useRef({ path, key });
  const busy = useRef(false);
  const gone = useRef(false);
  wanted.current = { path, key };
  useEffect(() => () => void (gone.current = true), []);
  useEffect(() => {
    if (!busy.current) void follow();
  }, [path, key]);

  async function follow(): Promise<void> {
    busy.current = true;
    let done: { path: string | null; key: string | number } | null = null;
    while (!gone.current && (done?.path !== wanted.current.path || done.key !== wanted.current.key)) {
      done = wanted.current;
      if (done.path === null) continue;
      const began = performance.now();
      const data = await ask<T>(done.path).catch((error: unknown) => error as Refused);
      if (gone.current) break;
      if (data instanceof Refused && data.code === 503) {
        await rest(AGAIN, done.path);
        done = null;
        continue;
      }
      if (done.path === wanted.current.path) keep(done.path, data);
      await rest(Math.max(LEAST, REST * (performance.now() - began)), done.path);
    }
    busy.current = false;
  }

  function keep(asked: string, data: T | Refused): void {
    set((old) => {
      if (!(data instanceof Refused)) return { data, error: null, path: asked };
      return { data: old.path === asked ? old.data : null, error: data, path: asked };
    });
  }

  /** A pause, cut short when something else is asked for. */
  async function rest(milliseconds: number, asked: string): Promise<void> {
    const until = performance.now() + milliseconds;
    while (performance.now() < until && wanted.current.path === asked && !gone.current) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  return found.path === path ? found : { data: null, error: null };
}
