"""Seeded runs of every strategy, and what each of them found, as plain values.

`OPENBLAS_CORETYPE=Haswell python -m tests.seeded_runs` writes tests/golden/seeded_runs.json, with the rounding of all
tests (tests/conftest.py). Write it again only for a change of a method that is meant to change samples, evidence or
labels, and say so in the changelog.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc

GOLDEN = Path(__file__).parent / "golden" / "seeded_runs.json"

Draw = Callable[[int, np.random.Generator], NDArray[Any]]


def normal(mean: tuple[float, ...] | float, spread: float = 1.0) -> Draw:
    """Normal samples; one column for each mean."""
    return lambda n, rng: rng.normal(mean, spread, (n, np.size(mean)))


def plane(n_arms: int, n_groups: int, gap: float) -> list[Draw]:
    """Normal arms in the plane; the mean of group g is (gap * g, 0)."""
    return [normal((gap * (i % n_groups), 0.0)) for i in range(n_arms)]


def line(n_arms: int, n_groups: int, gap: float) -> list[Draw]:
    """Normal arms of one column."""
    return [normal(gap * (i % n_groups)) for i in range(n_arms)]


def spreads(n_arms: int) -> list[Draw]:
    """Equal means; every second arm is four times as wide."""
    return [normal(0.0, 1.0 + 3.0 * (i % 2)) for i in range(n_arms)]


def choice(chances: list[float]) -> Draw:
    """Whole numbers from 0, with these probabilities."""
    return lambda n, rng: rng.choice(len(chances), n, p=chances)


def symbols(n_arms: int) -> list[Draw]:
    """Whole numbers 0, 1, 2; two groups."""
    return [choice([0.8, 0.1, 0.1] if i % 2 == 0 else [0.1, 0.1, 0.8]) for i in range(n_arms)]


def odd_one(n_arms: int) -> list[Draw]:
    """All arms alike but the last."""
    return [normal((6.0 * (i == n_arms - 1),) * 2) for i in range(n_arms)]


@dataclass(frozen=True)
class Seeded:
    """One run: which strategy, on which arms, with which settings."""

    arms: list[Draw] = field(repr=False)
    strategy: str
    n_clusters: int | None
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def result(self, **more: Any) -> kabc.Result:
        """Run it."""
        usual: dict[str, Any] = {"delta": 0.1, "progress": False, "max_samples": 20_000}
        given = usual | self.settings | more
        options = self.options or None
        return kabc.cluster(
            self.arms, self.n_clusters, strategy=self.strategy, strategy_options=options, seed=self.seed, **given
        )


_MEANS: dict[str, tuple[str, dict[str, Any]]] = {
    "boc": ("boc", {}),
    "boc-heuristic": ("boc-heuristic", {}),
    "boc-uniform": ("boc-uniform", {}),
    "boc-uniform-heuristic": ("boc-uniform", {"threshold": "heuristic"}),
    "boc-linear": ("boc-linear", {"distance_ratio": 0.4}),
    "acb": ("acb", {"min_gap": 6.0, "min_share": 0.3, "seed": 3}),
    "acb-dagger": ("acb-dagger", {"min_share": 0.3, "seed": 3}),
    "acb-star": ("acb-star", {"hanson_wright": 0.5, "seed": 3}),
    "atboc": ("atboc", {}),
    "ebc": ("ebc", {}),
    "lucbboc": ("lucbboc", {}),
}
_KERNEL: dict[str, tuple[str, dict[str, Any]]] = {
    "kabc": ("kabc", {}),
    "kabc-tight": ("kabc-tight", {}),
    "kabc-witness": ("kabc-witness", {}),
    "kabc-manole-ramdas": ("kabc-manole-ramdas", {"tight": False}),
    "kabc-manole-ramdas-tight": ("kabc-manole-ramdas", {}),
    "kabc-bernstein": ("kabc-bernstein", {}),
    "kabc-permutation": ("kabc-permutation", {"seed": 3}),
    "mmd-permutation": ("mmd-permutation", {"samples_per_arm": 60, "seed": 3}),
    "kernel-kmeans": ("kernel-kmeans", {"samples_per_arm": 60, "seed": 3}),
    "distributional-kmeans": ("kernel-kmeans", {"samples_per_arm": 60, "seed": 3, "start": "k-means++"}),
    "spectral": ("spectral", {"samples_per_arm": 60, "seed": 3}),
    "mmd-linkage": ("mmd-linkage", {"samples_per_arm": 60, "seed": 3}),
    "mmd-farthest": ("mmd-farthest", {"samples_per_arm": 60, "seed": 3}),
}


def _anytime() -> dict[str, Seeded]:
    return {
        "anytime/plane": Seeded(plane(8, 3, 1.5), "anytime", 3),
        "anytime/spreads": Seeded(spreads(6), "anytime", 2),
        "anytime/spreads, other seed": Seeded(spreads(6), "anytime", 2, seed=5),
        "anytime/symbols": Seeded(symbols(6), "anytime", 2),
        "anytime/close": Seeded(plane(6, 2, 0.7), "anytime", 2, {"delta": 0.3}),
        "anytime/too few groups asked for": Seeded(plane(9, 3, 6.0), "anytime", 2),
        "anytime/as many groups as arms": Seeded(line(4, 4, 3.0), "anytime", 4),
        "anytime/many arms": Seeded(plane(90, 3, 3.0), "anytime", 3),
        "anytime/many arms, options": Seeded(plane(90, 3, 3.0), "anytime", 3, options={"seed": 7}),
        "anytime/odd one of many": Seeded(odd_one(80), "anytime", 2, {"max_samples": 40_000}),
        "anytime/K unknown": Seeded(plane(8, 3, 3.0), "anytime", None, {"max_samples": 600}),
        "anytime/K unknown, many arms": Seeded(plane(60, 3, 3.0), "anytime", None, {"max_samples": 700}),
        "anytime/budget": Seeded(plane(8, 2, 0.3), "anytime", 2, {"max_samples": 300}),
    }


def seeded_runs() -> dict[str, Seeded]:
    """All of them by name."""
    runs = _anytime()
    for name, (strategy, options) in _MEANS.items():
        runs[f"{name}/plane"] = Seeded(plane(6, 2, 6.0), strategy, 2, options=options)
        runs[f"{name}/line"] = Seeded(line(5, 2, 6.0), strategy, 2, options=options, seed=1)
    for name, (strategy, options) in _KERNEL.items():
        runs[f"{name}/plane"] = Seeded(plane(6, 2, 6.0), strategy, 2, options=options)
        runs[f"{name}/spreads"] = Seeded(spreads(6), strategy, 2, {"max_samples": 9_000}, options, seed=1)
    runs |= {
        "boc-elim/line": Seeded(line(5, 2, 6.0), "boc-elim", 2),
        "tas-fw/symbols": Seeded(symbols(5), "tas-fw", 2, options={"alphabet": 3}),
        "tas-fw/symbols, other seed": Seeded(symbols(4), "tas-fw", 2, options={"alphabet": 3}, seed=1),
        "bandit-clustering/plane": Seeded(plane(6, 2, 6.0), "bandit-clustering", 2, options={"seed": 3}),
        "bandit-clustering/line": Seeded(line(5, 2, 6.0), "bandit-clustering", 2, options={"seed": 3}, seed=1),
        "kabc/fixed kernel": Seeded(line(5, 2, 4.0), "kabc", 2, {"kernel": kabc.Gaussian(bandwidth=1.0)}),
        "kabc/switches": Seeded(line(5, 2, 4.0), "kabc", 2, options={"keep_samples": True, "spending": "full"}),
        "kabc/representatives": Seeded(line(9, 3, 5.0), "kabc-tight", 3, options={"comparisons": "representatives"}),
        "kabc/contradicted": Seeded(line(6, 3, 6.0), "kabc-tight", 2),
        "kabc/budget": Seeded(line(5, 2, 0.1), "kabc", 2, {"max_samples": 3_000}),
        "cluster/K unknown": Seeded(line(5, 2, 6.0), "kabc", None, {"max_samples": 6_000}),
        "tolerance/quantiles": Seeded(line(5, 2, 3.0), "tolerance", None, {"tolerance": {"p50": 2, "p90": 3}}),
        "cluster/separation": Seeded(line(4, 2, 6.0), "kabc", None, {"min_separation": 1.2, "max_samples": None}),
    }
    return runs


def outcome(result: kabc.Result) -> dict[str, Any]:
    """What must not change: samples, evidence and labels."""
    evidence = result.evidence
    upper = np.triu_indices(len(result.names), 1)
    pairs = {
        "told_in_round": evidence.told_in_round[upper].tolist(),
        "strength": [_shown(value) for value in np.broadcast_to(evidence.strength, (len(result.names),) * 2)[upper]],
    }
    return {
        "status": result.status,
        "labels": list(result.labels),
        "n_groups_at_least": result.n_groups_at_least,
        "samples_per_arm": list(result.samples_per_arm.values()),
        "n_pilot": result.n_pilot,
        "n_rounds": len(result.rounds),
        "counts": evidence.counts.tolist(),
        "first_samples": [_shown(float(rows.ravel()[0])) for rows in result.samples.values()],
        "pairs": pairs,
    }


def _shown(value: float) -> float | None:
    """Nine digits: other processors add in another order."""
    return float(f"{value:.9g}") if np.isfinite(value) else None


def main() -> None:
    """Record them all."""
    found = {}
    for name, one in seeded_runs().items():
        found[name] = outcome(one.result())
        print(f"{name}: {found[name]['status']}, {sum(found[name]['samples_per_arm'])} samples", flush=True)
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    main()
