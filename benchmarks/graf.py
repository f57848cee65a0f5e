"""BanditClustering against the paper's own numbers (Graf, Thuot and Verzelen, ICML 2025, arXiv 2503.11209).

E1: N = 20 arms, d = 1000 features, groups of equal size, means that differ by 15/sqrt(s) in s features, normal noise.
E4: N = 30 arms of zeros and ones, probabilities .25 and .75 in half of the d features, .5 in the others. delta = 0.8.
The paper's numbers are means over the right ones of 500 runs, in thousands of queries, as stored with its code.

The last step of CBC compares every arm with one arm. In E1 the paper's code counts this step only for the arms found
different. The column `their way` counts our runs in the same way; `all` counts every query. When CR is wrong, the
paper's code looks at the truth and stops. Here CBC continues. A run ends after 30 million queries and counts as wrong.

A sum of m values of one cell is drawn at once: N(m mu, m), or binomial. Noise of zeros and ones has size at most 1/2.
To give it size 1, sums are doubled.

    python benchmarks/graf.py [--runs 100] [--workers 2] [--sparsity 53 106 211] [--features 2 8 32]
    python benchmarks/graf.py --quick
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from kabc.strategies.peers.bandit_clustering import Query, Search

Array = NDArray[np.float64]

DELTA, LENGTH, MOST = 0.8, 15.0, 30_000_000
PAPER = {  # thousands of queries, by s and by d
    "E1": {1: 747.9, 53: 59.5, 106: 118.3, 158: 174.6, 211: 236.7, 263: 348.4, 526: 722.9, 1000: 1524.0},
    "E4": dict.fromkeys((2, 4, 8, 16, 32), 361.0),
}


class Stop(NamedTuple):
    """The cost of a run, counted in both ways, and whether its answer was right."""

    their_way: int
    queries: int
    right: bool


def instance(name: str, size: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Array]:  # (N,), (N, d)
    n_arms, d = (20, 1000) if name == "E1" else (30, size)
    groups = rng.permutation(n_arms) < n_arms // 2
    if name == "E1":
        means = np.zeros((n_arms, d))
        means[groups, :size] = LENGTH / math.sqrt(size)
    else:
        means = np.full((n_arms, d), 0.5)
        means[:, : d // 2] = np.where(groups, 0.75, 0.25)[:, None]
    return groups, means


def sums(name: str, query: Query, means: Array, rng: np.random.Generator) -> Array:  # -> (2, c)
    cells = means[query.arms, query.features]
    if name == "E1":
        return rng.normal(query.n * cells, math.sqrt(query.n))
    return 2 * rng.binomial(query.n, cells).astype(np.float64)


def run(task: tuple[str, int, int]) -> Stop:
    name, size, seed = task
    rng = np.random.default_rng([seed, size])
    groups, means = instance(name, size, rng)
    search = Search(len(means), means.shape[1], DELTA, rng)
    while search.labels is None and search.n_queries < MOST:
        search.tell(sums(name, search.query, means, rng))
    if search.labels is None or search.found is None:
        return Stop(search.n_queries, search.n_queries, False)
    uncounted = int((search.labels == search.labels[search.found]).sum()) - 1 if name == "E1" else 0
    right = bool(((search.labels == search.labels[0]) == (groups == groups[0])).all())
    return Stop(search.n_queries - 2 * uncounted * search.query.n, search.n_queries, right)


def row(name: str, size: int, runs: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    found = list(pool.map(run, [(name, size, seed) for seed in range(runs)], chunksize=4))
    right = [stop for stop in found if stop.right]
    theirs = np.array([stop.their_way for stop in right]) / 1e3
    wrong = runs - len(right)
    return {
        "name": name,
        "size": size,
        "paper": PAPER[name].get(size, math.nan),
        "theirs": float(theirs.mean()),
        "spread": float(theirs.std(ddof=1) / math.sqrt(len(right))),
        "all": float(np.mean([stop.queries for stop in right])) / 1e3,
        "wrong": wrong / runs,
        "interval": binomtest(wrong, runs).proportion_ci(0.95),
    }


def show(line: Mapping[str, Any]) -> None:
    ratio = line["theirs"] / line["paper"]
    verdict = "-" if math.isnan(ratio) else "yes" if abs(ratio - 1) <= 0.1 else "NO"
    low, high = line["interval"]
    print(
        f"{line['name']:<4} {line['size']:>5} {line['paper']:>8.1f} {line['theirs']:>10.1f} {line['spread']:>6.1f} "
        f"{ratio:>6.3f}  {verdict:<5} {line['all']:>9.1f}  {line['wrong']:.3f} ({low:.3f} to {high:.3f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sparsity", nargs="*", type=int, default=[53, 106, 211], help="s of E1, 1 to 1000")
    parser.add_argument("--features", nargs="*", type=int, default=[2, 8, 32], help="d of E4, even numbers")
    parser.add_argument("--quick", action="store_true", help="seconds: 50 runs")
    options = parser.parse_args()
    if options.quick:
        options.runs = 50
    cases = [("E1", s) for s in options.sparsity] + [("E4", d) for d in options.features]
    print(
        f"{'10^3':<4} {'s, d':>5} {'paper':>8} {'their way':>10} {'+-':>6} {'ratio':>6}  10 %? {'all':>9}  wrong (95 %)"
    )
    started = time.perf_counter()
    with ProcessPoolExecutor(options.workers) as pool:
        for case, (name, size) in enumerate(cases, 1):
            show(row(name, size, options.runs, pool))
            took = time.perf_counter() - started
            print(f"[{took:5.0f} s] {case} of {len(cases)} done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
