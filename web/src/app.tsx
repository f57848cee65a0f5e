// The frame of all views: who is here, how the line to the server is, and which view is shown.
import { useEffect, useState } from "preact/hooks";
import { ask, Refused } from "./api";
import { comeBack, useLive } from "./live";
import { toStudies, useRoute, type Route } from "./route";
import type { Visitor } from "./types";
import type { LiveState } from "./watcher";
import { ArmPage } from "./views/arm";
import { Login } from "./views/login";
import { PairPage } from "./views/pair";
import { StudiesPage } from "./views/studies";
import { StudyPage } from "./views/study";

export function App() {
  const live = useLive();
  const route = useRoute();
  const [visitor, setVisitor] = useState<Visitor | null>(null);
  const [problem, setProblem] = useState<Refused | null>(null);

  function enter(): void {
    ask<Visitor>("/api/me").then(
      (found) => {
        setVisitor(found);
        setProblem(null);
        comeBack(); // the stream that tabs share may have been refused, before there was a token
      },
      (error: Refused) => setProblem(error),
    );
  }
  useEffect(enter, []);
  useEffect(() => {
    if (problem?.code === 0 && live.live) enter(); // the server was away when the page was opened
    if (problem?.code === 401 && !live.refused) enter(); // another tab has a token now
  }, [live.live, live.refused]);

  const locked = live.refused || problem?.code === 401;
  async function leave(): Promise<void> {
    await ask("/api/logout", "POST").catch(() => undefined);
    setVisitor(null);
    enter();
  }
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>To the content</a>
      <header class="bar">
        <nav aria-label="kabc"><a class="brand" href={toStudies}>kabc</a></nav>
        {!locked && <Line live={live} />}
        {!locked && visitor !== null && (
          <span class="who">
            <span class="soft">{visitor.label} ({visitor.scope})</span> <button type="button" onClick={leave}>Sign out</button>
          </span>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {locked ? (
          <Login onEnter={enter} />
        ) : visitor === null ? (
          <p class="soft" role="status">{problem === null ? "Loading …" : `${problem.message}.`}</p>
        ) : (
          <View route={route} admin={visitor.scope === "admin"} />
        )}
      </main>
      <footer class="soft">{visitor === null ? "" : `kabc ${visitor.version}. `}Nothing here is loaded from other machines.</footer>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault(); // the part behind the # is the address of the view
  document.getElementById("main")?.focus();
}

function View({ route, admin }: { route: Route; admin: boolean }) {
  switch (route.view) {
    case "studies":
      return <StudiesPage />;
    case "study":
      return <StudyPage key={route.study} study={route.study} admin={admin} />;
    case "arm":
      return <ArmPage key={`${route.study}/${route.arm}`} study={route.study} arm={route.arm} />;
    case "pair":
      return <PairPage key={`${route.study}/${route.a}/${route.b}`} study={route.study} a={route.a} b={route.b} />;
  }
}

function Line({ live }: { live: LiveState }) {
  const since = new Date(live.since).toLocaleTimeString();
  const shared = live.tabs > 1 ? `one stream for ${live.tabs} tabs` : "changes are shown as they come";
  return (
    <span class={live.live ? "line live" : "line stale"} role="status" data-tabs={live.tabs} title={live.live ? shared : ""}>
      <span class="dot" aria-hidden="true" />
      {live.live ? "live" : `stale: nothing heard since ${since}; trying again`}
    </span>
  );
}
