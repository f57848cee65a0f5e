"""What each switch of KABC saves: total samples and wrong answers, on the same instances and seeds.

    python benchmarks/switches.py [--seeds 10] [--delta 0.05] [--json]

Every row adds one switch to the row above it. The last row is `KABC.tight`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]
Instance = tuple[tuple[int, ...], list[Draw], kabc.Kernel]


def scales() -> Instance:
    """Two normal laws in the plane with equal means and different variances (the thesis's instance, V = 9)."""
    laws: list[Draw] = [lambda n, rng: rng.normal(size=(n, 2)), lambda n, rng: rng.normal(0, 3, (n, 2))]
    return (0, 1, 0, 1, 1, 0), laws, kabc.Gaussian(bandwidth=2.0)


def shapes() -> Instance:
    """Normal, two-point and uniform laws on a line: equal means and variances."""
    laws: list[Draw] = [
        lambda n, rng: rng.normal(size=n),
        lambda n, rng: rng.choice([-1.0, 1.0], n) * np.sqrt(1 - 0.01) + rng.normal(0, 0.1, n),
        lambda n, rng: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
    ]
    return (0, 1, 2, 0, 1, 2), laws, kabc.Gaussian(bandwidth=0.5)


def rings() -> Instance:
    """Two rings and a blob around one centre in the plane."""

    def ring(radius: float) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> Array:
            angle = rng.uniform(0, 2 * np.pi, n)
            return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.1, (n, 2))

        return draw

    laws = [ring(1.0), ring(2.0), lambda n, rng: rng.normal(0, 0.5, (n, 2))]
    return (0, 1, 2, 0, 1, 2), laws, kabc.Gaussian(bandwidth=0.5)


def means() -> Instance:
    """Four normal laws in ten dimensions with means 3 e_k."""

    def law(k: int) -> Draw:
        return lambda n, rng: rng.normal(size=(n, 10)) + 3 * np.eye(10)[k]

    laws = [law(k) for k in range(4)]
    return (0, 1, 2, 3, 0, 1, 2, 3), laws, kabc.Gaussian(bandwidth=3.0)


INSTANCES = {"scales": scales, "shapes": shapes, "rings": rings, "means": means}
SWITCHES: list[tuple[str, dict[str, Any]]] = [
    ("published", {}),
    ("+ keep_samples", {"keep_samples": True}),
    ("+ union over arms", {"union": "arms"}),
    ("+ skip_hopeless", {"skip_hopeless": True}),
    ("+ full spending", {"spending": "full"}),
    ("+ growth 1.25", {"growth": 1.25}),
    ("+ tightest threshold", {"threshold": "tightest"}),
]


def run(instance: Instance, delta: float, settings: dict[str, Any], seed: int) -> tuple[int, bool]:
    labels, laws, kernel = instance
    strategy = kabc.KABC(len(labels), len(laws), delta, kernel, **settings)
    rng = np.random.default_rng(seed)
    while not strategy.stopped:
        strategy.tell({arm: laws[labels[arm]](n, rng) for arm, n in strategy.ask().items()})
    return strategy.n_samples, strategy.recommend().matches(kabc.Partition(labels))


def table(seeds: int, delta: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    settings: dict[str, Any] = {}
    base: dict[str, float] = {}
    for label, switch in SWITCHES:
        settings = settings | switch
        row: dict[str, Any] = {"settings": label, "wrong": 0, "runs": seeds * len(INSTANCES)}
        for name, make in INSTANCES.items():
            runs = [run(make(), delta, settings, seed) for seed in range(seeds)]
            row[name] = float(np.mean([samples for samples, _ in runs]))
            row["wrong"] += sum(not right for _, right in runs)
        base = base or row
        row["fewer"] = float(np.median([base[name] / row[name] for name in INSTANCES]))
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = table(options.seeds, options.delta)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"mean total samples over {options.seeds} seeds, delta = {options.delta:g}")
    print(f"{'settings':<22}" + "".join(f"{name:>10}" for name in INSTANCES) + f"{'fewer by':>10}  wrong")
    for row in rows:
        figures = "".join(f"{row[name]:>10,.0f}" for name in INSTANCES)
        print(f"{row['settings']:<22}{figures}{row['fewer']:>9.1f}x  {row['wrong']} of {row['runs']}")


if __name__ == "__main__":
    main()
