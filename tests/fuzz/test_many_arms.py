"""`anytime` with more arms than its core has. What is kept of thousands of arms is kept of a hundred here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.scores.maps import Custom, default_maps
from kabc.strategies.anytime import learning
from tests.fuzz.harness import Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.invariants import expect_whole


def groups_of(rng: np.random.Generator, n_arms: int, n_groups: int) -> Any:  # (N,)
    """Arms of groups of about the same size, or of one large group and single odd arms."""
    if rng.random() < 0.7:
        return rng.integers(0, n_groups, n_arms)
    return np.minimum(np.arange(n_arms), n_groups - 1)


def one_case(rng: np.random.Generator) -> Ended:
    """Groups that are clear or close, as many as said, one more or one fewer; a third of the cases has pools."""
    n_arms, n_groups, columns = int(rng.integers(40, 160)), int(rng.integers(1, 7)), int(rng.choice([1, 1, 2, 3, 14]))
    law, gap, pools = int(rng.integers(5)), float(rng.choice([0.5, 1.5, 4.0, 20.0])), rng.random() < 0.35

    def values(group: int, n: int, random: np.random.Generator) -> Any:
        size = (n, columns)
        match law:
            case 0:
                return random.normal(gap * group, 1.0, size)
            case 1:
                return random.binomial(4, min(0.9, 0.1 + 0.1 * group * min(gap, 2.0)), size).astype(float)
            case 2:
                return random.standard_cauchy(size) + gap * group
            case 3:
                return np.full(size, float(group))
            case _:
                return random.normal(0.0, 1.0 + gap * group, size)

    def arm(group: int) -> Any:
        if pools:
            return values(group, int(rng.integers(1, 60)), rng)
        return lambda n, random: values(group, n, random)

    given: dict[str, Any] = {
        "n_clusters": max(2, n_groups + int(rng.integers(-1, 2))),
        "delta": float(rng.choice([0.05, 0.3, 1.0])),
        "max_samples": int(rng.choice([300, 3_000, 6_000])),
        "seed": int(rng.integers(2**32)),
        "block": 2 if rng.random() < 0.15 else 1,
        "strategy_options": {"check_k": bool(rng.random() < 0.8)},
    }
    if rng.random() < 0.15:
        given["strategy_options"]["maps"] = [*default_maps(columns), Custom(np.cos)]
    arms = [arm(group) for group in groups_of(rng, n_arms, n_groups).tolist()]
    try:
        result = kabc.cluster(arms, progress=False, **given)
    except kabc.KabcError as error:
        raise AssertionError(f"nothing is wrong with {given}") from error
    expect_whole(result, most=given["max_samples"], strategy="anytime", report=bool(rng.random() < 0.05))
    return "answered"


@every_part
@pytest.mark.timeout(1800)
def test_every_run_with_many_arms_ends_in_a_whole_answer(
    part: int, record_property: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "_MANY", 30)
    expect_sound(fuzzed("many arms", 1000, one_case, part), 0.9, record_property)
