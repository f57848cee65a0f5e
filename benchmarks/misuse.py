"""Misuse on purpose: how often is a wrong answer certified without a visible doubt?

    python benchmarks/misuse.py [--before PATH/src] [--runs 5] [--only means,equal] [--log misuse.jsonl]

Every instance is run with every misuse. A cell has two counts: runs whose groups are certified and wrong without a
visible doubt, and runs with any certified statement that is false (a pair, the bound on the number of groups) without
one. A visible doubt of the groups is a status other than "decided". A doubt of both is a refuted assumption, an arm set
aside, evidence above 1 that K is too small, or a note that names the cause. "After" is this package, "before" the one
given by `--before`, for example a checkout of an earlier version. Runs are kept in the log, one JSON line each; runs
that are there already are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Quantiles = Callable[[Array], Array]  # of uniform numbers: a law that any stream of them can be fed to
Job = tuple[str, str, int]  # instance, misuse, seed

ROWS = 400  # of each arm of a table
NOTES = re.compile(r"drift|half|earlier|later|depend|correlat|repeat|duplicat|replay|ran out|too few|set aside", re.I)


@dataclass(frozen=True)
class Instance:
    """Arms with a known truth; K is what people would ask for."""

    laws: tuple[Quantiles, ...]  # of each group
    sizes: tuple[int, ...]
    n_clusters: int

    @property
    def truth(self) -> list[int]:
        """The group of each arm; groups take turns."""
        left = list(self.sizes)
        return [group for turn in range(max(left)) for group in range(len(left)) if turn < left[group]]

    @property
    def most_samples(self) -> int:
        """The budget of a run."""
        return 150 * len(self.truth)


def normal(mean: float = 0.0, spread: float = 1.0) -> Quantiles:
    return lambda u: np.asarray(mean + spread * stats.norm.ppf(u))


def spikes(u: Array) -> Array:
    """Normal, but one in ten is five times as wide."""
    wide, usual = np.clip(u / 0.1, 0.0, 1 - 1e-9), np.clip((u - 0.1) / 0.9, 1e-9, 1.0)
    return np.where(u < 0.1, 5.0 * stats.norm.ppf(wide), stats.norm.ppf(usual))


def cauchy(place: float) -> Quantiles:
    return lambda u: np.asarray(place + stats.cauchy.ppf(u))


def symbols(*shares: float) -> Quantiles:
    return lambda u: np.searchsorted(np.cumsum(shares)[:-1], u).astype(np.float64)


INSTANCES: dict[str, Instance] = {
    "equal": Instance((normal(),), (6,), 2),
    "means": Instance((normal(0.0), normal(1.5), normal(3.0)), (4, 4, 4), 3),
    "scales": Instance((normal(0.0, 1.0), normal(0.0, 3.0)), (4, 4), 2),
    "tails": Instance((normal(), spikes), (4, 4), 2),
    "heavy": Instance((cauchy(0.0), cauchy(3.0), cauchy(9.0)), (3, 3, 3), 3),
    "discrete": Instance((symbols(0.8, 0.1, 0.1), symbols(0.1, 0.8, 0.1), symbols(0.1, 0.1, 0.8)), (3, 3, 3), 3),
    "outsiders": Instance((normal(0.0), normal(2.0), normal(8.0)), (29, 29, 2), 3),
}


# ------------------------------------------------------------ misuses: streams of uniform numbers, (n,) for each arm


def independent(rng: np.random.Generator, n: int) -> Array:
    return rng.uniform(1e-9, 1 - 1e-9, n)


def autocorrelated(rho: float) -> Callable[[np.random.Generator, int], Array]:
    def stream(rng: np.random.Generator, n: int) -> Array:
        noise = rng.normal(size=n) * np.sqrt(1 - rho**2)
        state = np.empty(n)
        before = rng.normal()
        for t in range(n):
            before = state[t] = rho * before + noise[t]
        return np.asarray(stats.norm.cdf(state))

    return stream


def drifting(rng: np.random.Generator, n: int) -> Array:
    """Two standard deviations higher after 300 samples."""
    return np.asarray(stats.norm.cdf(rng.normal(size=n) + 2.0 * np.minimum(np.arange(n) / 300, 1.0)))


def cycled(rng: np.random.Generator, n: int) -> Array:
    return np.resize(independent(rng, 10), n)


def replayed(rng: np.random.Generator, n: int) -> Array:
    return rng.choice(independent(rng, 10), n)


def repeated(rng: np.random.Generator, n: int) -> Array:
    return np.repeat(independent(rng, n // 5 + 1), 5)[:n]


@dataclass(frozen=True)
class Misuse:
    """What is done wrong: the streams, how they are given, and by how much K is off."""

    stream: Callable[[np.random.Generator, int], Array] = independent
    table: bool = False
    off: int = 0
    first_only: bool = False  # only the first arm is like that
    tiny: bool = False
    antithetic: bool = False


MISUSES: dict[str, Misuse] = {
    "none": Misuse(),
    "K - 1": Misuse(off=-1),
    "K + 1": Misuse(off=1),
    "drift of one arm": Misuse(drifting, first_only=True),
    "drift of all arms": Misuse(drifting),
    "drift of one arm, table": Misuse(drifting, table=True, first_only=True),
    "AR 0.8": Misuse(autocorrelated(0.8)),
    "AR 0.8, table": Misuse(autocorrelated(0.8), table=True),
    "AR 0.95": Misuse(autocorrelated(0.95)),
    "AR 0.95, table": Misuse(autocorrelated(0.95), table=True),
    "tiny arm, table": Misuse(table=True, tiny=True),
    "cycle of 10 samples": Misuse(cycled),
    "random replay of 10": Misuse(replayed),
    "rows five times": Misuse(repeated),
    "rows five times, table": Misuse(repeated, table=True),
    "antithetic arms": Misuse(antithetic=True),
}


def values_of(instance: Instance, misuse: Misuse, rng: np.random.Generator) -> list[Array]:
    """All samples that the arms could give, in their order."""
    length = ROWS if misuse.table else instance.most_samples
    streams = []
    for arm in range(len(instance.truth)):
        spoilt = arm == 0 or not misuse.first_only
        streams.append((misuse.stream if spoilt else independent)(rng, length))
    if misuse.antithetic:
        n_groups = len(instance.sizes)
        for arm in range(n_groups, len(streams), 2 * n_groups):  # an arm and the one before it of its group
            for one in range(arm, min(arm + n_groups, len(streams))):
                if instance.truth[one] == instance.truth[one - n_groups]:
                    streams[one] = 1.0 - streams[one - n_groups]
    if misuse.tiny:
        streams[0] = streams[0][:3]
    return [instance.laws[group](u) for group, u in zip(instance.truth, streams, strict=True)]


class InTurn:
    """An arm that gives its samples in their order."""

    def __init__(self, samples: Array) -> None:
        self._samples, self._given = samples, 0

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        self._given += n
        return self._samples[self._given - n : self._given]


def run(job: Job) -> dict[str, Any]:
    """One run with the kabc that is imported, and what was wrong with it."""
    import kabc

    name, wrong, seed = job
    instance, misuse = INSTANCES[name], MISUSES[wrong]
    samples = values_of(instance, misuse, np.random.default_rng([seed, sum(map(ord, name + wrong))]))
    asked = instance.n_clusters + misuse.off
    settings: dict[str, Any] = {"seed": seed, "max_samples": instance.most_samples, "progress": False}
    started = time.perf_counter()
    try:
        if misuse.table:
            result = kabc.cluster(_table(samples), asked, 0.05, arm="arm", values="value", **settings)
        else:
            result = kabc.cluster({f"arm {i}": InTurn(x) for i, x in enumerate(samples)}, asked, 0.05, **settings)
    except kabc.KabcError as error:
        return {"job": job, "status": "refused", "groups": False, "pairs": False, "doubt": "", "error": str(error)}
    seconds = round(time.perf_counter() - started, 2)
    names = [f"arm {i}" for i in range(len(samples))]
    place = {str(arm): i for i, arm in enumerate(result.names)}
    order = [place[one] for one in names]
    told = np.asarray(result.evidence.told_apart)[np.ix_(order, order)]
    found = [result.labels[i] for i in order]
    facts = {"job": job, "status": result.status, "n_samples": result.n_samples, "seconds": seconds}
    return facts | _judged(instance.truth, found, told, result)


def _table(samples: list[Array]) -> Any:
    """The rows as they would be logged: one of each arm, then the next of each."""
    import polars

    rows = [(f"arm {i}", float(x[t])) for t in range(ROWS) for i, x in enumerate(samples) if t < len(x)]
    return polars.DataFrame(rows, schema=["arm", "value"], orient="row")


def _judged(truth: list[int], found: list[int], told: NDArray[np.bool_], result: Any) -> dict[str, Any]:
    groups = np.asarray(truth)
    placed = [arm for arm, label in enumerate(found) if label >= 0]  # -1: set aside
    same = {(groups[i] == groups[j], found[i] == found[j]) for i in placed for j in placed}
    false = bool((told & (groups[:, None] == groups)).any()) or result.n_groups_at_least > len(set(truth))
    return {
        "groups": result.status == "decided" and bool(same - {(True, True), (False, False)}),
        "pairs": false,
        "doubt": _doubt(result),
    }


def _doubt(result: Any) -> str:
    """What a reader of the answer can see that speaks against it. Versions before 0.2 have notes only."""
    if getattr(result, "assumptions", ()):
        return "assumptions"
    if getattr(result, "set_aside", {}):
        return "set aside"
    if (getattr(result, "k_doubt", None) or 0.0) > 1:
        return "k_doubt"
    return "note" if any(NOTES.search(note) for note in result.notes) else ""


# ------------------------------------------------------------ runs of two packages, kept in a log


def jobs(only: Iterable[str], runs: int) -> list[Job]:
    """All runs. K = 1 is no question, so two groups cannot be one too few; tables of 60 arms say nothing new."""
    kinds = [
        (name, misuse)
        for name in only
        for misuse, how in MISUSES.items()
        if INSTANCES[name].n_clusters + how.off >= 2 and not (name == "outsiders" and how.table)
    ]
    return [(*kind, seed) for seed in range(runs) for kind in kinds]


def fresh(side: str, source: str | None, wanted: list[Job]) -> Iterator[dict[str, Any]]:
    """Run the jobs in a process that imports kabc from `source`."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(Path(source).resolve())
    command = [sys.executable, __file__, "--worker"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(job) + "\n" for job in wanted))
        process.stdin.close()
        for line in process.stdout:
            yield {"side": side, **json.loads(line)}


