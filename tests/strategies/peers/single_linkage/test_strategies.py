"""ATBOC, LUCBBOC, BOC-Elim: answers against single linkage of the true means."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import kabc
from kabc import SampleError, SettingsError
from kabc.core.partitions import single_linkage
from kabc.strategies.peers.boc import proven_threshold
from kabc.strategies.peers.single_linkage import ATBOC, LUCBBOC, BOCElim
from kabc.strategies.peers.single_linkage.linkage import compiled_loops
from tests.strategies.peers.single_linkage.examples import MAKERS, PAPER_1, PAPER_2, Array, Single, distances, run


def test_an_arm_beside_a_gap_that_is_known_to_be_large_is_left_alone() -> None:
    strategy = run(BOCElim(5, 3, 0.1), np.array([[0.0], [0.5], [1.5], [2.0], [30.0]]))
    counts = strategy.evidence().counts
    assert counts[4] < 0.1 * counts[1]


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


def stops_when(strategy: Single, values: list[float], sure: Callable[[list[int]], bool]) -> bool:
    """Whether it stops as soon as, and not before, the counts of the arms make it sure; samples have no noise."""
    while not strategy.stopped:
        if strategy.rounds and sure(strategy.evidence().counts.tolist()):
            return False
        strategy.tell({arm: np.full((n, 1), values[arm]) for arm, n in strategy.ask().items()})
    return sure(strategy.evidence().counts.tolist())


def radius(n: int, delta: float) -> float:
    return math.sqrt(2 * proven_threshold(np.array([n]), 1, delta) / n)


def test_atboc_stops_when_the_nearest_alternative_costs_more_than_beta() -> None:
    def sure(counts: list[int]) -> bool:
        a, b, c = (1 / n for n in counts)  # arms at 0, 0, 4: tree edge (0, 1), pairs (0, 2) and (1, 2)
        cost = min(16 / (2 * (4 * a + b + c)), 16 / (2 * (a + 4 * b + c)))
        return cost > proven_threshold(np.array(counts), 1, 0.1)

    assert stops_when(ATBOC(3, 2, 0.1), [0.0, 0.0, 4.0], sure)


def test_lucbboc_stops_when_radii_at_delta_over_n_part_the_groups() -> None:
    def sure(counts: list[int]) -> bool:
        a, b, c = (radius(n, 0.1 / 3) for n in counts)
        return 6 - max(a, b) - c > a + b  # the shortest distance between groups, the longest within

    assert stops_when(LUCBBOC(3, 2, 0.1), [0.0, 0.0, 6.0], sure)


def test_boc_elim_stops_when_the_gap_exceeds_every_gap_within() -> None:
    def sure(counts: list[int]) -> bool:
        a, b, c = (radius(n, 0.1 / 3) for n in counts)
        return (6 - c) - max(a, b) > a + b  # between the intervals, and across those of one group

    assert stops_when(BOCElim(3, 2, 0.1), [0.0, 0.0, 6.0], sure)


def test_atboc_leaves_no_arm_behind() -> None:
    strategy = ATBOC(5, 3, 0.1)
    rng = np.random.default_rng(0)
    while not strategy.stopped:
        strategy.tell({arm: 2 * PAPER_1[arm] + rng.normal(size=(n, 1)) for arm, n in strategy.ask().items()})
        assert strategy.evidence().counts.min() >= math.sqrt(strategy.n_samples / 5) - 1
    shares = strategy.evidence().counts / strategy.n_samples
    best = compiled_loops().shares(distances(PAPER_1), *compiled_loops().groups(distances(PAPER_1), 3))
    assert shares == pytest.approx(best, abs=0.12)


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
    names = {"atboc": "ATBOC", "gradient": "EBC", "lucbboc": "LUCBBOC", "boc-elim": "BOC-Elim"}
    said = MAKERS[maker](5, 3, 0.1, sigma=2.0).guarantee()
    assert said.strategy.startswith(f"{names[maker]} (a reconstruction)")
    assert "a guess" in said.claim and "wrong with probability at most 10 %" in said.claim
    decided = run(MAKERS[maker](3, 1, 0.1), np.zeros((3, 1))).guarantee()
    assert decided.claim.startswith(
        "This grouping is wrong with probability at most 10 %; the right one is the single-"
    )
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
