"""Claims: what must be refuted so that no other partition is left, and when it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.strategies.anytime.claims import Claim, renamed
from kabc.strategies.anytime.shares import STAKE, ErrorShares

Labels = tuple[int, ...]


def partitions(n_arms: int, most: int) -> Iterator[Labels]:
    """All partitions into at most so many groups, groups numbered by first appearance."""

    def grow(labels: Labels) -> Iterator[Labels]:
        if len(labels) == n_arms:
            yield labels
            return
        for group in range(min(max(labels, default=-1) + 2, most)):
            yield from grow((*labels, group))

    return grow(())


def whole_joins(claimed: Labels, other: Labels) -> list[tuple[int, int]]:
    """(i, h): the other partition has arm i together with all arms of a foreign group h of the claim."""
    arms = range(len(claimed))
    return [
        (i, h)
        for i in arms
        for h in set(claimed) - {claimed[i]}
        if all(other[j] == other[i] for j in arms if claimed[j] == h)
    ]


def crossing(claimed: Labels, other: Labels) -> list[tuple[int, int]]:
    pairs = itertools.combinations(range(len(claimed)), 2)
    return [(i, j) for i, j in pairs if claimed[i] != claimed[j] and other[i] == other[j]]


@pytest.mark.parametrize("n_arms", [2, 3, 4, 5, 6])
def test_every_other_partition_joins_an_arm_with_a_whole_group_or_two_disjoint_pairs(n_arms: int) -> None:
    for K in range(1, n_arms + 1):
        every = list(partitions(n_arms, K))
        for claimed in (each for each in every if len(set(each)) == K):
            sizes = np.bincount(claimed)
            for other in every:
                if other == claimed or whole_joins(claimed, other):
                    continue
                pairs = crossing(claimed, other)
                assert any(not set(a) & set(b) for a, b in itertools.combinations(pairs, 2))
                assert all(sizes[claimed[i]] > 1 for pair in pairs for i in pair)


class Bettor:
    """What Proposition 12.2 bets if some partition is the true one, in plain loops."""

    def __init__(self, truth: Labels) -> None:
        self.truth, self.capital = truth, 1.0

    def hears_of(self, claimed: Labels, limit: float) -> None:
        whole, pairs = whole_joins(claimed, self.truth), crossing(claimed, self.truth)
        disjoint = [list(two) for two in itertools.combinations(pairs, 2) if not set(two[0]) & set(two[1])]
        self.on_joins = whole[:1] if claimed != self.truth else []
        self.on_pairs = disjoint[0] if claimed != self.truth and not whole else []
        self.logs = [0.0] * len(self.on_joins + self.on_pairs)
        self.limits = [limit] * len(self.on_joins) + [limit / 2] * len(self.on_pairs)

    def bets(self, joins: NDArray[np.float64], pairs: NDArray[np.float64]) -> None:
        factors = [joins[one] for one in self.on_joins] + [pairs[one] for one in self.on_pairs]
        for number, factor in enumerate(factors):
            if self.logs[number] < self.limits[number]:
                self.logs[number] += factor

    @property
    def worth(self) -> float:
        return self.capital * (1 - STAKE + STAKE * float(np.exp(sum(self.logs)))) if self.logs else self.capital


@pytest.mark.parametrize(("n_arms", "K"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3)])
def test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven(
    n_arms: int, K: int
) -> None:
    rng, shares = np.random.default_rng(10 * n_arms + K), ErrorShares(0.9, n_arms, K)
    every = list(partitions(n_arms, K))
    claims = [each for each in every if len(set(each)) == K]
    arms, nothing = np.arange(n_arms), np.zeros((n_arms, n_arms), dtype=np.bool_)
    n_proven, closest = 0, np.inf
    for _ in range(30):
        held, bettors = 1.0, [Bettor(truth) for truth in every]
        for _ in range(5):
            claimed = claims[rng.integers(len(claims))]
            limit = shares.claim_limit(held, n_arms)
            claim = Claim(np.array(claimed), limit, 0)
            for bettor in bettors:
                bettor.hears_of(claimed, limit)
            for _ in range(rng.integers(1, 8)):
                joins, pairs = rng.normal(0.3, 0.7, (n_arms, K)), rng.normal(0.3, 0.7, (n_arms, n_arms))
                pairs = np.triu(pairs) + np.triu(pairs).T
                claim.bet(arms, joins, pairs)
                for bettor in bettors:
                    bettor.bets(joins, pairs)
                if claim.proven(nothing):
                    n_proven += 1
                    others = [bettor.worth for bettor in bettors if bettor.truth != claimed]
                    assert min(others) >= (1 - 1e-9) / shares.claims(n_arms)
            held = shares.held_after(held, claim.worth)
            for bettor in bettors:
                bettor.capital = bettor.worth
            least = min(bettor.capital for bettor in bettors)
            assert least >= held * (1 - 1e-9)
            closest = min(closest, least / held)
    assert n_proven > 5
    assert closest == pytest.approx(1)  # nothing smaller would do


def test_the_lemma_needs_at_most_k_groups() -> None:
    claimed, other = (0, 0, 1, 1), (0, 1, 1, 2)  # three groups against two: one crossing pair is all there is
    assert not whole_joins(claimed, other)
    assert len(crossing(claimed, other)) == 1


def settled(claim: Claim, n_arms: int, joins: float, pairs: float) -> bool:
    claim.bet(np.arange(n_arms), np.full((n_arms, 2), joins), np.full((n_arms, n_arms), pairs))
    return claim.proven(np.zeros((n_arms, n_arms), dtype=np.bool_))


LIMIT = 3.0


def new(labels: list[int]) -> Claim:
    return Claim(np.array(labels, dtype=np.intp), LIMIT, 0)


def test_a_claim_is_proven_at_its_limit_and_not_before() -> None:
    assert settled(new([0, 0, 1, 1]), 4, LIMIT, LIMIT / 2)
    assert not settled(new([0, 0, 1, 1]), 4, LIMIT - 1e-9, LIMIT / 2)
    assert not settled(new([0, 0, 1, 1]), 4, LIMIT, LIMIT / 2 - 1e-9)


def test_pairs_with_an_arm_alone_in_its_group_are_settled_by_joins() -> None:
    assert settled(new([0, 0, 0, 1]), 4, LIMIT, 0.0)


def test_evidence_once_reached_is_kept() -> None:
    claim = new([0, 0, 1, 1])
    nothing = np.zeros((4, 4), dtype=np.bool_)
    claim.bet(np.arange(4), np.full((4, 2), 10.0), np.full((4, 4), 10.0))
    claim.bet(np.arange(4), np.full((4, 2), -50.0), np.full((4, 4), -50.0))
    assert claim.proven(nothing)
    assert not len(claim.wanted(nothing))


@pytest.mark.parametrize("lost", ["joins", "pairs"])
def test_what_was_lost_must_be_won_back(lost: str) -> None:
    n = 4
    joins, pairs = np.full((n, 2), LIMIT), np.full((n, n), LIMIT)
    claim, nothing = new([0, 0, 1, 1]), np.zeros((n, n), dtype=np.bool_)
    claim.bet(np.arange(n), -5.0 * (lost == "joins") + 0 * joins, -5.0 * (lost == "pairs") + 0 * pairs)
    claim.bet(np.arange(n), joins, pairs)
    assert not claim.proven(nothing)
    claim.bet(np.arange(n), np.full((n, 2), 5.0), np.full((n, n), 5.0))
    assert claim.proven(nothing)


def test_pairs_told_apart_settle_what_they_refute() -> None:
    claim = new([0, 0, 1, 1])
    told = np.zeros((4, 4), dtype=np.bool_)
    told[0, 2] = told[2, 0] = True
    assert claim.open_joins(told).tolist() == [[False, False], [False, True], [False, False], [True, False]]
    assert not claim.open_pairs(told)[0, 2]
    assert claim.open_pairs(told)[1, 3]
    told[:2, 2:] = told[2:, :2] = True
    assert claim.proven(told)


def test_arms_with_open_questions_are_wanted_with_arms_to_hold_them_against() -> None:
    claim = new([0, 0, 0, 1, 1, 1])
    joins: NDArray[np.float64] = np.full((6, 2), 10.0)
    joins[0, 1] = 0.0  # arm 0 may still be in group 1
    claim.bet(np.arange(6), joins, np.full((6, 6), 10.0))
    assert claim.wanted(np.zeros((6, 6), dtype=np.bool_)).tolist() == [0, 3]


def test_dry_arms_are_never_wanted_whatever_is_open() -> None:
    claim, nothing = new([0, 0, 1, 1]), np.zeros((4, 4), dtype=np.bool_)
    assert claim.wanted(nothing).tolist() == [0, 1, 2, 3]
    assert claim.wanted(nothing, np.arange(4) == 2).tolist() == [0, 1, 3]


def test_arms_outside_are_not_spoken_of() -> None:
    claim = new([0, -1, 1, -1])
    nothing = np.zeros((2, 2), dtype=np.bool_)
    assert claim.wanted(nothing).tolist() == [0, 2]
    claim.bet(np.array([0, 2]), np.full((2, 2), 10.0), np.full((2, 2), 10.0))
    assert claim.proven(nothing)


def test_groups_keep_their_numbers_when_most_of_their_arms_stay() -> None:
    before = np.array([0, 0, 1, 1, 2, -1])
    assert renamed(np.array([2, 2, 0, 0, 1, -1]), before, 3).tolist() == before.tolist()
    assert renamed(np.array([1, 1, 1, 2, 0, -1]), before, 3).tolist() == [0, 0, 0, 1, 2, -1]