def work() -> None:
    """The other side of `fresh`."""
    for line in sys.stdin.read().splitlines():
        name, misuse, seed = json.loads(line)
        print(json.dumps(run((name, misuse, seed))), flush=True)


def logged(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def complete(log: Path, sides: dict[str, str | None], wanted: list[Job]) -> list[dict[str, Any]]:
    """The log with all these runs, made where they are missing."""
    for side, source in sides.items():
        there = {tuple(row["job"]) for row in logged(log) if row["side"] == side}
        missing = [job for job in wanted if job not in there]
        started = time.perf_counter()
        with log.open("a") as file:
            for done, row in enumerate(fresh(side, source, missing), 1):
                file.write(json.dumps(row) + "\n")
                file.flush()
                seconds = time.perf_counter() - started
                print(f"[{seconds:5.0f} s] {side}: {done} of {len(missing)} runs", file=sys.stderr, flush=True)
    keys = set(wanted)
    return [row for row in logged(log) if tuple(row["job"]) in keys and row["side"] in sides]


def table(rows: list[dict[str, Any]], sides: Iterable[str]) -> str:
    """A line for each instance and misuse: wrong groups, false statements, and runs, on each side."""
    runs, groups, pairs = Counter[Any](), Counter[Any](), Counter[Any]()
    for row in rows:
        key = (*row["job"][:2], row["side"])
        runs[key] += 1
        groups[key] += row["groups"] and not row["doubt"]
        pairs[key] += row["pairs"] and not row["doubt"] and row["status"] != "doubtful"
    lines = [f"{'instance':<12}{'misuse':<26}" + "".join(f"{side:>22}" for side in sides)]
    lines += [f"{'':<38}" + "".join(f"{'groups, any, of runs':>22}" for _ in sides)]
    for name, misuse in dict.fromkeys(tuple(row["job"][:2]) for row in rows):
        cells = ""
        for side in sides:
            key = (name, misuse, side)
            cells += f"{f'{groups[key]}, {pairs[key]}, of {runs[key]}':>22}"
        lines.append(f"{name:<12}{misuse:<26}{cells}")
    total = "".join(
        f"{', '.join(str(sum(n for key, n in counts.items() if key[2] == side)) for counts in (groups, pairs)):>22}"
        for side in sides
    )
    return "\n".join([*lines, f"{'all':<38}{total}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="source folder of another kabc, such as ../kabc-0.1.0/src")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(INSTANCES), help="instances, separated by commas; default: all")
    parser.add_argument("--log", type=Path, default=Path("misuse.jsonl"))
    parser.add_argument("--no-after", action="store_true", help="run the package of --before alone")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return
    sides: dict[str, str | None] = {} if options.before is None else {"before": options.before}
    if not options.no_after:
        sides["after"] = None
    rows = complete(options.log, sides, jobs(options.only.split(","), options.runs))
    print(table(rows, sides))


if __name__ == "__main__":
    main()
