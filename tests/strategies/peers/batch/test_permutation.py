"""One permutation test of each pair: what it tells apart is certified."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from kabc import Gaussian, RandomFeatures
from kabc.strategies.peers.batch import MMDPermutation
from tests.strategies.peers.batch.examples import TRUTH, answers


def test_with_too_few_groups_told_apart_the_rest_is_a_guess() -> None:
    strategy = MMDPermutation(6, 5, 0.1, Gaussian(1.0), samples_per_arm=30)
    strategy.tell(answers(strategy))
    assert strategy.status == "budget"
    assert strategy.n_groups_at_least == 3
    assert strategy.recommend().n_groups == 5
    assert strategy.recommend().refines(TRUTH)
    assert not strategy.recommend().certified


def test_with_more_groups_told_apart_than_asked_for_k_is_refuted() -> None:
    strategy = MMDPermutation(6, 2, 0.1, Gaussian(1.0), samples_per_arm=30)
    strategy.tell(answers(strategy))
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 3
    assert not strategy.recommend().certified


def test_equal_arms_are_told_apart_in_at_most_delta_of_the_runs_and_nearly_as_often() -> None:
    runs, delta = 300, 0.3
    parted = 0
    for number in range(runs):
        rng = np.random.default_rng(number)
        strategy = MMDPermutation(3, 2, delta, RandomFeatures(Gaussian(1.0), 16), samples_per_arm=8, seed=number)
        strategy.tell({arm: rng.standard_exponential((n, 1)) for arm, n in strategy.ask().items()})
        parted += bool(strategy.evidence().told_apart.any())
    assert binom.ppf(1e-6, runs, delta / 3) <= parted <= binom.ppf(1 - 1e-6, runs, delta)


def test_all_of_delta_is_spent_on_the_one_round() -> None:
    strategy = MMDPermutation(6, 3, 0.1, Gaussian(1.0), samples_per_arm=30)
    strategy.tell(answers(strategy))
    assert [(r.delta, r.n) for r in strategy.rounds] == [(0.1, 30)]
    apart = strategy.evidence().log_evidence[0, 1]
    assert apart == pytest.approx(math.log(150))  # 15 pairs: none of 149 relabellings was as far apart
    assert strategy.evidence().log_threshold[0, 1] == pytest.approx(math.log(150))
