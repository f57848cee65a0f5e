"""Batch strategies draw once and certify nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kabc
from kabc import Gaussian, Partition, RandomFeatures, SettingsError
from kabc.strategies.peers import batch
from kabc.strategies.peers.batch import BATCH, Batch
from tests.strategies.peers.batch.examples import CENTRES, HEURISTICS, TRUTH, answers, make


@given(seed=st.integers(0, 1000), name=st.sampled_from(HEURISTICS))
@settings(max_examples=25, deadline=None)
def test_the_order_of_arms_does_not_matter_where_groups_are_clear(seed: int, name: str) -> None:
    strategy, shuffled = make(name), make(name)
    samples = answers(strategy, seed)
    order = np.random.default_rng(seed).permutation(6)
    strategy.tell(samples)
    shuffled.ask()
    shuffled.tell({place: samples[arm] for place, arm in enumerate(order.tolist())})
    assert strategy.recommend().matches(TRUTH)
    assert shuffled.recommend().matches(Partition.of(np.array(TRUTH.labels)[order].tolist()))


@pytest.mark.parametrize("name", HEURISTICS)
def test_arms_that_are_all_the_same_are_no_trouble(name: str) -> None:
    strategy = make(name)
    strategy.tell({arm: np.full((count, 1), 3.0) for arm, count in strategy.ask().items()})
    assert strategy.recommend().n_arms == 6


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("kernel", [Gaussian(1.0), RandomFeatures(Gaussian(1.0), 64)])
def test_a_heuristic_draws_once_and_certifies_nothing(name: str, kernel: Any) -> None:
    strategy = BATCH[name](6, 3, 0.1, kernel, samples_per_arm=30)
    assert strategy.ask() == dict.fromkeys(range(6), 30)
    assert strategy.recommend().n_groups == 1
    strategy.tell(answers(strategy))
    assert strategy.status == "stopped"
    assert strategy.recommend().matches(TRUTH)
    assert not strategy.recommend().certified
    assert strategy.n_groups_at_least == 1
    assert not strategy.evidence().told_apart.any()
    assert strategy.n_samples == 180
    assert "Nothing is proven: " in strategy.guarantee().claim


@pytest.mark.parametrize("name", BATCH)
def test_a_run_says_how_much_it_certifies(name: str) -> None:
    laws = [lambda n, rng, c=c: rng.normal(c, 1.0, n) for c in CENTRES]
    result = kabc.cluster(laws, strategy=make(name), seed=3, progress=False)
    assert result.labels == TRUTH.labels
    assert result.certified == (name == "mmd-permutation")
    assert result.needs is None
    assert ("(guess)" in str(result)) == (name != "mmd-permutation")
    assert name in result.certificate() or "permutation" in result.certificate()


def test_bad_settings_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"method must be one of .*'spectral'.*got 'k-means'"):
        Batch(6, 3, 0.1, Gaussian(1.0), method="k-means")
    for name in BATCH:
        with pytest.raises(SettingsError, match="samples_per_arm"):
            make(name, n=1)
        with pytest.raises(SettingsError, match="seed"):
            make(name, seed=-1)
        with pytest.raises(SettingsError, match="n_clusters"):
            make(name, n_clusters=7)


def test_kernel_k_means_starts_at_random_arms_or_far_ones() -> None:
    laws = [lambda n, rng, c=c: rng.normal(c, 1.0, n) for c in CENTRES]
    options = {"samples_per_arm": 30, "start": "k-means++"}
    result = kabc.cluster(laws, 3, strategy="kernel-kmeans", strategy_options=options, seed=3, progress=False)
    assert result.labels == TRUTH.labels
    assert "Baillo et al. 2025" in result.certificate()
    assert "Dhillon et al. 2004" in make("kernel-kmeans").guarantee().rule[1]
    with pytest.raises(SettingsError, match=r"start must be one of 'random', 'k-means[+][+]', got 'best'"):
        make("kernel-kmeans", start="best")
    with pytest.raises(SettingsError, match=r"start is for 'kernel-kmeans', got start='k-means[+][+]' for 'spectral'"):
        make("spectral", start="k-means++")


def test_without_scikit_learn_the_extra_is_named_before_a_sample_is_drawn(monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("kernel-kmeans", "spectral"):
        with pytest.raises(SettingsError, match=rf"'{name}' needs scikit-learn; pip install 'kabc\[sklearn\]'"):
            make(name)
    for name in ("mmd-linkage", "mmd-farthest", "mmd-permutation"):
        strategy = make(name)
        strategy.tell(answers(strategy))
        assert strategy.recommend().matches(TRUTH)


def test_importing_the_methods_loads_nothing_heavy() -> None:
    code = f"import sys, {batch.__name__}; print([m for m in ('sklearn', 'scipy', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
