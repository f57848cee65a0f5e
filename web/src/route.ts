// Every view has an address of its own, behind the #: it can be kept, sent and printed.
import { useEffect, useState } from "preact/hooks";

export type Route =
  | { view: "studies" }
  | { view: "study"; study: number }
  | { view: "arm"; study: number; arm: string }
  | { view: "pair"; study: number; a: string; b: string };

const coded = encodeURIComponent;
export const toStudies = "#/";
export const toStudy = (study: number): string => `#/study/${study}`;
export const toArm = (study: number, arm: string): string => `#/study/${study}/arm/${coded(arm)}`;
export const toPair = (study: number, a: string, b: string): string => `#/study/${study}/pair/${coded(a)}/${coded(b)}`;

export function routeOf(hash: string): Route {
  const [kind, id, part, ...names] = hash.replace(/^#\/?/, "").split("/");
  const study = Number(id);
  if (kind !== "study" || !Number.isSafeInteger(study) || study < 1) return { view: "studies" };
  const [a, b] = names.map(decoded);
  if (part === "arm" && a !== undefined) return { view: "arm", study, arm: a };
  if (part === "pair" && a !== undefined && b !== undefined) return { view: "pair", study, a, b };
  return { view: "study", study };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function useRoute(): Route {
  const [route, set] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const follow = (): void => {
      set(routeOf(location.hash));
      scrollTo(0, 0);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
