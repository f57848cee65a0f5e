"""BanditClustering in vectors: ask and tell, and what people see."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc import ProtocolError, SampleError, SettingsError
from kabc.strategies import Strategy
from kabc.strategies.peers.bandit_clustering import BanditClustering
from tests.strategies.peers.bandit_clustering.examples import LABELS, MEANS, TRUTH, run, vectors


def test_answers_are_certified_once_it_has_stopped_and_not_before() -> None:
    strategy: Strategy = BanditClustering(7, 2, 0.1)
    draw, guesses = vectors(MEANS), set()
    while not strategy.stopped:
        assert not strategy.recommend().certified
        assert not strategy.evidence().told_apart.any()
        assert (strategy.status, strategy.n_groups_at_least) == (None, 1)
        guesses.add(strategy.recommend().n_groups)
        strategy.tell({arm: draw(arm, n) for arm, n in strategy.ask().items()})
    assert guesses == {1, 2}
    assert strategy.recommend().certified
    assert strategy.recommend() == TRUTH
    assert (strategy.status, strategy.n_groups_at_least) == ("decided", 2)
    seen = strategy.evidence()
    assert (seen.told_in_round == len(strategy.rounds) * (LABELS[:, None] != LABELS)).all()
    assert seen.counts.sum() == strategy.n_samples == strategy.rounds[-1].n_samples
    assert np.isnan(seen.distances).all()
    assert np.isnan(seen.strength).all()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_asking_and_looking_change_nothing_and_a_pickled_run_goes_on_as_before(seed: int) -> None:
    watched, draw = BanditClustering(7, 2, 0.1, seed=seed), vectors(MEANS)
    while not watched.stopped:
        assert watched.ask() == watched.ask()
        watched.tell({arm: draw(arm, n) for arm, n in watched.ask().items()})
        watched.evidence(), watched.guarantee(), watched.recommend()
        watched = pickle.loads(pickle.dumps(watched))
    again = run(BanditClustering(7, 2, 0.1, seed=seed))
    assert (watched.rounds, watched.n_queries) == (again.rounds, again.n_queries)
    assert watched.ask() == {}
    with pytest.raises(ProtocolError, match="stopped"):
        watched.tell({})


def test_another_seed_looks_at_other_cells() -> None:
    assert len({run(BanditClustering(7, 2, 0.1, seed=seed)).n_samples for seed in range(5)}) > 1


def test_two_arms_are_two_groups_whatever_they_are() -> None:
    strategy = run(BanditClustering(2, 2, 0.1), np.zeros((2, 3)))
    assert (strategy.n_samples, strategy.n_queries) == (1, 0)
    assert strategy.recommend().labels == (0, 1)
    assert strategy.recommend().certified


def test_only_the_ratio_to_sigma_matters() -> None:
    plain, scaled = (run(BanditClustering(7, 2, 0.1, sigma=sigma)) for sigma in (1.0, 8.0))
    assert scaled.rounds == plain.rounds


def test_what_is_claimed_is_said() -> None:
    said = BanditClustering(7, 2, 0.1, sigma=3.0, seed=5).guarantee()
    assert "a decided grouping is wrong with probability at most 10 %. A run without end counts as wrong." in said.claim
    assert "sigma = 3" in said.assumptions[0]
    assert "there are exactly 2 groups" in said.assumptions[1]
    assert "seed 5" in said.rule[0]


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda s: {}, ProtocolError, "arm 0 are missing"),
        (lambda s: {arm: np.full((n, 5), np.nan) for arm, n in s.items()}, SampleError, "arm 0: .*nan"),
        (lambda s: {arm: np.zeros((n, 2)) for arm, n in s.items()}, SampleError, "2 column"),
        (lambda s: {arm: np.zeros((n + 1, 5)) for arm, n in s.items()}, SampleError, "arm 0: asked for"),
        (lambda s: {arm: np.full((n, 5), -1e120) for arm, n in s.items()}, SampleError, "5e[+]119 standard deviations"),
    ],
)
def test_a_wrong_tell_is_refused_and_changes_nothing(spoil: Any, error: type[Exception], message: str) -> None:
    strategy = BanditClustering(7, 2, 0.1, sigma=2.0)
    strategy.tell({arm: MEANS[arm][None] for arm in strategy.ask()})
    request = strategy.ask()
    before = pickle.dumps(strategy)
    with pytest.raises(error, match=message):
        strategy.tell(spoil(request))
    assert pickle.dumps(strategy) == before


def test_a_sigma_too_small_for_the_samples_is_named() -> None:
    strategy = BanditClustering(3, 2, 0.1, sigma=1e-300)
    strategy.ask()
    with pytest.raises(SampleError, match=r"inf standard deviations.*check sigma"):
        strategy.tell({0: [[1e200]]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BanditClustering(7, 3, 0.1), "n_clusters must be 2 for BanditClustering, got 3; use 'acb-dagger'"),
        (lambda: BanditClustering(7, 1, 0.1), "n_clusters must be 2"),
        (lambda: BanditClustering(1, 2, 0.1), "n_arms must be a whole number at least 2"),
        (lambda: BanditClustering(7, 2, 0.0), "delta must lie in"),
        (lambda: BanditClustering(7, 2, 0.1, sigma=0.0), "sigma must be a finite number greater than 0"),
        (lambda: BanditClustering(7, 2, 0.1, seed=-1), "seed must be a whole number"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()
