"""What Anytime KABC computes: seconds for 1,000 samples, before and now, and where they go.

    python -m benchmarks.compute [--quick] [--only NAME,..] [--seeds 1] [--repeats 2] [--before 1c1ebc0] [--json [FILE]]
    python -m benchmarks.compute --profile [--only NAME,..]

The instances are those of benchmarks/samples.py. Both packages, that of a commit and this one, run in turns, each in a
process of its own with one thread; computing time counts (`time.process_time`), the shortest of the repeats. Drawing
samples is part of it. A run before that is not timed loads and compiles what is needed. "A run" compares the seconds of
whole runs: they may take fewer samples now. Where both ask for the same samples and give the same answer, the largest
difference of log evidence is shown. One more run with a clock around each part gives the shares.

`--profile` shows which functions take most instead, with what they call of libraries; counting calls takes time, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.samples import ALL, QUICK
from benchmarks.study_costs import ROOT, checkout

_MOST = 12  # functions that a profile shows
BEFORE = "1c1ebc0"  # every expert was bet, scored and linked by itself
PARTS = {  # where a clock is put: module, class and function; what a check does counts as the check
    "bets": ["strategies.anytime.inference:Inference.bet"],
    "features": ["strategies.anytime.learning:Learning.read", "strategies.anytime.learning:Learning.absorb"],
    "refits": ["strategies.anytime.learning:Learning._refitted"],
    "decompositions": ["core.scores.discriminant:Moments._made_spaces"],
    "linkage": [f"core.scores.discriminant:{name}" for name in ("_linkage", "linked", "likeliest")],
    "scorers": ["strategies.anytime.learning:Learning.rescore", "strategies.anytime.learning:Learning.guess"],
    "check of K": ["strategies.anytime.check:KCheck.look"],
}

# runs in a process of its own, with the package of either commit: one line for each run
PROGRAM = """
import cProfile, importlib, json, pstats, sys, time
import numpy as np
import kabc
from kabc.bench import INSTANCES

PARTS = json.loads(sys.argv[1])
spent, stack = {}, []

def clocked(part, function):
    def run(*given, **named):
        if stack and stack[-1][0] == "check of K":
            return function(*given, **named)
        now = time.process_time()
        if stack:
            spent[stack[-1][0]] = spent.get(stack[-1][0], 0.0) + now - stack[-1][1]
        stack.append([part, now])
        try:
            return function(*given, **named)
        finally:
            now = time.process_time()
            spent[part] = spent.get(part, 0.0) + now - stack.pop()[1]
            if stack:
                stack[-1][1] = now
    return run

def put_clocks():
    for part, names in PARTS.items():
        for name in names:
            module, path = name.split(":")
            owner = importlib.import_module("kabc." + module)
            *classes, function = path.split(".")
            for one in classes:
                owner = getattr(owner, one)
            if hasattr(owner, function):
                setattr(owner, function, clocked(part, getattr(owner, function)))

def run(name, seed):
    one = INSTANCES[name]
    began = time.process_time()
    found = kabc.cluster(one.arms, one.n_groups, 0.05, max_samples=2_000_000, seed=seed, progress=False)
    return found, time.process_time() - began

def profiled(name, seed):
    with cProfile.Profile() as profile:
        run(name, seed)
    stats, ours, spent = pstats.Stats(profile), lambda where: "/kabc/" in where[0], {}
    for where, (_, calls, own, _, callers) in stats.stats.items():
        for caller, took in {where: (0, 0, own, own)}.items() if ours(where) else callers.items():
            if ours(caller):
                file = caller[0].split("/kabc/")[-1]
                spent[file + ":" + caller[2]] = spent.get(file + ":" + caller[2], 0.0) + took[3] / stats.total_tt
    return spent

print(json.dumps({"package": kabc.__file__}), flush=True)
for line in sys.stdin:
    name, seed, what = json.loads(line)
    if what == "clocks":
        put_clocks()
        print("{}", flush=True)
        continue
    if what == "profile":
        run(name, seed)
        print(json.dumps(profiled(name, seed)), flush=True)
        continue
    spent.clear()
    found, seconds = run(name, seed)
    evidence = found.evidence.log_evidence[np.triu_indices(len(found.names), 1)]
    answer = {
        "seconds": seconds,
        "samples": found.n_samples,
        "rounds": len(found.rounds),
        "run": [found.status, list(found.labels), list(found.samples_per_arm.values()), len(found.rounds)],
        "evidence": evidence.tolist(),
        "spent": dict(spent),
    }
    print(json.dumps(answer), flush=True)
