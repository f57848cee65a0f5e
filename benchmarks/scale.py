"""Groups 1,000 to 100,000 arms: seconds, peak memory, samples of an arm, and whether the answer is right.

    python benchmarks/scale.py [--arms 1000,10000,100000] [--groups 20] [--columns 10] [--gap 3] [--odd 0,1,5] [--json]
    python benchmarks/scale.py --arms 10000 --pool 2
    python benchmarks/scale.py --strategy kabc,kabc-tight --gap 6 --arms 1000,3000,10000

Arms are normal with unit variance, and the centres of the groups lie at distance `gap` from 0 in random directions. An
odd arm is a group of its own with a centre of that kind. Each run has a process of its own, one thread of BLAS and the
default settings of kabc.cluster. Memory is the largest resident set of the process. Seconds are those of the whole
call; "cpu" are seconds of the processor, which other work on the machine disturbs less. With `--pool` some processes
compute bets, and "others" are their seconds of the processor; arms are drawn in the calling process all the same.

`kabc` and `kabc-tight` know K. They run with random features (256 of a Gaussian kernel with bandwidth 1.5 sqrt(d)) and
compare arms with representatives; "pairs" is the share of all pairs, over all rounds, whose distance was computed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.strategies.kabc import KABC

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description="Many arms: seconds, memory, samples of an arm.")
    parser.add_argument("--arms", default="1000,10000,100000", help="numbers of arms (default 1000,10000,100000)")
    parser.add_argument("--groups", type=int, default=20, help="groups without the odd arms (default 20)")
    parser.add_argument("--columns", type=int, default=10, help="columns of a sample (default 10)")
    parser.add_argument("--gap", type=float, default=3.0, help="distance of the centres from 0 (default 3)")
    parser.add_argument("--odd", default="0", help="numbers of odd arms, e.g. 0,1,5 (default 0)")
    parser.add_argument("--strategy", default="anytime", help="anytime, kabc, kabc-tight (default anytime)")
    parser.add_argument("--seed", type=int, default=0, help="seed of instance and run (default 0)")
    parser.add_argument("--pool", type=int, default=0, help="processes of a pool that is passed as executor=")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, n_arms, odd = options.one.split(",")
        sizes = (options.groups, options.columns, options.gap, int(odd), options.seed)
        print(json.dumps(one(name, int(n_arms), *sizes, options.pool)))
        return
    rows = []
    runs = itertools.product(options.strategy.split(","), options.odd.split(","), options.arms.split(","))
    for name, odd, n_arms in runs:
        print(f"{name}, {int(n_arms):,} arms, {odd} odd ...", file=sys.stderr, flush=True)
        rows.append(in_child(f"{name},{n_arms},{odd}"))
    print(json.dumps({"processor": processor(), "runs": rows}) if options.json else table(rows))


def in_child(what: str) -> dict[str, Any]:
    """One run in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--one", what]
    environment = os.environ | dict.fromkeys(THREADS, "1")
    answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def instance(n_arms: int, n_groups: int, columns: int, gap: float, odd: int, seed: int) -> tuple[Array, Index]:
    """The centres of all groups, and the group of each arm."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_groups + odd, columns))
    centres *= gap / np.linalg.norm(centres, axis=1, keepdims=True)
    usual, alone = np.arange(n_arms - odd) % n_groups, n_groups + np.arange(odd)
    return centres, rng.permutation(np.concatenate([usual, alone]))


def arm(centre: Array) -> Callable[[int, np.random.Generator], Array]:
    """An arm that is normal around this centre."""
    return lambda n, rng: rng.normal(size=(n, len(centre))) + centre


def published(name: str, n_arms: int, n_groups: int, columns: int) -> KABC | None:
    """The paper's strategy with random features and representatives, or None for the default strategy."""
    import kabc

    makers: dict[str, Callable[..., KABC] | None] = {
        "anytime": None,
        "kabc": kabc.KABC,
        "kabc-tight": kabc.KABC.tight,
    }
    kernel = kabc.RandomFeatures(kabc.Gaussian(bandwidth=1.5 * columns**0.5), n_features=256)
    make = makers[name]
    return make and make(n_arms, n_groups, 0.05, kernel, comparisons="representatives")


def one(
    name: str, n_arms: int, n_groups: int, columns: int, gap: float, odd: int, seed: int, pool: int = 0
) -> dict[str, Any]:
    """One run, in this process."""
    import kabc

    centres, labels = instance(n_arms, n_groups, columns, gap, odd, seed)
    arms = [arm(centres[label]) for label in labels.tolist()]
    began, used = time.perf_counter(), time.process_time()
    strategy = published(name, n_arms, n_groups + odd, columns)
    settings: dict[str, Any] = {"strategy": strategy} if strategy else {"n_clusters": n_groups + odd}
    with ProcessPoolExecutor(pool, get_context("spawn")) if pool else nullcontext() as executor:
        found = kabc.cluster(arms, seed=seed, executor=executor, **settings)
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "strategy": name,
        "arms": n_arms,
        "odd": odd,
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - used,
        "others": others.ru_utime + others.ru_stime,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "per_arm": found.n_samples / n_arms,
        "pairs": strategy.n_distances / len(strategy.rounds) / math.comb(n_arms, 2) if strategy else None,
        "status": found.status,
        "right": kabc.Partition.of(labels.tolist()).labels == found.labels,
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The runs, and their ratios to the run before with as many odd arms, and to the run without odd arms."""
    head = f"{'strategy':<10} {'arms':>8} {'odd':>4} {'seconds':>8} {'cpu':>8} {'others':>7} {'peak MB':>8}"
    lines = [f"processor: {processor()}", "", f"{head} {'samples/arm':>12} {'pairs':>7}  answer"]
    for row in rows:
        pairs = "" if row["pairs"] is None else f"{row['pairs']:.2%}"
        lines.append(
            f"{row['strategy']:<10} {row['arms']:>8,} {row['odd']:>4} {row['seconds']:>8.1f} {row['cpu']:>8.1f}"
            f" {row['others']:>7.1f}"
            f" {row['mb']:>8.0f} {row['per_arm']:>12.2f} {pairs:>7}"
            f"  {row['status']}, {'right' if row['right'] else 'wrong'}"
        )
    return "\n".join([*lines, "", *ratios(rows)])


def ratios(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How much more it takes than fewer arms, and than no odd arm."""
    said = []
    for before, row in itertools.pairwise(rows):
        if (before["strategy"], before["odd"]) == (row["strategy"], row["odd"]):
            said.append(
                f"{row['strategy']}, {row['arms']:,} arms over {before['arms']:,}, {row['odd']} odd: "
                f"{row['cpu'] / before['cpu']:.1f} times the seconds of the processor, "
                f"{row['mb'] / before['mb']:.1f} times the memory"
            )
    plain = {(row["strategy"], row["arms"]): row for row in rows if not row["odd"]}
    for row in rows:
        if row["odd"] and (key := (row["strategy"], row["arms"])) in plain:
            more = row["per_arm"] / plain[key]["per_arm"]
            said.append(f"{row['odd']} odd among {row['arms']:,}: {more:.2f} times the samples")
    return said


def processor() -> str:
    """Its name, as the machine has it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
