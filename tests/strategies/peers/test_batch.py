"""Batch peers: each against a literal few lines, nothing certified but what a test has certified."""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

import kabc
from kabc import Gaussian, Partition, RandomFeatures, SettingsError
from kabc.core.partitions import components
from kabc.strategies.base import Strategy
from kabc.strategies.peers import batch
from kabc.strategies.peers.batch import BATCH, Batch, MMDPermutation, farthest_first, k_means, linkage, spectral

Array = NDArray[np.float64]
Labels = tuple[int, ...]

HEURISTICS = [name for name in BATCH if name != "mmd-permutation"]
CENTRES = [0.0, 6.0, 0.0, 12.0, 6.0, 12.0]
TRUTH = Partition.of(CENTRES)


def make(name: str, n_clusters: int = 3, n: int = 30, **options: Any) -> Strategy:
    strategy: Strategy = BATCH[name](6, n_clusters, 0.1, Gaussian(1.0), samples_per_arm=n, **options)
    return strategy


def answers(strategy: Strategy, seed: int = 0) -> dict[int, Array]:
    rng = np.random.default_rng(seed)
    return {arm: rng.normal(CENTRES[arm], 1.0, (count, 1)) for arm, count in strategy.ask().items()}


def random_squares(seed: int, n: int = 6) -> Array:
    """Squared distances of mean embeddings of a few samples of arms that differ by chance."""
    rng = np.random.default_rng(seed)
    arms = [rng.normal(rng.normal(0, 1.5), 1.0, (8, 2)) for _ in range(n)]
    g = Gaussian(1.0)
    inner = np.array([[g(x, y).mean() for y in arms] for x in arms])
    own = inner.diagonal()
    return np.asarray(np.maximum(own[:, None] + own - 2 * inner, 0.0))


def partitions_of(n: int, n_groups: int) -> Iterator[Labels]:
    """All partitions of n arms into exactly n_groups groups."""
    for labels in itertools.product(range(n_groups), repeat=n):
        if Partition(labels).labels == labels and len(set(labels)) == n_groups:
            yield labels


def within(squared: Array, labels: Labels) -> float:
    """Sum over arms of the squared distance to the mean of their group: of all pairs, over twice the group's size."""
    groups = [np.flatnonzero(np.array(labels) == k) for k in range(max(labels) + 1)]
    return sum(float(squared[np.ix_(group, group)].sum()) / (2 * len(group)) for group in groups)


def squares_of(points: Array) -> Array:
    return np.asarray(((points[:, None] - points[None]) ** 2).sum(axis=2))


# ---------------------------------------------------------------- methods


@pytest.mark.parametrize("start", ["random", "k-means++"])
@pytest.mark.parametrize("seed", range(8))
def test_k_means_finds_the_smallest_sum_of_squares_of_all_partitions(seed: int, start: Any) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 3):
        best = min(within(squared, labels) for labels in partitions_of(6, n_groups))
        found = Partition.of(k_means(squared, n_groups, 0, start=start).tolist()).labels
        assert within(squared, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_spectral_clustering_is_that_of_ng_jordan_and_weiss(seed: int) -> None:
    squared = random_squares(seed)
    s = np.median([math.sqrt(squared[i, j]) for i, j in itertools.combinations(range(6), 2)])
    affinity = [[0.0 if i == j else math.exp(-squared[i, j] / (2 * s**2)) for j in range(6)] for i in range(6)]
    degrees = np.diag([sum(row) ** -0.5 for row in affinity])
    values, vectors = np.linalg.eigh(degrees @ np.array(affinity) @ degrees)
    for n_groups in (2, 3):
        top = vectors[:, np.argsort(values)[::-1][:n_groups]]
        rows = squares_of(top / np.sqrt((top**2).sum(axis=1))[:, None])
        best = min(within(rows, labels) for labels in partitions_of(6, n_groups))
        found = Partition.of(spectral(squared, n_groups, 0).tolist()).labels
        assert within(rows, found) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_linkage_is_the_threshold_graph_with_k_components(seed: int) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 4, 6):
        graphs = (components(squared <= threshold) for threshold in sorted({0.0, *squared.ravel().tolist()}))
        literal = next(graph for graph in graphs if graph.n_groups == n_groups)
        assert Partition.of(linkage(squared, n_groups, 0).tolist()).matches(literal)


@pytest.mark.parametrize("seed", range(8))
def test_farthest_first_is_the_traversal(seed: int) -> None:
    squared = random_squares(seed)
    for n_groups in (1, 2, 4, 6):
        centres = [0]
        for _ in range(n_groups - 1):
            rest = [arm for arm in range(6) if arm not in centres]
            centres.append(max(rest, key=lambda arm: min(squared[arm, c] for c in centres)))
        literal = [min(centres, key=lambda c: squared[arm, c]) for arm in range(6)]
        assert Partition.of(farthest_first(squared, n_groups, 0).tolist()).matches(Partition.of(literal))


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


def test_an_arm_beyond_all_affinity_is_a_group_of_its_own() -> None:
    squared = squares_of(np.array([[0.0], [0.1], [0.2], [0.3], [1e6]]))
    assert Partition.of(spectral(squared, 2, 0).tolist()).labels == (0, 0, 0, 0, 1)


# ---------------------------------------------------------------- strategies


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
    assert "nothing is proven" in strategy.guarantee().claim


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


def test_without_scikit_learn_the_extra_is_named_before_a_sample_is_drawn(monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("kernel-kmeans", "distributional-kmeans", "spectral"):
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


# ---------------------------------------------------------------- permutation test of each pair


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
