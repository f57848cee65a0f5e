"""Bets of a round: each pair and each arm against a group, by the formulas, one sample at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.arrays import Index
from kabc.core.evidence import blocks
from kabc.core.evidence.blocks import Block

Array = NDArray[np.float64]
BASE = 2
MANY = [1, 3, 1, 1, 3, 1]  # arms 1 and 4 are representatives: three samples for each of another arm
GROUPS = [0, 1, 2, 0, 2, -1]  # as the expert sees them; arm 5 has none yet
CORE = [4, 0, 1, 5]  # partners


def block(cap: float, seed: int = 0) -> Block:
    counts = BASE * np.array(MANY)
    scores = np.random.default_rng(seed).normal(0, 2, (int(counts.sum()), 3))
    return alone(scores, np.array(GROUPS), np.concatenate([[0], np.cumsum(counts)]), cap)


def alone(scores: Array, groups: Index, starts: Index, cap: float) -> Block:  # (n, G), (A,), (A + 1,)
    """One expert."""
    return Block(scores[None], groups[None], starts, BASE, caps=(cap,))


def matched(one: Block, arm: int) -> Array:  # (b, m, G)
    """Samples of an arm, in the b parts that are matched with a sample of another arm each."""
    rows = one.scores[0, one.starts[arm] : one.starts[arm + 1]]
    return rows.reshape(BASE, MANY[arm], -1)


def score(sample: Array, own: int, other: int, cap: float) -> float:  # (G,)
    return min(cap, max(-cap, float(sample[own] - sample[other])))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def factor(one: Block, i: int, j: int) -> float:
    """Log factor of a pair, l = u_g - u_h for arm i of group g and arm j of group h, by the formulas of the theory."""
    g, h = GROUPS[i], GROUPS[j]
    if -1 in (g, h) or (MANY[i] > 1 and MANY[j] > 1):
        return 0.0
    if MANY[i] > 1:  # a pair has one evidence: the representative is always the one of many
        return factor(one, j, i)
    total = 0.0
    for x, ys in zip(matched(one, i)[:, 0], matched(one, j), strict=True):
        at_x, at_ys = score(x, g, h, one.caps[0]), [score(y, g, h, one.caps[0]) for y in ys]
        if len(ys) == 1:
            total += math.log(2 * sigmoid(at_x) * 2 * sigmoid(-at_ys[0]))
        else:
            parts = [math.exp(value) for value in (at_x, *at_ys)]
            total += math.log(len(parts) * parts[0] / sum(parts))
    return total


@pytest.mark.parametrize("cap", [math.inf, 1.0])
def test_factors_of_pairs_are_those_of_the_formulas(cap: float) -> None:
    one = block(cap)
    seen = one.pairs(np.array(CORE))[..., 0]
    for i in range(len(MANY)):
        for column, j in enumerate(CORE):
            if i != j:
                assert seen[i, column] == pytest.approx(factor(one, i, j), abs=1e-12), (i, j)


def test_a_pair_has_one_evidence_seen_from_either_side() -> None:
    seen = block(math.inf).pairs(np.arange(len(MANY)))[..., 0]
    off = ~np.eye(len(MANY), dtype=np.bool_)
    assert seen[off] == pytest.approx(seen.T[off])


@pytest.mark.parametrize("cap", [math.inf, 1.0])
def test_factors_of_an_arm_against_a_group_are_those_of_the_formula(cap: float) -> None:
    """One sample of the arm against one of each member, l = u_own - u_group for all of them."""
    counts, claimed, columns = np.full(6, BASE), np.array([0, 1, 1, 0, 2, 2]), [1, 0, 2]
    scores = np.random.default_rng(1).normal(0, 2, (6 * BASE, 3))
    # the expert numbers the groups differently, and sees arm 5 elsewhere: most arms of a claimed group decide
    groups = np.array([columns[group] for group in claimed])
    groups[5] = -1
    seen = alone(scores, groups, np.concatenate([[0], np.cumsum(counts)]), cap).joins(claimed, 3)[..., 0]
    samples = scores.reshape(6, BASE, 3)
    for arm in range(6):
        for group in range(3):
            own, other, total = columns[claimed[arm]], columns[group], 0.0
            for place in range(BASE):
                members = samples[claimed == group, place]
                parts = [math.exp(score(row, own, other, cap)) for row in (samples[arm, place], *members)]
                total += math.log(len(parts) * parts[0] / sum(parts))
            assert seen[arm, group] == pytest.approx(0.0 if group == claimed[arm] else total, abs=1e-12)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("at_once", [1, 40, 1 << 16])
def test_experts_together_bet_as_each_of_them_alone(
    paired: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_AT_ONCE", at_once)
    rng, scales, caps = np.random.default_rng(5), (0.5, 1.0), (1.5, math.inf)
    scores, groups = rng.normal(0, 2, (7, 5 * BASE, 4)), rng.integers(-1, 4, (7, 5))
    starts, claimed, partners = np.arange(6) * BASE, np.array([0, 1, 0, 2, 1]), np.array([3, 0, 4])
    together = Block(scores, groups, starts, BASE, scales, caps, paired)
    pairs, joins = together.pairs(partners), together.joins(claimed, 3)
    assert together.n_experts == pairs.shape[2] == joins.shape[2] == 14
    for expert in range(14):
        scorer, at = divmod(expert, 2)
        one = Block(
            scales[at] * scores[[scorer]], groups[[scorer]], starts, BASE, caps=caps[at : at + 1], paired=paired
        )
        np.testing.assert_allclose(pairs[..., expert], one.pairs(partners)[..., 0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(joins[..., expert], one.joins(claimed, 3)[..., 0], rtol=0, atol=1e-12)


def test_groups_that_a_scorer_does_not_have_change_nothing() -> None:
    rng = np.random.default_rng(6)
    scores, groups = rng.normal(0, 2, (1, 4 * BASE, 2)), np.array([[0, 1, 0, 1]])
    starts, claimed = np.arange(5) * BASE, np.array([0, 1, 1, 0])
    wide = np.concatenate([scores, rng.normal(0, 9, (1, 4 * BASE, 3))], axis=2)
    one, other = Block(scores, groups, starts, BASE), Block(wide, groups, starts, BASE)
    assert np.array_equal(one.pairs(np.arange(4)), other.pairs(np.arange(4)))
    assert np.array_equal(one.joins(claimed, 2), other.joins(claimed, 2))


def test_an_arm_without_a_claimed_group_is_in_none() -> None:
    rng = np.random.default_rng(7)
    scores, groups = rng.normal(0, 2, (1, 4 * BASE, 2)), np.array([[0, 1, 0, 1]])
    whole = Block(scores, groups, np.arange(5) * BASE, BASE).joins(np.array([0, 1, 0, -1]), 2)
    without = Block(scores[:, : 3 * BASE], groups[:, :3], np.arange(4) * BASE, BASE).joins(np.array([0, 1, 0]), 2)
    np.testing.assert_allclose(whole[:3], without, rtol=0, atol=1e-12)


@pytest.mark.parametrize("paired", [False, True])
def test_pairs_place_by_place_are_those_of_the_table(paired: bool) -> None:
    many = block(1.5)  # has representatives
    rows = np.repeat(many.starts[:-1], BASE) + np.tile(np.arange(BASE), len(MANY))
    one = replace(many, scores=many.scores[:, rows], starts=np.arange(7) * BASE, paired=True) if paired else many
    first, second = np.triu_indices(len(MANY), 1)
    table = one.pairs(np.arange(len(MANY)))
    np.testing.assert_allclose(one.pairs(second, first), table[first, second], rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.pairs(first, second), table[first, second], rtol=0, atol=1e-12)
