"""Results of all kinds, made when they are first asked for; and small ones made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

import kabc
from kabc import Evidence, Result
from kabc.strategies.answers import Guarantee


def normal(mean: float) -> Any:
    return lambda n, rng: rng.normal(mean, 1, n)


def arms() -> dict[str, Any]:
    return {"a": normal(0), "b": normal(9), "c": normal(0)}


def words() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"a": rng.choice(["x", "y", "z"], (4000, 2)), "b": rng.choice(["u", "v"], (4000, 2))}


EXAMPLES: dict[str, Callable[[], Result]] = {
    "bets": lambda: kabc.cluster(arms(), 2, seed=0),
    "thresholds": lambda: kabc.cluster(arms(), 2, seed=0, strategy="kabc"),
    "undecided": lambda: kabc.cluster({1: normal(0), (2, 3): normal(0.7), None: normal(9)}, 3, seed=0, max_samples=90),
    "nothing drawn": lambda: kabc.cluster(arms(), 2, seed=0, kernel=kabc.Gaussian(1.0), max_samples=1),
    "words": lambda: kabc.cluster(words(), 2, seed=0, kernel=kabc.Hamming()),
    "many arms": lambda: kabc.cluster([normal(9 * (i == 7)) for i in range(60)], 2, seed=0),
    "a core": lambda: kabc.cluster([normal(3 * (i % 2)) for i in range(60)], 2, seed=0, max_samples=700),
}


@cache
def example(name: str) -> Result:
    return EXAMPLES[name]()


def answer(groups: str, decided: bool = True, told: str = "") -> Result:
    """A result with these groups ("ab|c"); `told` are the pairs told apart ("ac bc")."""
    names = tuple(sorted(groups.replace("|", "")))
    labels = kabc.Partition.of(next(i for i, group in enumerate(groups.split("|")) if x in group) for x in names).labels
    n = len(names)
    told_in_round = np.zeros((n, n), dtype=np.int64)
    for pair in told.split():
        i, j = names.index(pair[0]), names.index(pair[1])
        told_in_round[i, j] = told_in_round[j, i] = 1
    evidence = dataclasses.replace(Evidence.none(n).dense(), told=told_in_round)
    why = Guarantee("test", "claim", (), ())
    status: Any = "decided" if decided else "budget"
    return Result(names, labels, status, evidence, dict.fromkeys(names, 5), (), why, 0.05, None, 1, "", 0)


def renamed(result: Result, names: Sequence[Hashable]) -> Result:
    """The same result of arms with other names."""
    new = dict(zip(result.names, names, strict=True))
    return dataclasses.replace(
        result,
        names=tuple(names),
        samples_per_arm={new[name]: count for name, count in result.samples_per_arm.items()},
        samples={new[name]: rows for name, rows in result.samples.items()},
    )
