"""ATBOC, LUCBBOC, BOC-Elim: bounds against brute force, answers against single linkage of the true means."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc
from kabc import Partition, SampleError, SettingsError
from kabc.core.partitions import single_linkage
from kabc.strategies.peers import atboc
from kabc.strategies.peers.atboc import ATBOC, LUCBBOC, BOCElim

Array = NDArray[np.float64]
Single = ATBOC | LUCBBOC | BOCElim
PAPER_1 = np.array([[0.0], [0.5], [1.5], [2.0], [3.5]])  # the illustration of the paper, K = 3
PAPER_2 = np.array([[-1.0, -1], [-1, -2], [1, 1], [2, 2], [3, -3], [3.5, -3]])  # that of its sequel, K = 3
MAKERS: dict[str, Callable[..., Single]] = {
    "atboc": ATBOC,
    "gradient": lambda *a, **k: ATBOC(*a, proportions="gradient", **k),
    "lucbboc": LUCBBOC,
    "boc-elim": BOCElim,
}


def distances(means: Array) -> Array:
    found: Array = np.linalg.norm(means[:, None] - means[None], axis=-1)
    return found


def run(strategy: Single, means: Array, seed: int = 0, most: int = 10**6) -> Single:
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell(
            {
                arm: strategy.sigma * (means[arm] + rng.normal(size=(n, means.shape[1])))
                for arm, n in strategy.ask().items()
            }
        )
    return strategy


# ---------------------------------------------------------------- single linkage and its nearest alternative


@given(seed=st.integers(0, 2**32), n_arms=st.integers(2, 9), k=st.integers(1, 9), d=st.integers(1, 3))
@settings(deadline=None)
def test_labels_are_those_of_single_linkage_and_the_tree_spans_each_group(
    seed: int, n_arms: int, k: int, d: int
) -> None:
    k = min(k, n_arms)
    apart = distances(np.random.default_rng(seed).normal(size=(n_arms, d)))
    labels, tree = atboc._loops().linkage(apart, k)
    assert Partition.of(labels.tolist()).matches(single_linkage(apart, k))
    assert tree.shape == (n_arms - k, 2)
    assert (labels[tree[:, 0]] == labels[tree[:, 1]]).all()
    joined = np.zeros((n_arms, n_arms), dtype=bool)
    joined[tree[:, 0], tree[:, 1]] = True
    assert kabc.core.partitions.graphs.components(joined).matches(Partition.of(labels.tolist()))


@given(seed=st.integers(0, 2**32), d=st.integers(1, 3), scale=st.floats(0.05, 3.0))
@settings(deadline=None, max_examples=200)
def test_no_means_with_another_clustering_are_nearer_than_the_bound(seed: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    means, w = rng.normal(size=(6, d)), rng.uniform(0.2, 5.0, size=6)
    apart = distances(means)
    labels, tree = atboc._loops().linkage(apart, 3)
    bound = atboc._loops().alternative(apart, labels, tree, w)
    for step in np.linspace(0.1, 1.0, 10):
        moved = means + step * scale * np.random.default_rng(seed).normal(size=means.shape)
        if not single_linkage(distances(moved), 3).matches(Partition.of(labels.tolist())):
            cost = 0.5 * float(w @ ((moved - means) ** 2).sum(axis=1))
            assert cost >= bound * (1 - 1e-9)


def test_in_one_dimension_the_bound_is_reached() -> None:
    """Means 0, 1, 3 into two groups: the middle one changes sides when it is as near to the right as to the left."""
    means, w = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 4.0])
    labels, tree = atboc._loops().linkage(distances(means), 2)
    bound = atboc._loops().alternative(distances(means), labels, tree, w)
    grid = np.linspace(-1.0, 4.0, 101)
    x, y, z = np.meshgrid(grid, grid, grid, indexing="ij")
    cost = 0.5 * (w[0] * x**2 + w[1] * (y - 1) ** 2 + w[2] * (z - 3) ** 2)
    other = np.abs(x - y) >= np.minimum(np.abs(y - z), np.abs(x - z))
    assert bound == pytest.approx(cost[other].min(), rel=0.02)
    assert bound <= cost[other].min()


def value(w: Array, apart: Array, labels: NDArray[np.int64], tree: NDArray[np.int64]) -> float:
    """inner(w, mu), straight from its formula."""
    costs: list[float] = []
    for a, b in tree.tolist():
        for i, j in itertools.combinations(range(len(w)), 2):
            if labels[i] != labels[j]:
                c = np.bincount([a, b, i, j], minlength=len(w))
                costs.append(float((apart[i, j] - apart[a, b]) ** 2 / (2 * (c**2 / w).sum())))
    return min(costs)


@pytest.mark.parametrize("seed", range(8))
def test_proportions_are_the_best_to_one_per_cent(seed: int) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    means = rng.normal(size=(6, 2)) if seed else PAPER_2
    apart = distances(means)
    labels, tree = atboc._loops().linkage(apart, 3)
    ours = atboc._loops().shares(apart, labels, tree)
    assert ours.sum() == pytest.approx(1.0)
    found: Any = value(ours, apart, labels, tree)
    assert found == pytest.approx(atboc._loops().alternative(apart, labels, tree, ours))
    rows = np.array(
        [
            np.bincount([a, b, i, j], minlength=6) ** 2 / (apart[i, j] - apart[a, b]) ** 2
            for a, b in tree.tolist()
            for i, j in itertools.combinations(range(6), 2)
            if labels[i] != labels[j]
        ]
    )
    scale = 1 / (4 * rows.max(axis=0))
    best: Any = minimize(  # type: ignore[call-overload]
        lambda u: (1 / (scale * u)).sum() * scale.mean(),
        np.ones(6),
        jac=lambda u: -scale.mean() / (scale * u**2),
        method="SLSQP",
        bounds=[(1e-6, None)] * 6,
        constraints={"type": "ineq", "fun": lambda u: 1 - rows @ (scale * u), "jac": lambda u: -rows * scale},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    theirs = 1 / (scale * best.x)
    assert found >= 0.985 * value(theirs / theirs.sum(), apart, labels, tree)


def test_the_slope_is_that_of_the_bound() -> None:
    apart = distances(PAPER_2)
    labels, tree = atboc._loops().linkage(apart, 3)
    w = np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.1])
    slope = atboc._loops().slope(apart, labels, tree, w)
    for arm in range(6):
        step = 1e-6 * np.eye(6)[arm]
        rise = math.log(value(w + step, apart, labels, tree)) - math.log(value(w - step, apart, labels, tree))
        assert slope[arm] == pytest.approx(rise / 2e-6, abs=1e-4)


# ---------------------------------------------------------------- intervals


@given(seed=st.integers(0, 2**32), n_arms=st.integers(1, 6))
@settings(deadline=None)
def test_gaps_to_the_right_are_never_larger_than_their_bounds_and_come_near(seed: int, n_arms: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(size=n_arms)
    high = low + rng.uniform(0.0, 1.5, size=n_arms)
    bounds = atboc._right_gaps(low, high)
    ends = np.array(list(itertools.product(*zip(low, high, strict=True))))
    for x in [*ends, *rng.uniform(low, high, size=(50, n_arms))]:
        ranked = np.sort(x)
        for arm in range(n_arms):
            above = ranked[ranked > x[arm]]
            assert (above[0] - x[arm] if above.size else 0.0) <= bounds[arm] + 1e-12


def test_bounds_of_gaps_are_reached() -> None:
    low, high = np.array([0.0, 2.0, 5.0]), np.array([1.0, 3.0, 6.0])
    assert atboc._right_gaps(low, high).tolist() == [3.0, 4.0, 0.0]
    labels, between = atboc._largest_splits(low, high, 2)
    assert labels.tolist() == [0, 0, 1] and between.tolist() == [2.0]
    assert atboc._gaps_within(low, high, labels).tolist() == [3.0, 3.0, 0.0]


def test_an_arm_beside_a_gap_that_is_known_to_be_large_is_left_alone() -> None:
    strategy = run(BOCElim(5, 3, 0.1), np.array([[0.0], [0.5], [1.5], [2.0], [30.0]]))
    counts = strategy.evidence().counts
    assert counts[4] < 0.1 * counts[1]


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_decided_partitions_are_the_single_linkage_of_the_true_means(maker: str, seed: int) -> None:
    for means in (2 * PAPER_1, 2 * PAPER_2)[: 1 if maker == "boc-elim" else 2]:
        strategy = run(MAKERS[maker](len(means), 3, 0.1), means, seed)
        assert strategy.status == "decided"
        assert strategy.recommend().certified
        assert strategy.recommend().matches(single_linkage(distances(means), 3))
        assert strategy.n_groups_at_least == 3


@pytest.mark.parametrize("maker", MAKERS)
def test_where_all_means_are_equal_it_never_stops(maker: str) -> None:
    """Two arms of variance 1 and two of 4: KABC would tell them apart. sigma is an upper bound."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        strategy = MAKERS[maker](4, 2, 0.1, sigma=2.0)
        while strategy.n_samples < 1500:
            strategy.tell({arm: rng.normal(0, 1 + arm // 2, (n, 1)) for arm, n in strategy.ask().items()})
        assert not strategy.stopped


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("n_clusters", "labels"), [(1, (0, 0, 0)), (3, (0, 1, 2))])
def test_where_there_is_no_alternative_it_stops_at_once(maker: str, n_clusters: int, labels: tuple[int, ...]) -> None:
    strategy = run(MAKERS[maker](3, n_clusters, 0.1), np.zeros((3, 1)))
    assert strategy.n_samples == 3
    assert strategy.recommend().labels == labels


@pytest.mark.parametrize("maker", MAKERS)
def test_equal_samples_never_look_decided(maker: str) -> None:
    strategy = MAKERS[maker](4, 2, 0.5)
    for _ in range(50):
        strategy.tell({arm: [[1.0]] for arm in strategy.ask()})
    assert not strategy.stopped


@pytest.mark.parametrize("maker", MAKERS)
def test_only_the_ratio_to_sigma_matters(maker: str) -> None:
    plain, scaled = (run(MAKERS[maker](5, 3, 0.1, sigma=sigma), 4 * PAPER_1) for sigma in (1.0, 8.0))
    assert scaled.rounds == plain.rounds


def test_lucbboc_draws_the_critical_arms() -> None:
    strategy = run(LUCBBOC(5, 3, 0.1), 2 * PAPER_1)
    assert strategy.evidence().counts.argsort()[:2].tolist() == [4, 3]  # 3 and 4 matter little: their gaps are clear
    assert all(b.n_samples - a.n_samples in (1, 2) for a, b in itertools.pairwise(strategy.rounds))


def test_atboc_leaves_no_arm_behind() -> None:
    strategy = ATBOC(5, 3, 0.1)
    rng = np.random.default_rng(0)
    while not strategy.stopped:
        strategy.tell({arm: 2 * PAPER_1[arm] + rng.normal(size=(n, 1)) for arm, n in strategy.ask().items()})
        assert strategy.evidence().counts.min() >= math.sqrt(strategy.n_samples / 5) - 1
    shares = strategy.evidence().counts / strategy.n_samples
    best = atboc._loops().shares(distances(PAPER_1), *atboc._loops().linkage(distances(PAPER_1), 3))
    assert shares == pytest.approx(best, abs=0.12)


# ---------------------------------------------------------------- ask and tell, and what people see


@pytest.mark.parametrize("maker", MAKERS)
def test_evidence_shows_distances_of_means_and_who_was_told_apart_when(maker: str) -> None:
    strategy = MAKERS[maker](5, 3, 0.1, sigma=2.0)
    held: dict[int, list[Array]] = {arm: [] for arm in range(5)}
    rng = np.random.default_rng(0)
    while not strategy.stopped:
        assert not strategy.evidence().told_apart.any()
        samples = {arm: 8 * PAPER_1[arm] + 2 * rng.normal(size=(n, 1)) for arm, n in strategy.ask().items()}
        for arm, rows in samples.items():
            held[arm].extend(rows)
        strategy.tell(samples)
    seen, labels = strategy.evidence(), np.array([0, 0, 1, 1, 2])
    assert seen.distances == pytest.approx(distances(np.array([np.mean(rows, axis=0) for rows in held.values()])))
    assert seen.counts.tolist() == [len(rows) for rows in held.values()]
    assert (seen.told_in_round == len(strategy.rounds) * (labels[:, None] != labels[None, :])).all()
    assert strategy.rounds[-1].n_samples == strategy.n_samples == seen.counts.sum()


@pytest.mark.parametrize("maker", MAKERS)
def test_it_says_that_it_is_a_reconstruction_and_what_it_takes_for_granted(maker: str) -> None:
    said = MAKERS[maker](5, 3, 0.1, sigma=2.0).guarantee()
    assert "reconstruction" in said.strategy
    assert "probability at least 0.9" in said.claim
    assert "sigma = 2" in said.assumptions[0] and "single-linkage" in said.assumptions[1]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_sample_too_far_for_squares_is_refused_and_changes_nothing(maker: str) -> None:
    strategy = MAKERS[maker](5, 3, 0.1, sigma=2.0)
    strategy.tell({arm: PAPER_1[arm][None] for arm in strategy.ask()})
    far = {arm: np.full((n, 1), -1e120) for arm, n in strategy.ask().items()}
    before = pickle.dumps(strategy)
    with pytest.raises(SampleError, match=r"5e[+]119 standard deviations"):
        strategy.tell(far)
    assert pickle.dumps(strategy) == before


def test_boc_elim_refuses_vectors_before_anything_changes() -> None:
    strategy = BOCElim(3, 2, 0.1)
    strategy.ask()
    with pytest.raises(SampleError, match="samples have 2 columns; use 'lucbboc'"):
        strategy.tell({arm: [[0.0, 1.0]] for arm in range(3)})
    assert not strategy.rounds


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ATBOC(5, None, 0.1), "n_clusters must be a whole number from 1 to 5, got None"),  # type: ignore[arg-type]
        (lambda: ATBOC(5, 3, 0.1, proportions="best"), "'solved' or 'gradient', got 'best'"),  # type: ignore[arg-type]
        (lambda: LUCBBOC(5, 3, 0.0), "delta must lie in"),
        (lambda: BOCElim(5, 3, 0.1, sigma=-1.0), "sigma must be a finite number greater than 0"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], Single], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


def test_it_runs_in_the_loop() -> None:
    arms = {name: (lambda n, rng, m=mean: rng.normal(m, 1.0, n)) for name, mean in zip("abc", (0, 0, 6), strict=True)}
    result = kabc.cluster(arms, strategy=LUCBBOC(3, 2, 0.05), seed=0, progress=False)
    assert result.groups == (("a", "b"), ("c",))
    assert "reconstruction" in result.certificate()
