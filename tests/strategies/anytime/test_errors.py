"""Anytime KABC: where its delta goes in whole runs, in numbers that are worked out here once more.

Half of delta is for the core and half for the arms outside it; if there are none outside, the core has all of it. Of
what the core has, claims get 3/4 and pairs 1/4. Each wider core gets half of what the core before it got.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kabc import AnytimeKABC, Evidence
from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import Levels, Ranks, Scaled
from kabc.strategies.anytime import wealth
from kabc.strategies.anytime.claims import Claim
from tests.strategies.anytime.playing import Draw, answer, at

DELTA = 0.05


def play(strategy: AnytimeKABC, draw: Draw, seed: int = 0, until: Callable[[], bool] = lambda: False) -> AnytimeKABC:
    rng = np.random.default_rng(seed)
    while not (strategy.stopped or until()):
        strategy.tell(answer(strategy, draw, rng))
    return strategy


def thresholds(seen: Evidence, some: list[int], others: list[int]) -> set[float]:
    """Different log thresholds of these arms with those, an arm with itself left out."""
    found = [seen.log_threshold[i, j] for i in some for j in others if i != j]
    return {round(value, 9) for value in found}


def log(number: float) -> float:
    return round(math.log(number), 9)


# ---------------------------------------------------------------- pairs


def test_pairs_of_few_arms_share_8_percent_of_delta() -> None:
    arms = list(range(6))
    assert thresholds(AnytimeKABC(6, 2, DELTA).evidence(), arms, arms) == {log(15 / (0.08 * DELTA))}


def test_without_k_there_are_no_claims_and_pairs_share_all_of_delta() -> None:
    arms = list(range(6))
    assert thresholds(AnytimeKABC(6, None, DELTA).evidence(), arms, arms) == {log(15 / DELTA)}


def test_pairs_of_a_core_share_8_percent_of_the_half_that_the_core_has() -> None:
    strategy = AnytimeKABC(60, 2, DELTA)
    core = list(strategy.ask())
    assert len(core) == 24
    # the first core has half of what all cores have
    assert thresholds(strategy.evidence(), core, core) == {log(math.comb(24, 2) / (0.08 * DELTA / 2 / 2))}


def test_pairs_of_a_wider_core_have_half_of_the_share_of_the_one_before() -> None:
    strategy = AnytimeKABC(60, 2, DELTA, maps=[Scaled()])
    first = list(strategy.ask())
    late = next(arm for arm in range(60) if arm not in first)
    play(
        strategy,
        lambda rng, arm, n: rng.normal(9.0 * (arm == late), 1.0, (n, 1)),
        until=lambda: strategy._found.core.stage > 1,
    )
    core = strategy._found.core.arms.tolist()
    others = [arm for arm in core if arm not in first]
    assert late in others  # it was looked for
    before, now = log(math.comb(24, 2) / (0.08 * DELTA / 4)), log(math.comb(len(core), 2) / (0.08 * DELTA / 8))
    assert thresholds(strategy.evidence(), first, first) == {before}
    assert thresholds(strategy.evidence(), others, core) == {now}


def test_arms_outside_share_the_other_half_one_event_for_each_arm() -> None:
    strategy = AnytimeKABC(60, 2, DELTA, maps=[Scaled()])
    core = list(strategy.ask())
    outside = [arm for arm in range(60) if arm not in core]
    play(strategy, at([0.0, 6.0]))
    seen = strategy.evidence()
    compared = np.isfinite(seen.log_threshold[outside])  # (36, 60)
    representatives = np.flatnonzero(compared.any(axis=0)).tolist()
    assert len(representatives) == 2
    assert set(representatives) <= set(core)
    assert thresholds(seen, outside, representatives) == {log(36 / (DELTA / 2))}
    # decided: each of them is told apart from all representatives but one
    assert strategy.status == "decided"
    assert seen.told_apart[np.ix_(outside, representatives)].sum(axis=1).tolist() == [1] * 36


def test_evidence_is_the_largest_product_of_all_factors_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[Array] = []
    mixed = wealth.mixed

    def heard(log_factors: Array, gains: Array) -> Array:
        factors.append(mixed(log_factors, gains))
        return factors[-1]

    monkeypatch.setattr(wealth, "mixed", heard)
    strategy = AnytimeKABC(4, None, DELTA, maps=[Scaled()])  # without K all arms are drawn in every round
    play(strategy, at([0.0, 1.0]), until=lambda: len(strategy.rounds) == 8)
    won = np.cumsum(factors, axis=0)  # (rounds, N (N - 1) / 2), pairs in an order of their own
    best = np.maximum(won.max(axis=0), 0.0)
    seen = strategy.evidence().log_evidence
    assert np.sort(seen[np.triu_indices(4, 1)]) == pytest.approx(np.sort(best))
    assert np.array_equal(seen, seen.T)
    assert (won[-1] < best - 0.1).any()  # some bets were lost
    assert best.max() > 1.0  # and some were won


# ---------------------------------------------------------------- claims


class Ledger:
    """All claims that are made, with what is bet on them, kept a second time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.claims: list[Claim] = []
        self.joined: list[Array] = []  # (N, K) of each claim, log evidence
        self.best_joined: list[Array] = []
        make, bet = Claim.__init__, Claim.bet

        def making(claim: Claim, labels: Index, *rest: Any) -> None:
            make(claim, labels, *rest)
            self.claims.append(claim)
            self.joined.append(np.zeros((len(labels), int(labels.max()) + 1)))
            self.best_joined.append(self.joined[-1])

        def betting(claim: Claim, arms: Index, joins: Array, pairs: Array) -> None:
            bet(claim, arms, joins, pairs)
            if claim in self.claims:
                number = self.claims.index(claim)
                self.joined[number] = self.joined[number].copy()
                self.joined[number][arms] += joins
                self.best_joined[number] = np.maximum(self.best_joined[number], self.joined[number])

        monkeypatch.setattr(Claim, "__init__", making)
        monkeypatch.setattr(Claim, "bet", betting)


