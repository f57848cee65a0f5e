"""What blocks cure and what they cost: hosts whose samples depend on the ones before, AR(1) with normal marginals.

Equal arms: how often are arms told apart that are the same? Unequal arms: how many rows does an answer take, compared
with independent rows of the same distributions? Pools are in memory, 4 arms, delta = 5 %.

    python benchmarks/blocks.py --runs 200
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings

import numpy as np
from numpy.typing import NDArray

import kabc

N_ARMS, DELTA = 4, 0.05
ROWS = {0.8: 2_000, 0.95: 8_000}  # of an arm
LOOK = 1_200  # samples without blocks: enough to see false splits, and bounded
GAP = 1.0  # standard deviations between the means of the two groups, where arms differ


def host(dependence: float, n: int, mean: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A stationary AR(1) series with the marginal N(mean, 1)."""
    noise = rng.normal(size=n) * math.sqrt(1 - dependence**2)
    value, rows = rng.normal(), np.empty(n)
    for t in range(n):
        value = dependence * value + noise[t]
        rows[t] = mean + value
    return rows


def hosts(dependence: float, n: int, gap: float, run: int) -> dict[str, NDArray[np.float64]]:
    """Arms of one run; with a gap the last two have another mean."""
    rng = np.random.default_rng([run, round(100 * dependence)])
    return {f"host {i}": host(dependence, n, gap * (i >= N_ARMS - 2), rng) for i in range(N_ARMS)}


def false_splits(dependence: float, k: int | None, block: int | str, runs: int) -> tuple[int, float]:
    """Runs on equal arms that told some apart, and the median length of a block."""
    wrong, lengths = 0, []
    for run in range(runs):
        most = LOOK if block == 1 else N_ARMS * ROWS[dependence]
        arms = hosts(dependence, ROWS[dependence], 0.0, run)
        result = kabc.cluster(arms, k, DELTA, max_samples=most, block=block, seed=run, progress=False)
        wrong += result.evidence.n_told_apart > 0
        lengths.append(result.block)
    return wrong, statistics.median(lengths)


def cost(dependence: float, runs: int) -> tuple[float, float, int]:
    """Median rows of a decided run with block="auto"; of independent rows; runs that were decided and right."""
    spent, free, right = [], [], 0
    for run in range(runs):
        arms = hosts(dependence, ROWS[dependence], GAP, run)
        result = kabc.cluster(arms, 2, DELTA, block="auto", seed=run, progress=False)
        right += result.certified and result.labels == (0, 0, 1, 1)
        spent.append(result.n_samples)
        free.append(kabc.cluster(hosts(0.0, 2_000, GAP, run), 2, DELTA, seed=run, progress=False).n_samples)
    return statistics.median(spent), statistics.median(free), right


def interval(wrong: int, runs: int) -> str:
    """The exact 95 % interval of Clopper and Pearson, in per cent."""
    from scipy.stats import beta

    low = 0.0 if wrong == 0 else float(beta.ppf(0.025, wrong, runs - wrong + 1))
    high = 1.0 if wrong == runs else float(beta.ppf(0.975, wrong + 1, runs - wrong))
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="of equal arms, for each line")
    parser.add_argument("--plain-runs", type=int, default=40, help="of equal arms without blocks")
    parser.add_argument("--cost-runs", type=int, default=20, help="of unequal arms")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("equal arms: runs that told arms apart")
    print(f"{'dependence':>10} {'K':>5} {'block':>6} {'length':>7} {'runs':>6} {'wrong':>6}  95 % interval")
    for block, dependence, k in [(b, d, k) for b in ("auto", 1) for k in (2, None) for d in ROWS]:
        runs = given.plain_runs if block == 1 else given.runs
        wrong, length = false_splits(dependence, k, block, runs)
        words = f"{dependence:>10} {k or '-':>5} {block:>6} {length:>7.0f} {runs:>6} {wrong:>6}"
        print(f"{words}  {interval(wrong, runs)}", flush=True)
    print(f"\ntwo groups, means {GAP:g} standard deviations apart, K = 2, {given.cost_runs} runs: median rows")
    for dependence in ROWS:
        spent, free, right = cost(dependence, given.cost_runs)
        words = f"{dependence:>10}: {spent:,.0f} rows with blocks, {free:,.0f} independent rows"
        print(f"{words}, {spent / free:.1f} times; {right} of {given.cost_runs} decided and right", flush=True)


if __name__ == "__main__":
    main()
