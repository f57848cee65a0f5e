"""The only published numbers of KABC: the same-mean experiment of a master's thesis by one of its authors.

N = 4 arms in the plane, K = 2: two arms N(0, I), two arms N(0, V I); g(x, y) = exp(-|x - y|^2 / 5000); delta = 0.5; the
first round is k = 2. The thesis has one run per setting, without a seed. A total depends only on the last round. So
correct implementations differ only if a round is a close call. Two of the twelve are close: the variance-free rule at
V = 800 and V = 3200, where the distance equals the threshold up to noise. The default seed gives the same totals as the
thesis. --seeds counts how often other seeds do.

--price prints the price of adaptivity, the last remark of the paper's Discussion: all samples of KABC (first round
k = 1) as multiples of those of CLUSTER with s_* known, on the arms of the experiment. s_* is computed in closed form,
CLUSTER has the n_* of the Discussion, and the bound is that of `kabc.plan`.

Source: github.com/sebastian-vogt-cs/masters-thesis-experiments (2025), data/same_mean_experiment_*.p.

    python benchmarks/published.py [--seed 8] [--seeds 20] [--price] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any, Literal

import numpy as np

import kabc

BANDWIDTH = 50.0
KERNEL = kabc.Gaussian(bandwidth=BANDWIDTH)
DELTAS = (0.5, 0.05)
VARIANCES = (200, 400, 800, 1600, 3200, 6400)
Rule = Literal["variance-aware", "kernel-uniform"]
THESIS: dict[Rule, tuple[int, ...]] = {
    "variance-aware": (21364, 10300, 4904, 4904, 2284, 2284),
    "kernel-uniform": (161076, 38316, 8904, 4216, 1952, 1952),
}


def total(variance: int, rule: Rule, seed: int, delta: float = 0.5, first_round: int = 2) -> int:
    """The number of samples of one run. A wrong answer raises an error."""
    strategy = kabc.KABC(4, 2, delta, KERNEL, first_round=first_round, threshold=rule)
    scales = np.sqrt([1.0, 1.0, variance, variance])
    rng = np.random.default_rng([seed, variance])
    while not strategy.stopped:
        strategy.tell({arm: rng.normal(0.0, scales[arm], (n, 2)) for arm, n in strategy.ask().items()})
    if strategy.recommend().labels != (0, 0, 1, 1):
        raise RuntimeError(f"wrong partition at V = {variance}, seed {seed}: {strategy.recommend()}")
    return strategy.n_samples


def row(rule: Rule, variance: int, published: int, seed: int, seeds: int) -> dict[str, Any]:
    others = Counter(total(variance, rule, other) for other in range(seeds))
    return {
        "threshold": rule,
        "V": variance,
        "thesis": published,
        "ours": total(variance, rule, seed),
        "seed": seed,
        "totals_over_seeds": dict(sorted(others.items())),
    }


def rows(seed: int = 8, seeds: int = 0) -> list[dict[str, Any]]:
    """One row for each of the twelve settings."""
    return [
        row(rule, variance, published, seed, seeds)
        for rule, theirs in THESIS.items()
        for variance, published in zip(VARIANCES, theirs, strict=True)
    ]


def embedded(variance: int) -> tuple[float, float]:
    """Distance of the two mean embeddings, and the larger of their variances: E g(X, Y) = h^2 / (h^2 + a + b)."""

    def mean(a: float, b: float) -> float:
        return BANDWIDTH**2 / (BANDWIDTH**2 + a + b)

    gap = np.sqrt(mean(1, 1) + mean(variance, variance) - 2 * mean(1, variance))
    return float(gap), 1 - mean(variance, variance)


def price_row(variance: int, delta: float, seeds: int) -> dict[str, Any]:
    """What KABC costs over CLUSTER with s_* known: measured and proved."""
    gap, spread = embedded(variance)
    plan = kabc.plan(4, 2, delta, embedded_gap=gap, variances=spread, kernel=KERNEL, strategy="kabc")
    known = 4 * kabc.Cluster.for_separation(4, plan.squared_separation**0.5, delta, KERNEL).n
    ratios = [total(variance, "variance-aware", seed, delta, 1) / known for seed in range(seeds)]
    return {
        "V": variance,
        "delta": delta,
        "squared_separation": plan.squared_separation,
        "cluster": known,
        "kabc": float(np.mean(ratios)) * known,
        "least": min(ratios),
        "ratio": float(np.mean(ratios)),
        "most": max(ratios),
        "expected": plan.price_expected,
        "at_most": plan.price_at_most,
    }


def print_prices(table: list[dict[str, Any]], seeds: int) -> None:
    print(f"{seeds} seeds each; ratios to the samples of CLUSTER with s_* known; no answer was wrong")
    titles = ("delta", "V", "s_*^2", "CLUSTER", "KABC", "ratio", "least", "most", "expected", "at most")
    print("".join(f"{title:>10}" for title in titles))
    for line in table:
        samples = f"{line['cluster']:>10,}{line['kabc']:>10,.0f}"
        ratios = "".join(f"{line[name]:>10.2f}" for name in ("ratio", "least", "most", "expected", "at_most"))
        print(f"{line['delta']:>10g}{line['V']:>10}{line['squared_separation']:>10.3f}{samples}{ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=8, help="seed of the runs in column 'ours'")
    parser.add_argument("--seeds", type=int, default=0, help="also count the totals of this many other seeds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--price", action="store_true", help="print the price of adaptivity instead")
    options = parser.parse_args()
    if options.price:
        prices = [price_row(variance, delta, max(1, options.seeds)) for delta in DELTAS for variance in VARIANCES]
        if options.json:
            print(json.dumps(prices, indent=1))
        else:
            print_prices(prices, max(1, options.seeds))
        return
    table = rows(options.seed, options.seeds)
    if options.json:
        print(json.dumps(table, indent=1))
        return
    print(f"{'threshold':<16} {'V':>5} {'thesis':>8} {'ours':>8} {'equal':>6}  totals of {options.seeds} seeds: runs")
    for line in table:
        counts = ", ".join(f"{key}: {count}" for key, count in line["totals_over_seeds"].items())
        equal = "yes" if line["thesis"] == line["ours"] else "NO"
        print(f"{line['threshold']:<16} {line['V']:>5} {line['thesis']:>8} {line['ours']:>8} {equal:>6}  {counts}")


if __name__ == "__main__":
    main()