"""


class Package:
    """A process with the package of one commit, which runs what it is told to."""

    def __init__(self, root: Path) -> None:
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(PARTS)],
            env=os.environ | {"PYTHONPATH": str(root / "src")} | one_thread,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        package = self._answer()["package"]
        if not Path(package).is_relative_to(root):
            sys.exit(f"{package} is not the package of {root}")

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("a run ended with an error, see above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, name: str, seed: int, what: str = "run") -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, seed, what]) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measured(names: list[str], seeds: int, repeats: int, commit: str) -> list[dict[str, Any]]:
    """One row for each instance."""
    with checkout(commit) as old:
        both = {"before": Package(old), "now": Package(ROOT)}
        rows = {name: _timed(both, name, seeds, repeats) for name in names}
        for one in both.values():
            one.run(names[0], 0, "clocks")
        for name, row in rows.items():
            print(f"shares of {name}", file=sys.stderr)
            for which, one in both.items():
                found = one.run(name, 0)
                rest = found["seconds"] - sum(found["spent"].values())
                row[f"shares_{which}"] = {
                    part: 1000 * found["spent"].get(part, 0.0) / found["samples"] for part in PARTS
                } | {"rest": 1000 * rest / found["samples"]}
        for one in both.values():
            one.close()
    return list(rows.values())


def profiles(names: list[str], commit: str) -> str:
    """The functions that take most, before and now; every instance counts the same."""
    lines: list[str] = []
    with checkout(commit) as old:
        for which, package in (("before", Package(old)), ("now", Package(ROOT))):
            mean: Counter[str] = Counter()
            for name in names:
                mean.update({one: share / len(names) for one, share in package.run(name, 0, "profile").items()})
            lines += [which, *(f"{share:>7.1%}  {one}" for one, share in mean.most_common(_MOST))]
            package.close()
    return "\n".join(lines)


def _timed(both: dict[str, Package], name: str, seeds: int, repeats: int) -> dict[str, Any]:
    row: dict[str, Any] = {"instance": name, "samples": 0, "rounds": 0, "before": 0.0, "now": 0.0, "differs": 0.0}
    row["same"], row["whole_before"], row["whole_now"] = True, 0.0, 0.0
    for seed in range(seeds):
        print(f"{name}, seed {seed}", file=sys.stderr)
        best = {which: one.run(name, seed) for which, one in both.items()}  # loads what is needed; not timed
        for one in best.values():
            one["seconds"] = math.inf
        for _ in range(repeats):
            for which, package in both.items():
                best[which]["seconds"] = min(best[which]["seconds"], package.run(name, seed)["seconds"])
        before, now = best["before"], best["now"]
        row["same"] &= before["run"] == now["run"]
        if before["run"] == now["run"]:
            gaps = [abs(a - b) for a, b in zip(before["evidence"], now["evidence"], strict=True) if math.isfinite(a)]
            row["differs"] = max(row["differs"], max(gaps, default=0.0))
        row["samples"], row["rounds"] = row["samples"] + now["samples"], row["rounds"] + now["rounds"]
        for which in both:
            row[which] += 1000 * best[which]["seconds"] / best[which]["samples"] / seeds
            row[f"whole_{which}"] += best[which]["seconds"] / seeds
    row["ratio"] = row["before"] / row["now"]
    return row


def shown(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{_processor()}, one core; seconds for 1,000 samples",
        f"{'instance':<17}{'samples':>9}{'rounds':>8}{'before':>9}{'now':>9}{'times':>7}{'a run':>7}  same run  within",
    ]
    for row in rows:
        within = f"{row['differs']:.0e}" if row["same"] else "-"
        lines.append(
            f"{row['instance']:<17}{row['samples']:>9,}{row['rounds']:>8,}{row['before']:>9.3f}{row['now']:>9.3f}"
            f"{row['ratio']:>7.1f}{row['whole_before'] / row['whole_now']:>7.1f}"
            f"  {'yes' if row['same'] else 'NO':<8}{within:>8}"
        )
    before, now, whole_before, whole_now = (
        math.exp(sum(math.log(row[which]) for row in rows) / len(rows))
        for which in ("before", "now", "whole_before", "whole_now")
    )
    lines.append(f"{'geometric mean':<34}{before:>9.3f}{now:>9.3f}{before / now:>7.1f}{whole_before / whole_now:>7.1f}")
    lines += ["", f"{'part, of all seconds':<34}{'before':>9}{'now':>9}{'times':>7}"]
    mean = {which: _mean_shares(rows, which) for which in ("before", "now")}
    whole = {which: sum(parts.values()) for which, parts in mean.items()}
    for part in (*PARTS, "rest"):
        old, new = mean["before"][part], mean["now"][part]
        times = f"{old / new:>7.1f}" if new > 0 else f"{'-':>7}"
        lines.append(f"{part:<34}{old / whole['before']:>9.1%}{new / whole['now']:>9.1%}{times}")
    return "\n".join(lines)


def _mean_shares(rows: list[dict[str, Any]], which: str) -> dict[str, float]:
    """Seconds of each part, with every instance counting the same."""
    total = dict.fromkeys((*PARTS, "rest"), 0.0)
    for row in rows:
        shares = row[f"shares_{which}"]
        for part, seconds in shares.items():
            total[part] += seconds / sum(row["shares_before"].values()) / len(rows)
    return total


def _processor() -> str:
    names = [line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four instances")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("--json", nargs="?", const="-")
    parser.add_argument("--profile", action="store_true", help="which functions take most")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(QUICK if given.quick else ALL)
    if given.profile:
        print(profiles(names, given.before))
        return
    rows = measured(names, given.seeds, given.repeats, given.before)
    if given.json != "-":
        print(shown(rows))
    if given.json:
        text = json.dumps(rows, indent=2)
        print(text) if given.json == "-" else Path(given.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
