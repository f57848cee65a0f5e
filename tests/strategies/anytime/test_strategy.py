"""Anytime KABC: right answers from few samples, honest books, and evidence that equal arms cannot make."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

import kabc
from kabc import AnytimeKABC, Partition, SettingsError
from kabc.core.scores import maps as maps_module
from kabc.core.scores.maps import Custom, FeatureMap, Levels, Ranks, Scaled
from kabc.strategies.anytime import check
from tests.strategies.anytime.playing import Draw, answer, at, play

FEW_MAPS = (Scaled(), Ranks(), Levels())


def truth(n_arms: int, n_groups: int) -> Partition:
    return Partition.of(arm % n_groups for arm in range(n_arms))


def snapshot(strategy: AnytimeKABC) -> bytes:
    seen = strategy.evidence()
    parts = (strategy.ask(), strategy.n_samples, strategy.rounds, strategy.status, strategy.recommend().labels)
    return pickle.dumps((parts, seen.told_apart, seen.counts, seen.log_evidence, seen.log_threshold))


def sound(strategy: AnytimeKABC) -> None:
    """What holds of the books at any time."""
    seen = strategy.evidence()
    assert seen.counts.sum() == strategy.n_samples
    assert np.array_equal(seen.log_evidence, seen.log_evidence.T, equal_nan=True)
    assert np.array_equal(seen.log_threshold, seen.log_threshold.T)
    off = ~np.eye(strategy.n_arms, dtype=bool)
    reached = np.where(np.isnan(seen.log_evidence), -np.inf, seen.log_evidence) >= seen.log_threshold
    assert np.array_equal(seen.told_apart, reached & off)
    assert bool(strategy.ask()) == (not strategy.stopped)


# ---------------------------------------------------------------- right answers


@pytest.mark.parametrize(
    ("n_arms", "centres"),
    [(6, [0, 4]), (7, [0, 5, 10]), (8, [[0, 0], [3, 3]]), (10, [[0, 0], [5, 0], [0, 5]])],
    ids=["line, K = 2", "line, K = 3", "plane, K = 2", "plane, K = 3"],
)
def test_groups_are_found_and_certified_from_few_samples(n_arms: int, centres: list[Any]) -> None:
    strategy = play(AnytimeKABC(n_arms, len(centres), 0.05), at(centres))
    assert strategy.status == "decided"
    found = strategy.recommend()
    assert found.certified
    assert found == truth(n_arms, len(centres))
    assert strategy.n_groups_at_least == len(centres)
    assert strategy.n_samples < 20 * n_arms
    sound(strategy)


def test_one_group_is_refused_because_nothing_would_be_tested() -> None:
    with pytest.raises(SettingsError, match=r"n_clusters=1 leaves nothing to test.*max_samples"):
        AnytimeKABC(4, 1, 0.05)
    with pytest.raises(SettingsError, match="n_clusters must be a whole number from 2 to 4, got 0"):
        AnytimeKABC(4, 0, 0.05)


def test_as_many_groups_as_arms_are_decided_when_all_pairs_are_told_apart() -> None:
    strategy = play(AnytimeKABC(5, 5, 0.05), at([0, 10, 20, 30, 40]))
    assert strategy.status == "decided"
    assert strategy.recommend() == Partition.of(range(5))
    assert strategy.evidence().n_told_apart == 10


def test_many_arms_cost_no_more_of_each_than_few() -> None:
    draw = at([0, 5, 10])
    few, many = (play(AnytimeKABC(n, 3, 0.05), draw) for n in (12, 150))
    assert many.status == few.status == "decided"
    assert many.recommend() == truth(150, 3)
    assert many.n_samples / 150 < 1.5 * few.n_samples / 12
    sound(many)


@pytest.mark.parametrize("centres", [(0, 2, 30), (0, 2, 30, 40)])
def test_too_few_groups_of_thousands_of_arms_are_doubted(centres: Sequence[float]) -> None:
    strategy = play(AnytimeKABC(2_100, len(centres) - 1, 0.05), at(centres))
    assert strategy.status == "doubtful"
    assert strategy.k_doubt is not None
    assert strategy.k_doubt >= 20
    sound(strategy)


def test_of_many_arms_only_a_part_is_compared_with_each_other() -> None:
    strategy = AnytimeKABC(150, 3, 0.05)
    assert len(strategy.ask()) == 24
    play(strategy, at([0, 5, 10]))
    compared = np.isfinite(strategy.evidence().log_threshold)
    # the core among itself, and everyone else with three representatives
    assert np.count_nonzero(np.triu(compared, 1)) == 24 * 23 // 2 + (150 - 24) * 3


def test_a_part_that_lacks_a_group_is_widened() -> None:
    first = set(AnytimeKABC(60, 2, 0.05, maps=[Scaled()]).ask())
    late = next(arm for arm in range(60) if arm not in first)
    strategy = AnytimeKABC(60, 2, 0.05, maps=[Scaled()])
    play(strategy, lambda rng, arm, n: rng.normal(9.0 * (arm == late), 1.0, (n, 1)))
    assert strategy.status == "decided"
    assert strategy.recommend() == Partition.of(int(arm == late) for arm in range(60))
    sound(strategy)


def test_a_map_of_the_users_sees_what_others_do_not() -> None:
    def draw(rng: np.random.Generator, arm: int, n: int) -> NDArray[Any]:
        signs = rng.choice([-1.0, 1.0], (n, 9))
        signs[:, -1] = signs[:, :8].prod(axis=1) * (-1) ** arm  # every eight columns are independent
        return signs

    product = Custom(lambda x: x.prod(axis=1, keepdims=True))
    strategy = play(AnytimeKABC(6, 2, 0.05, maps=[product]), draw)
    assert strategy.recommend() == truth(6, 2)
    assert strategy.status == "decided"


# ---------------------------------------------------------------- odd data

ODD: dict[str, Draw] = {
    "a constant column": lambda rng, arm, n: np.column_stack([rng.normal(4.0 * (arm % 2), 1, n), np.full(n, 7.0)]),
    "scales far apart": lambda rng, arm, n: rng.normal(0, 1, (n, 2)) * [1e-9, 1e9] + [4e-9 * (arm % 2), 0.0],
    "arms constant": lambda rng, arm, n: np.full((n, 1), 0.1 + arm % 2),
    "some arms constant": lambda rng, arm, n: rng.normal(0, 1, (n, 1)) * (arm % 2) + 0.1,
    "tails": lambda rng, arm, n: rng.standard_cauchy((n, 1)) + 8.0 * (arm % 2),
    "integers": lambda rng, arm, n: rng.poisson(2 + 9 * (arm % 2), (n, 1)),
    "truth values": lambda rng, arm, n: rng.random((n, 1)) < 0.1 + 0.8 * (arm % 2),
    "one axis": lambda rng, arm, n: rng.normal(5.0 * (arm % 2), 1, n),
    "many columns": lambda rng, arm, n: rng.normal(0.5 * (arm % 2), 1, (n, 300)),
    "ends of the number line": lambda rng, arm, n: 1.7e308 * np.clip(rng.normal(2 * (arm % 2) - 1, 0.1, (n, 1)), -1, 1),
    "subnormal numbers": lambda rng, arm, n: 5e-324 * rng.integers(0, 9, (n, 1)) + 1e-310 * (arm % 2),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_are_grouped_right_or_left_undecided(name: str) -> None:
    strategy = play(AnytimeKABC(6, 2, 0.05), ODD[name], rounds=14)
    sound(strategy)
    assert not np.isnan(strategy.evidence().log_evidence).any()
    if strategy.stopped:
        assert strategy.status == "decided"
        assert strategy.recommend() == truth(6, 2)
    else:
        assert not strategy.recommend().certified


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
def test_identical_samples_are_never_told_apart(value: float) -> None:
    strategy = play(AnytimeKABC(4, 2, 0.5), lambda rng, arm, n: np.full((n, 2), value), rounds=8)
    assert not strategy.stopped
    assert strategy.n_groups_at_least == 1
    assert strategy.recommend().n_groups <= 2
    sound(strategy)


# ---------------------------------------------------------------- what is asked


def test_arms_whose_group_is_forced_are_not_asked_again() -> None:
    near, far = [0, 1, 3, 4], [2, 5]  # groups at 0 and 1.5; the third is far from both
    strategy = AnytimeKABC(6, 3, 0.05, maps=FEW_MAPS, check_k=False)  # the check may ask for all arms
    rng, last_asked = np.random.default_rng(1), dict.fromkeys(range(6), 0)
    while not strategy.stopped:
        request = strategy.ask()
        last_asked |= dict.fromkeys(request, len(strategy.rounds))
        strategy.tell(answer(strategy, at([0, 1.5, 50]), rng))
    counts = strategy.evidence().counts
    assert strategy.recommend() == truth(6, 3)
    assert counts[far].max() < counts[near].max()
    assert max(last_asked[arm] for arm in far) < max(last_asked[arm] for arm in near)


def test_the_seed_chooses_the_arms_to_start_with() -> None:
    one, same, other = (set(AnytimeKABC(150, 3, 0.05, seed=seed).ask()) for seed in (1, 1, 2))
    assert one == same != other


def test_what_people_write_into_the_evidence_does_not_reach_the_strategy() -> None:
    strategy = play(AnytimeKABC(5, 2, 0.05, maps=FEW_MAPS), at([0, 1]), rounds=4)
    before = snapshot(strategy)
    strategy.evidence().counts[:] = 0
    strategy.evidence().log_evidence[:] = 0
    assert snapshot(strategy) == before


def test_a_feature_map_that_fails_leaves_everything_as_it_was() -> None:
    failing: list[bool] = []

    def feature(x: NDArray[Any]) -> NDArray[Any]:
        return np.full((len(x), 1), np.nan) if failing else x

    strategy = play(AnytimeKABC(5, 2, 0.05, maps=[Custom(feature)]), at([0, 1]), rounds=5)
    before, samples = snapshot(strategy), answer(strategy, at([0, 1]), np.random.default_rng(1))
    failing.append(True)
    with pytest.raises(SettingsError, match="finite features"):
        strategy.tell(samples)
    failing.clear()
    assert snapshot(strategy) == before
    strategy.tell(samples)
    assert strategy.n_samples == strategy.evidence().counts.sum()


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_arms": 1},
        {"n_clusters": 0},
        {"n_clusters": 5},
        {"delta": 0.0},
        {"delta": 1.5},
        {"seed": -1},
        {"n_clusters": 2.0},
    ],
    ids=str,
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        AnytimeKABC(**{"n_arms": 4, "n_clusters": 2, "delta": 0.1, **wrong})


# ---------------------------------------------------------------- the books


@given(
    n_arms=st.integers(2, 6),
    gap=st.sampled_from([0.0, 1.0, 6.0]),
    n_clusters=st.sampled_from([None, 2]),
    seed=st.integers(0, 99),
)
@settings(max_examples=12, deadline=None)
def test_books_add_up_and_what_is_told_apart_stays_told_apart(
    n_arms: int, gap: float, n_clusters: int | None, seed: int
) -> None:
    strategy, rng = AnytimeKABC(n_arms, n_clusters, 0.5, maps=[Scaled(), Ranks()]), np.random.default_rng(seed)
    told, at_least = np.zeros((n_arms, n_arms), dtype=bool), 1
    counts = np.zeros(n_arms, dtype=int)
    for number in range(1, 11):
        if strategy.stopped:
            break
        samples = answer(strategy, at([0, gap]), rng)
        counts[list(samples)] += [len(rows) for rows in samples.values()]
        strategy.tell(samples)
        sound(strategy)
        seen = strategy.evidence()
        assert np.array_equal(seen.counts, counts)
        assert (seen.told_apart | ~told).all()
        assert strategy.n_groups_at_least >= at_least
        assert strategy.rounds[-1].number == len(strategy.rounds) == number
        assert strategy.rounds[-1].n_samples == strategy.n_samples
        told, at_least = seen.told_apart, strategy.n_groups_at_least
        assert (at_least > 1) == told.any()


# ---------------------------------------------------------------- K wrong or unknown


def each_column() -> list[FeatureMap]:
    """Each map sees two of the three groups of a triangle, so that all pairs are bet on although K = 2."""
    return [Custom(lambda x: x[:, :1]), Custom(lambda x: x[:, 1:])]


def test_too_small_a_number_of_groups_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_ROUNDS", 200)  # go on until it is proven
    strategy = play(AnytimeKABC(6, 2, 0.05, maps=each_column()), at([[0, 0], [8, 0], [0, 8]]))
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 3
    assert strategy.ask() == {}
    assert not strategy.recommend().certified
    sound(strategy)


def test_an_unknown_number_of_groups_gets_a_certified_lower_bound_and_no_end() -> None:
    arms = {f"{mean}{copy}": (lambda n, rng, m=mean: rng.normal(m, 1, n)) for mean in (0, 10, 20) for copy in "ab"}
    result = kabc.cluster(arms, None, 0.05, strategy="anytime", max_samples=120, seed=0, progress=False)
    assert result.status == "budget"
    assert not result.certified
    assert result.n_groups_at_least == 3
    assert result.n_samples <= 120
    assert "at least 3 groups" in result.certificate()


def test_a_run_by_name_is_certified_and_its_certificate_names_the_assumptions() -> None:
    arms = [lambda n, rng, m=m: rng.normal(m, 1, n) for m in (0, 6, 0, 6)]
    result = kabc.cluster(arms, 2, 0.05, strategy="anytime", seed=1, progress=False)
    assert result.labels == (0, 1, 0, 1)
    assert result.certified
    assert "independent of each other" in result.certificate()
    assert result.n_samples == sum(result.samples_per_arm.values()) == result.evidence.counts.sum()


# ---------------------------------------------------------------- error rates


class Forgetful:
    """Features that change with every call, and remember the samples of the call before."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seen = np.zeros(1)

    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]:
        nearest = np.abs(samples[:, :1] - self._seen).min(axis=1, keepdims=True)
        self._seen = samples[:, 0].copy()
        drift = samples[:, :1] * self._rng.normal(0, 3)
        return np.column_stack([nearest, drift, self._rng.normal(size=(len(samples), 3))])


