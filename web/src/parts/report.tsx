// A part of the report, drawn by the server: the same code makes the file that people keep.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsked } from "../api";
import { toArm } from "../route";
import type { ReportPart } from "../types";

/** It is asked for when it comes near the window, and again when `version` changes. */
export function Part({ study, name, version }: { study: number; name: string; version: string }) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const { data, error } = useAsked<ReportPart>(near ? `/api/studies/${study}/part?name=${name}` : null, version);
  useEffect(() => {
    if (place.current !== null && data !== null) replace(place.current, data.html, study);
  }, [data?.html]);
  const waits = data === null && error === null;
  return (
    <>
      <div ref={place} class={`part ${name}${waits ? " waits" : ""}`} aria-busy={waits} />
      {error !== null && <p class="soft">{error.message}.</p>}
    </>
  );
}

function useNear(place: { current: HTMLElement | null }): boolean {
  const [near, set] = useState(false);
  useEffect(() => {
    if (place.current === null) return;
    const seen = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && set(true), { rootMargin: "600px" });
    seen.observe(place.current);
    const all = (): void => set(true); // paper shows everything
    addEventListener("beforeprint", all);
    return () => {
      seen.disconnect();
      removeEventListener("beforeprint", all);
    };
  }, []);
  return near;
}

/** The server escapes what comes from the data, and the policy of the page forbids scripts in it. */
function replace(place: HTMLElement, html: string, study: number): void {
  const open = new Set([...place.querySelectorAll("details[open] > summary")].map((one) => one.textContent ?? ""));
  place.innerHTML = html;
  for (const one of place.querySelectorAll("details")) if (open.has(one.querySelector("summary")?.textContent ?? "")) one.open = true;
  for (const one of place.querySelectorAll("a[data-group]")) one.remove(); // a link within the file
  for (const one of place.querySelectorAll(".arms li > bdi")) {
    const link = document.createElement("a");
    link.href = toArm(study, one.textContent ?? "");
    one.replaceWith(link);
    link.append(one);
  }
}
