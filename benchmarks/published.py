"""The only published numbers of KABC: the same-mean experiment of a master's thesis by one of its authors.

N = 4 arms in the plane, K = 2: two arms N(0, I), two arms N(0, V I); g(x, y) = exp(-|x - y|^2 / 5000); delta = 0.5; the
first round is k = 2. The thesis has one run per setting, without a seed. A total is a function of the last round alone,
so that two right implementations differ only where a round is a close call; the last column says how close.

Source: github.com/sebastian-vogt-cs/masters-thesis-experiments (2025), data/same_mean_experiment_*.p.

    python benchmarks/published.py [--seeds 20] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Literal

import numpy as np

import kabc

VARIANCES = (200, 400, 800, 1600, 3200, 6400)
Rule = Literal["variance-aware", "kernel-uniform"]
THESIS: dict[Rule, tuple[int, ...]] = {
    "variance-aware": (21364, 10300, 4904, 4904, 2284, 2284),
    "kernel-uniform": (161076, 38316, 8904, 4216, 1952, 1952),
}


def total(variance: float, rule: Rule, seed: int) -> int:
    """Samples that one run takes; wrong answers are an error."""
    strategy = kabc.KABC(4, 2, 0.5, kabc.Gaussian(bandwidth=50.0), first_round=2, threshold=rule)
    scales = np.sqrt([1.0, 1.0, variance, variance])
    rng = np.random.default_rng([seed, int(variance)])
    while not strategy.stopped:
        strategy.tell({arm: rng.normal(0.0, scales[arm], (n, 2)) for arm, n in strategy.ask().items()})
    if strategy.recommend().labels != (0, 0, 1, 1):
        raise RuntimeError(f"wrong partition at V = {variance}, seed {seed}: {strategy.recommend()}")
    return strategy.n_samples


def rows(seeds: int) -> list[dict[str, object]]:
    table: list[dict[str, object]] = []
    for rule, theirs in THESIS.items():
        for variance, published in zip(VARIANCES, theirs, strict=True):
            ours = Counter(total(variance, rule, seed) for seed in range(seeds))
            table.append(
                {
                    "threshold": rule,
                    "V": variance,
                    "thesis": published,
                    "ours": ours.most_common(1)[0][0],
                    "runs_equal": ours[published],
                    "runs": seeds,
                    "all_totals": dict(sorted(ours.items())),
                }
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs per setting")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    table = rows(options.seeds)
    if options.json:
        print(json.dumps(table, indent=1))
        return
    print(f"{'threshold':<16} {'V':>5} {'thesis':>8} {'ours':>8}  runs with the thesis's total (totals: runs)")
    for row in table:
        seen = ", ".join(f"{key}: {count}" for key, count in row["all_totals"].items())  # type: ignore[attr-defined]
        print(
            f"{row['threshold']:<16} {row['V']:>5} {row['thesis']:>8} {row['ours']:>8}  "
            f"{row['runs_equal']} of {row['runs']} ({seen})"
        )


if __name__ == "__main__":
    main()
