"""The guarantee in words: what is claimed fits the status, and all numbers are those that were used."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc import AnytimeKABC
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime import check
from tests.strategies.anytime.playing import Draw, at, play

# ---------------------------------------------------------------- the claim


def test_a_decided_grouping_is_claimed_with_the_actual_numbers() -> None:
    strategy = play(AnytimeKABC(6, 3, 0.1, maps=[Scaled()]), at([0, 9, 18]))
    assert strategy.status == "decided"
    assert strategy.guarantee().claim == (
        "If there are exactly 3 groups, this grouping is wrong with probability at most 10 %, no matter when you look."
    )


def test_before_a_decision_only_pairs_are_claimed() -> None:
    assert AnytimeKABC(6, 3, 0.05).guarantee().claim == (
        "Every pair listed as different really differs: wrong with probability at most 5 %, no matter when you look."
    )


def test_without_k_pairs_are_claimed_without_a_condition() -> None:
    assert AnytimeKABC(6, None, 0.05).guarantee().claim == (
        "Every pair listed as different really differs: wrong with probability at most 5 %, no matter when you look."
    )


def test_a_contradiction_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_ROUNDS", 200)  # go on until it is proven
    strategy = play(AnytimeKABC(3, 2, 0.05, maps=[Scaled()]), at([0, 40, 80]), rounds=200)
    assert strategy.status == "contradicted"
    assert strategy.guarantee().claim == (
        "There are more than 2 groups: wrong with probability at most 5 %, no matter when you look."
    )


# ---------------------------------------------------------------- the rule


def printed_thresholds(strategy: AnytimeKABC) -> set[str]:
    rule = "\n".join(strategy.guarantee().rule)
    return set(re.findall(r"(?<== )[\d.,e+]*\d", rule))


def thresholds(strategy: AnytimeKABC) -> set[str]:
    found = strategy.evidence().log_threshold[~np.eye(strategy.n_arms, dtype=bool)]
    return {f"{value:,.6g}" for value in np.exp(found[np.isfinite(found)]).tolist()}


def late_group(rng: np.random.Generator, arm: int, n: int) -> NDArray[Any]:
    """One arm of sixty differs, and it is not among the first ones."""
    first = AnytimeKABC(60, 2, 0.05, maps=[Scaled()]).ask()
    return rng.normal(9.0 * (arm == min(set(range(60)) - set(first))), 1.0, (n, 1))


@pytest.mark.parametrize(
    ("n_arms", "n_clusters", "delta", "draw", "rounds"),
    [
        (6, 2, 0.05, at([0, 5]), 0),
        (6, 2, 0.05, at([0, 5]), 60),
        (7, 3, 0.1, at([0, 5, 10]), 60),
        (6, None, 0.05, at([0, 5]), 20),
        (60, 2, 0.05, at([0, 7]), 5),
        (60, 2, 0.05, at([0, 7]), 60),
        (60, 2, 0.05, late_group, 60),
    ],
)
def test_the_certificate_prints_the_thresholds_that_were_used(
    n_arms: int, n_clusters: int | None, delta: float, draw: Draw, rounds: int
) -> None:
    strategy = play(AnytimeKABC(n_arms, n_clusters, delta, maps=[Scaled()]), draw, rounds=rounds)
    assert thresholds(strategy) <= printed_thresholds(strategy)
    pairs = np.isfinite(strategy.evidence().log_evidence)
    assert pairs.any()


def test_without_k_all_of_delta_is_for_pairs_and_no_claim_is_spoken_of() -> None:
    strategy = play(AnytimeKABC(6, None, 0.05, maps=[Scaled()]), at([0, 5]), rounds=20)
    assert thresholds(strategy) == printed_thresholds(strategy) == {"300"}  # 15 pairs / 0.05
    said = strategy.guarantee()
    assert not [line for line in (said.claim, *said.rule) if "claim" in line or "K" in line or "first" in line]


def test_with_k_the_shares_of_delta_are_printed() -> None:
    rule = "\n".join(AnytimeKABC(6, 2, 0.05).guarantee().rule)
    assert "15 / 0.004 = 3,750" in rule
    assert "1 / (w x 0.046)" in rule
    many = "\n".join(AnytimeKABC(60, 2, 0.05).guarantee().rule)
    assert "276 / 0.001 = 276,000" in many  # 8 % of half of half of delta
    assert "1 / (w x 0.023)" in many
    assert "36 / 0.025 = 1,440" in many
