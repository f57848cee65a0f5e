"""What studies cost.

    python -m benchmarks.study_costs [--only overhead] [--repeats 5] [--before e3994e0] [--json]
    python -m benchmarks.study_costs --only resume [--samples 1000000] [--folder FOLDER] [--json]
    python -m benchmarks.study_costs --only status [--samples 1000000] [--repeats 10] [--folder FOLDER] [--json]

overhead: computing time of a run without storage, which is a study in memory, over that of the loop before there were
studies (a commit). Both run in turns in fresh processes of this machine; the shortest time of each counts.

resume: a study of ten columns in SQLite that ended at its budget: computing time of going on by replay, and from a
snapshot if one was kept, over that of the strategy alone on the same samples; and the size of the store over that of
Parquet. With a folder the study is kept there: a line that was cut off is run again, and goes on.

status: `kabc study status` and `kabc study list` of a study in SQLite that has a ticket for each of its samples, in
seconds from start to end of the process, and of computing. Run it once with a folder to make the store, then on a
quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEFORE = "e3994e0"  # the last commit without studies

# runs in a process of its own, with the package of either commit
PROGRAM = """
import json, sys, time
import numpy as np
import kabc

def normal(mean):
    return lambda n, rng: rng.normal(mean, 1.0, n)

def arms(*means):
    return {f"arm {i}": normal(mean) for i, mean in enumerate(means)}

rng = np.random.default_rng(0)
pools = {f"pool {i}": rng.normal(0.5 * (i % 2), 1.0, 4000) for i in range(6)}
gaussian = kabc.Gaussian(bandwidth=1.0)
INSTANCES = {
    "3 arms, tiny rounds": lambda: kabc.cluster(arms(0.0, 0.0, 0.35), 2, seed=1, progress=False, check_k=False),
    "12 arms": lambda: kabc.cluster(arms(*[0.0, 1.0, 2.0] * 4), 3, seed=1, progress=False, check_k=False),
    "6 pools": lambda: kabc.cluster(pools, 2, seed=1, progress=False, check_k=False),
    "200 arms": lambda: kabc.cluster(arms(*[0.0, 3.0] * 100), 2, seed=1, progress=False, check_k=False),
    "kabc, kernel": lambda: kabc.cluster(arms(0.0, 2.0, 0.0), 2, seed=1, kernel=gaussian, progress=False),
    "boc, one sample a round": lambda: kabc.cluster(
        arms(0.0, 1.0, 0.0, 1.0), 2, seed=1, strategy="boc", strategy_options={"sigma": 1.0}, progress=False
    ),
}
found = {}
for name, run in INSTANCES.items():
    run()  # compiles and loads what it needs
    best, rounds = float("inf"), 0
    for _ in range(3):
        began = time.process_time()
        result = run()
        best, rounds = min(best, time.process_time() - began), len(result.rounds)
    found[name] = {"seconds": best, "rounds": rounds, "samples": result.n_samples}
print(json.dumps({"package": kabc.__file__, "found": found}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["overhead", "resume", "status"], default="overhead")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.only == "resume":
        from benchmarks.resuming import resume, shown

        found = resume(given.samples, given.folder)
        print(json.dumps(found, indent=2) if given.json else shown(found))
        return
    if given.only == "status":
        from benchmarks import looking

        seconds = looking.look(given.samples, given.repeats, given.folder)
        print(json.dumps(seconds, indent=2) if given.json else looking.shown(seconds))
        return
    rows = overhead(given.before, given.repeats)
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'instance':<26} {'rounds':>7} {'samples':>8} {'before, s':>10} {'now, s':>8} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['instance']:<26} {row['rounds']:>7,} {row['samples']:>8,} {row['before']:>10.3f} "
            f"{row['now']:>8.3f} {row['ratio']:>6.2f}"
        )


def overhead(commit: str, repeats: int) -> list[dict[str, float | str]]:
    """Each instance with its computing times, before and now."""
    best: dict[str, dict[str, dict[str, float]]] = {"before": {}, "now": {}}
    with checkout(commit) as old:
        for repeat in range(repeats):
            for which, root in (("before", old), ("now", ROOT)):
                print(f"repeat {repeat + 1} of {repeats}: {which}", file=sys.stderr)
                for name, one in _measured(root).items():
                    known = best[which].get(name)
                    if known is None or one["seconds"] < known["seconds"]:
                        best[which][name] = one
    rows: list[dict[str, float | str]] = []
    for name, now in best["now"].items():
        before = best["before"][name]
        if (before["rounds"], before["samples"]) != (now["rounds"], now["samples"]):
            print(f"{name}: not the same run: {before}, {now}", file=sys.stderr)
        ratio = now["seconds"] / before["seconds"]
        figures = {"rounds": now["rounds"], "samples": now["samples"]}
        rows.append({"instance": name, **figures, "before": before["seconds"], "now": now["seconds"], "ratio": ratio})
    return rows


def _measured(root: Path) -> dict[str, dict[str, float]]:
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    answer = json.loads(done.stdout)
    if not Path(answer["package"]).is_relative_to(root):
        sys.exit(f"{answer['package']} is not the package of {root}")
    found: dict[str, dict[str, float]] = answer["found"]
    return found


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The files of a commit, for a while."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder, "before")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", where, commit], check=True, capture_output=True)
        try:
            yield where
        finally:
            subprocess.run([*git, "remove", "--force", where], check=True, capture_output=True)


if __name__ == "__main__":
    main()