def false_splits(runs: int, rounds: int, draw: Draw, maps: Callable[[int], Sequence[FeatureMap] | None]) -> int:
    """In how many runs equal arms are told apart at any time."""
    parted = 0
    for run in range(runs):
        strategy = AnytimeKABC(4, 2, 0.2, maps=maps(run))
        rng = np.random.default_rng([run, 5])
        while strategy.n_groups_at_least == 1 and len(strategy.rounds) < rounds:
            strategy.tell(answer(strategy, draw, rng))
        parted += strategy.n_groups_at_least > 1
    return parted


LAWS: dict[str, Draw] = {
    "exponential": lambda rng, arm, n: rng.standard_exponential((n, 1)),
    "discrete": lambda rng, arm, n: rng.choice([0.0, 1.0, 7.0], (n, 1), p=[0.6, 0.3, 0.1]),
    "cauchy in the plane": lambda rng, arm, n: rng.standard_cauchy((n, 2)),
}


@pytest.mark.slow
def test_equal_arms_are_told_apart_at_any_time_in_at_most_delta_of_the_runs() -> None:
    runs = 16
    assert false_splits(runs, 25, LAWS["exponential"], lambda run: None) <= binom.ppf(1 - 1e-6, runs, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_few_maps_and_many_runs_keep_delta_too(law: str) -> None:
    runs = 45
    assert false_splits(runs, 25, LAWS[law], lambda run: FEW_MAPS) <= binom.ppf(1 - 1e-6, runs, 0.2)


@pytest.mark.slow
def test_maps_that_drift_and_remember_keep_delta_too() -> None:
    runs = 80
    parted = false_splits(runs, 25, LAWS["exponential"], lambda run: [Custom(Forgetful(run))])
    assert parted <= binom.ppf(1 - 1e-6, runs, 0.2)


def test_the_check_of_error_rates_can_fail() -> None:
    """A map that looks at the place of a sample in its block, not at the sample, breaks the assumption."""
    cheat = Custom(lambda x: np.linspace(-1.0, 1.0, len(x))[:, None])
    assert false_splits(12, 25, LAWS["exponential"], lambda run: [cheat]) > binom.ppf(1 - 1e-6, 12, 0.2)


@pytest.mark.slow
def test_different_arms_are_always_told_apart_in_the_end() -> None:
    for seed in range(8):
        strategy = play(AnytimeKABC(4, 2, 0.2), at([0, 1.5]), seed, rounds=60)
        assert strategy.status == "decided"
        assert strategy.recommend() == truth(4, 2)


def test_ranks_among_few_order_statistics_tell_equal_arms_apart_no_more_often_than_delta(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which order statistics are kept depends on earlier rounds alone."""
    monkeypatch.setattr(maps_module, "_MOST_RANKS", 5)
    runs, delta, wrong = 80, 0.2, 0
    for seed in range(runs):
        strategy, rng = AnytimeKABC(3, None, delta, maps=[Ranks()]), np.random.default_rng(seed)
        for _ in range(14):
            if not strategy.stopped:
                strategy.tell({arm: rng.exponential(size=(n, 1)) for arm, n in strategy.ask().items()})
        assert isinstance(kept := strategy._found.learning.learners[0].map, Ranks)
        assert len(kept.past) == 5
        wrong += bool(strategy.evidence().told_apart.any())
    assert wrong <= binom.ppf(1 - 1e-4, runs, delta)
