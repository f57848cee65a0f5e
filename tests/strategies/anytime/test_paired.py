"""Paired samples: matched samples share a prompt, equal arms are not told apart, and far fewer samples are enough."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from kabc import AnytimeKABC, SettingsError
from kabc.core.arrays import Array
from kabc.core.evidence.blocks import Block
from kabc.core.scores.maps import Fourier, Levels, Ranks, Scaled
from kabc.core.scores.paired import centred
from kabc.strategies.anytime.doubts import paired_log_factor
from tests.strategies.anytime.playing import at, play

MAPS = (Scaled(), Fourier(Ranks(), 1.0), Levels())


def run(strategy: AnytimeKABC, shifts: Array, effect: float, seed: int, most: int, paired: bool = True) -> AnytimeKABC:
    """Answers of arm i to prompts: shift_i + effect of the prompt + noise whose size depends on the prompt too."""
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        request = strategy.ask()
        prompts = rng.normal(size=max(request.values()))
        samples = {}
        for arm, n in request.items():
            its = prompts[:n] if paired else rng.normal(size=n)
            samples[arm] = shifts[arm] + effect * its + np.exp(its / 2) * rng.normal(size=n)
        strategy.tell(samples)
    return strategy


# ---------------------------------------------------------------- bets, exactly


def permuted(scores: Array, arms: list[int], order: tuple[int, ...]) -> Array:  # (A, b, G)
    changed = scores.copy()
    changed[arms] = scores[[arms[place] for place in order]]
    return changed


def as_block(scores: Array, groups: list[int], cap: float) -> Block:  # (A, 1, G)
    rows = centred(scores).reshape(-1, scores.shape[2])
    return Block(rows[None], np.array([groups]), np.arange(len(groups) + 1), 1, caps=(cap,), paired=True)


@pytest.mark.parametrize("cap", [math.inf, 0.7])
def test_over_all_orders_of_a_match_a_bet_is_fair(cap: float) -> None:
    """Whatever the five answers are: if some arms are the same, each order of their answers is equally likely."""
    scores, groups = np.random.default_rng(1).normal(0, 3, (5, 1, 3)), [0, 1, 2, 0, 1]
    partners = np.arange(5)
    for i, j in itertools.combinations(range(5), 2):
        both = [
            math.exp(as_block(permuted(scores, [i, j], order), groups, cap).pairs(partners)[i, j, 0])
            for order in itertools.permutations(range(2))
        ]
        assert math.isclose(float(np.mean(both)), 1.0, rel_tol=1e-9)
    claimed = np.array([0, 1, 1, 1, 2])
    orders = [permuted(scores, [0, 1, 2, 3], order) for order in itertools.permutations(range(4))]
    joins = [math.exp(as_block(one, groups, cap).joins(claimed, 3)[0, 1, 0]) for one in orders]
    assert math.isclose(float(np.mean(joins)), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("cap", [math.inf, 0.7])
def test_what_a_match_shares_changes_no_bet(cap: float) -> None:
    scores, groups = np.random.default_rng(2).normal(0, 1, (5, 1, 3)), [0, 1, 2, 0, 1]
    shifted = scores + np.array([50.0, -20.0, 3.0])
    one, other = as_block(scores, groups, cap), as_block(shifted, groups, cap)
    assert np.allclose(one.pairs(np.arange(5)), other.pairs(np.arange(5)))
    claimed = np.array([0, 1, 1, 1, 2])
    assert np.allclose(one.joins(claimed, 3), other.joins(claimed, 3))


@pytest.mark.parametrize("sides", [[1, -1, -1, -1], [1, 1, -1, -1], [1, 1, 1, -1], [1, 0, -1, -1], [1, 1, 1, 1]])
@pytest.mark.parametrize("cap", [math.inf, 0.7])
def test_over_all_orders_a_bet_on_a_split_is_fair(sides: list[int], cap: float) -> None:
    scores = np.random.default_rng(3).normal(0, 3, (4, 2, 1))  # four arms of one group, two matches
    part, groups = np.repeat(sides, 2)[:, None], np.zeros(8, dtype=np.intp)
    factors = []
    for first in itertools.permutations(range(4)):
        for second in itertools.permutations(range(4)):
            rows = np.stack([scores[list(first), 0], scores[list(second), 1]], axis=1).reshape(8, 1)
            factors.append(math.exp(float(paired_log_factor(rows, part, groups, cap, n_matches=2)[0])))
    assert math.isclose(float(np.mean(factors)), 1.0, rel_tol=1e-9)


# ---------------------------------------------------------------- whole runs


def test_equal_arms_are_told_apart_no_more_often_than_delta_although_prompts_matter() -> None:
    delta, runs = 0.3, 30
    wrong = 0
    for seed in range(runs):
        strategy = AnytimeKABC(3, None, delta, maps=MAPS, paired=True, patience=None)
        wrong += run(strategy, np.zeros(3), 10.0, seed, 100).n_groups_at_least > 1
    assert wrong <= stats.binom.ppf(1 - 1e-3, runs, delta)


def test_claims_are_as_valid_as_pairs() -> None:
    """One odd arm among equal ones: another partition than the true one is rarely certified."""
    delta, runs, wrong = 0.3, 16, 0
    truth = np.array([0.0, 0.0, 3.0, 0.0])
    for seed in range(runs):
        strategy = run(AnytimeKABC(4, 2, delta, maps=MAPS, paired=True), truth, 10.0, seed, 400)
        wrong += strategy.status == "decided" and strategy.recommend().labels != (0, 0, 1, 0)
    assert wrong <= stats.binom.ppf(1 - 1e-3, runs, delta)


def test_a_right_k_is_rarely_doubted_and_a_wrong_one_is() -> None:
    right = [
        run(AnytimeKABC(4, 2, 0.05, maps=MAPS, paired=True), np.array([0, 0, 4, 4.0]), 10.0, seed, 300)
        for seed in range(6)
    ]
    assert sum(one.status == "doubtful" for one in right) <= stats.binom.ppf(1 - 1e-3, 6, 0.05)
    wrong = run(AnytimeKABC(6, 2, 0.05, maps=MAPS, paired=True), np.array([0, 0, 0, 3, 40, 40.0]), 10.0, 0, 600)
    assert wrong.status in ("doubtful", "contradicted")


def test_where_prompts_matter_pairs_need_several_times_fewer_samples() -> None:
    shifts = np.array([0.0, 2.0, 0.0, 2.0])
    matched = run(AnytimeKABC(4, 2, 0.05, maps=MAPS, paired=True), shifts, 6.0, 0, 4000)
    apart = run(AnytimeKABC(4, 2, 0.05, maps=MAPS), shifts, 6.0, 0, 8 * matched.n_samples, paired=False)
    assert (matched.status, matched.recommend().labels) == ("decided", (0, 1, 0, 1))
    assert apart.n_samples > 4 * matched.n_samples


def test_where_prompts_do_not_matter_pairs_cost_little() -> None:
    paired, plain = (
        sum(play(AnytimeKABC(4, 2, 0.05, maps=MAPS, paired=one), at([0.0, 2.0]), seed).n_samples for seed in range(3))
        for one in (True, False)
    )
    assert paired < 2 * plain


def test_all_arms_of_a_round_are_asked_for_as_many_samples() -> None:
    strategy = AnytimeKABC(60, 2, 0.05, maps=(Scaled(),), paired=True)
    shifts, rng, sizes = 6.0 * (np.arange(60) % 2), np.random.default_rng(0), []
    while not strategy.stopped:
        request = strategy.ask()
        assert len(set(request.values())) == 1
        sizes.append(len(request))
        prompts = 10.0 * rng.normal(size=max(request.values()))
        strategy.tell({arm: shifts[arm] + prompts[:n] + rng.normal(size=n) for arm, n in request.items()})
    assert strategy.recommend().certified
    assert strategy.recommend().labels == tuple(np.arange(60) % 2)
    assert len(set(sizes)) > 1  # the arms outside the core were compared with representatives


def test_the_certificate_says_what_the_same_means() -> None:
    why = AnytimeKABC(4, 2, 0.05, paired=True).guarantee()
    assert any("given what the samples of a match share" in line for line in why.assumptions)
    assert any("answer the same to the same" in line for line in why.rule)
    assert not any("tanh" in line for line in why.rule)


@pytest.mark.parametrize("options", [{"paired": True, "block": 2}, {"paired": 1}])
def test_what_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="paired"):
        AnytimeKABC(4, 2, 0.05, **options)


def test_matched_samples_are_not_shuffled() -> None:
    strategy = run(AnytimeKABC(4, 2, 0.05, maps=MAPS, paired=True), np.array([0.0, 9.0, 0.0, 9.0]), 6.0, 0, 400)
    check = strategy._found.check
    assert check is not None
    assert check._shuffles is None
    assert check.ratio == pytest.approx(math.exp(check._doubt.log_evidence))  # type: ignore[union-attr]