def test_a_claim_needs_evidence_of_one_over_its_weight_and_92_percent_of_delta(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_claims = []
    for seed in range(4):
        ledger = Ledger(monkeypatch)
        seen = play(AnytimeKABC(6, 2, DELTA, maps=[Scaled()]), at([0.0, 1.5]), seed).evidence()
        limits, held = [], 1.0
        for claim in ledger.claims:
            limits.append(log(1.5 / held / (0.92 * DELTA)))
            held *= (1 + 2 * min(1.0, claim.worth)) / 3
        assert [round(claim.limit, 9) for claim in ledger.claims] == limits
        used = {round(value, 9) for value in seen.log_threshold[seen.told_apart]}
        assert used <= {limits[-1], log(15 / (0.08 * DELTA))}
        n_claims.append(len(limits))
    assert 1 < max(n_claims) <= 4


def test_claims_of_a_core_have_92_percent_of_the_half_that_the_core_has(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(monkeypatch)
    strategy = AnytimeKABC(60, 2, DELTA, maps=[Scaled()])
    play(strategy, at([0.0, 6.0]), until=lambda: bool(ledger.claims))
    assert ledger.claims[0].limit == pytest.approx(math.log(1.5 / (0.92 * DELTA / 2)))


def test_a_claim_is_accepted_when_each_arm_is_refuted_for_each_other_group(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(monkeypatch)
    strategy = play(AnytimeKABC(6, 2, DELTA, maps=[Scaled()]), at([0.0, 3.0]))
    assert strategy.status == "decided"
    claim, best = ledger.claims[-1], ledger.best_joined[-1]
    assert np.array_equal(claim.labels[:, None] != claim.labels, strategy.evidence().told_apart)
    foreign = claim.labels[:, None] != np.arange(2)
    by_pairs = strategy.evidence().log_threshold > claim.limit + 1e-9  # told apart without the claim
    refuted = (by_pairs & strategy.evidence().told_apart).any(axis=1)
    assert ((best[foreign] >= claim.limit) | refuted).all()


DICE = np.array([0.0, 1.0, 5.0])  # equally likely


@pytest.mark.parametrize("seed", [0, 1])
def test_over_all_outcomes_of_a_round_no_claim_gains_on_average_from_equal_arms(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was seen before: for arms that are all the same, the mean factor of a claim is at most 1."""
    ledger = Ledger(monkeypatch)
    strategy = AnytimeKABC(4, 2, 0.001, maps=[Scaled(), Ranks(), Levels()])

    def past(rng: np.random.Generator, arm: int, n: int) -> Array:
        return rng.choice(DICE, (n, 1)) + 1.0 * (arm % 2)

    play(strategy, past, seed, until=lambda: bool(ledger.claims))
    request = strategy.ask()
    assert set(request.values()) == {1}
    bets: list[tuple[Array, Array]] = []
    bet = Claim.bet

    def heard(claim: Claim, arms: Index, joins: Array, pairs: Array) -> None:
        bets.append((np.exp(joins), np.exp(pairs)))
        bet(claim, arms, joins, pairs)

    monkeypatch.setattr(Claim, "bet", heard)
    for values in itertools.product(DICE, repeat=len(request)):
        copy.deepcopy(strategy).tell({arm: [[value]] for arm, value in zip(request, values, strict=True)})
    joins, pairs = (np.mean(each, axis=0) for each in zip(*bets, strict=True))
    assert len(bets) == 3 ** len(request)
    assert (joins <= 1 + 1e-9).all()
    assert (pairs <= 1 + 1e-9).all()
    assert any(np.ptp(factors) > 0 for factors, _ in bets)  # something was bet
