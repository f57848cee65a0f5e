"""Bets of a round: each pair and each arm against a group, by the formulas, one sample at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.evidence.blocks import Block

Array = NDArray[np.float64]
BASE = 2
MANY = [1, 3, 1, 1, 3, 1]  # arms 1 and 4 are representatives: three samples for each of another arm
GROUPS = [0, 1, 2, 0, 2, -1]  # as the expert sees them; arm 5 has none yet
CORE = [4, 0, 1, 5]  # partners


def block(cap: float, seed: int = 0) -> Block:
    counts = BASE * np.array(MANY)
    scores = np.random.default_rng(seed).normal(0, 2, (int(counts.sum()), 3))
    return Block(scores, np.array(GROUPS), np.concatenate([[0], np.cumsum(counts)]), BASE, cap)


def matched(one: Block, arm: int) -> Array:  # (b, m, G)
    """Samples of an arm, in the b parts that are matched with a sample of another arm each."""
    rows = one.scores[one.starts[arm] : one.starts[arm + 1]]
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
        at_x, at_ys = score(x, g, h, one.cap), [score(y, g, h, one.cap) for y in ys]
        if len(ys) == 1:
            total += math.log(2 * sigmoid(at_x) * 2 * sigmoid(-at_ys[0]))
        else:
            parts = [math.exp(value) for value in (at_x, *at_ys)]
            total += math.log(len(parts) * parts[0] / sum(parts))
    return total


@pytest.mark.parametrize("cap", [math.inf, 1.0])
def test_factors_of_pairs_are_those_of_the_formulas(cap: float) -> None:
    one = block(cap)
    seen = one.pairs(np.array(CORE))
    for i in range(len(MANY)):
        for column, j in enumerate(CORE):
            if i != j:
                assert seen[i, column] == pytest.approx(factor(one, i, j), abs=1e-12), (i, j)


def test_a_pair_has_one_evidence_seen_from_either_side() -> None:
    seen = block(math.inf).pairs(np.arange(len(MANY)))
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
    one = Block(scores, groups, np.concatenate([[0], np.cumsum(counts)]), BASE, cap)
    seen = one.joins(claimed, 3)
    samples = scores.reshape(6, BASE, 3)
    for arm in range(6):
        for group in range(3):
            own, other, total = columns[claimed[arm]], columns[group], 0.0
            for place in range(BASE):
                members = samples[claimed == group, place]
                parts = [math.exp(score(row, own, other, cap)) for row in (samples[arm, place], *members)]
                total += math.log(len(parts) * parts[0] / sum(parts))
            assert seen[arm, group] == pytest.approx(0.0 if group == claimed[arm] else total, abs=1e-12)
