"""KABC: the published algorithm by default, and switches that keep its proof."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc import KABC, Gaussian, Linear, Partition, RandomFeatures, SettingsError
from kabc.core.kernels import Kernel
from tests import literal

Samples = dict[int, NDArray[np.float64]]
CENTRES = [0.0, 0.0, 8.0, 8.0, 16.0]
TRUTH = Partition.of([0, 0, 1, 1, 2])


def normal(request: Mapping[int, int], rng: np.random.Generator) -> Samples:
    return {arm: rng.normal(CENTRES[arm], 1.0, (count, 1)) for arm, count in request.items()}


def run(strategy: KABC, seed: int = 0) -> KABC:
    rng = np.random.default_rng(seed)
    while not strategy.stopped:
        strategy.tell(normal(strategy.ask(), rng))
    return strategy


def published(**settings: Any) -> KABC:
    return KABC(5, 3, 0.1, Gaussian(bandwidth=1.0), **settings)


def test_the_schedule_is_that_of_algorithm_2() -> None:
    strategy = published()
    for k in range(1, 12):
        delta_k = 0.1 / (4 * k**2)
        assert strategy.schedule.delta(k) == pytest.approx(delta_k)
        assert strategy.schedule.n(k) == math.ceil(2**k * math.log(8 * (25 - 5) / delta_k))


def test_published_rounds_use_fresh_samples_and_count_them_all() -> None:
    strategy = run(published())
    assert strategy.recommend().matches(TRUTH)
    assert strategy.recommend().certified
    assert (strategy.evidence().told_apart == ~np.equal.outer(TRUTH.labels, TRUTH.labels)).all()
    assert [r.number for r in strategy.rounds] == list(range(1, len(strategy.rounds) + 1))
    assert strategy.n_samples == 5 * sum(strategy.schedule.n(r.number) for r in strategy.rounds)
    assert strategy.evidence().counts.tolist() == [strategy.rounds[-1].n] * 5


def test_round_k_has_the_threshold_of_the_paper_at_delta_k() -> None:
    strategy, rng = published(), np.random.default_rng(0)
    for k in range(1, 4):
        strategy.tell(normal(strategy.ask(), rng))
        seen, n = strategy.evidence(), strategy.schedule.n(k)
        limit = literal.threshold(seen.variances[0], seen.variances[1], n, 5, 0.1 / (4 * k**2), 1.0)
        assert seen.thresholds[0, 1] == pytest.approx(limit)


def test_kept_samples_are_asked_for_once() -> None:
    strategy = run(published(keep_samples=True))
    assert strategy.recommend().matches(TRUTH)
    assert strategy.n_samples == 5 * strategy.rounds[-1].n == 5 * strategy.schedule.n(strategy.rounds[-1].number)


def test_kept_samples_give_the_same_evidence_as_one_call_with_all_of_them() -> None:
    rng = np.random.default_rng(5)
    kept = published(keep_samples=True)
    told: list[Samples] = []
    while len(told) < 3:
        told.append(normal(kept.ask(), rng))
        kept.tell(told[-1])
    at_once = published(keep_samples=True, first_round=3)
    at_once.ask()
    at_once.tell({arm: np.concatenate([part[arm] for part in told]) for arm in range(5)})
    assert kept.evidence().distances == pytest.approx(at_once.evidence().distances, abs=1e-6)
    assert kept.evidence().thresholds == pytest.approx(at_once.evidence().thresholds)


@pytest.mark.parametrize("spending", ["published", "full"])
@pytest.mark.parametrize("first", [1, 2, 5])
def test_error_shares_never_sum_to_more_than_delta(spending: Any, first: int) -> None:
    schedule = published(spending=spending, first_round=first).schedule
    spent = math.fsum(schedule.delta(k) for k in range(first, 200_000))
    assert spent <= 0.1
    if spending == "full":
        assert spent == pytest.approx(0.1, rel=1e-4)
        if first == 1:
            assert schedule.delta(3) == pytest.approx(6 * 0.1 / (math.pi**2 * 9))


def test_tight_settings_reproduce_the_totals_of_their_formula() -> None:
    """Union over arms, kept samples, full spending, from k = 2 at delta = 0.5: 920 for k = 5, 8320 for k = 8."""
    strategy = KABC(4, 2, 0.5, Gaussian(50.0), keep_samples=True, union="arms", first_round=1, spending="full")
    assert [4 * strategy.schedule.n(k) for k in (5, 6, 7, 8)] == [920, 1936, 4024, 8320]


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(radius=30.0), RandomFeatures(Gaussian(1.0), 64)])
def test_skipped_rounds_could_not_have_told_anything_apart(kernel: Kernel) -> None:
    strategy = KABC(4, 2, 0.05, kernel, skip_hopeless=True)
    first = strategy.schedule.first
    largest = math.sqrt(2 * (kernel.supremum - kernel.infimum))

    def least(k: int) -> float:
        schedule = strategy.schedule
        radii = schedule.threshold.radii(schedule.n(k), np.zeros(4), kernel, schedule.delta(k))
        return float(radii[0, 0] + radii[0, 1])

    assert least(first) < largest <= least(first - 1)
    assert first == 3


def test_the_farthest_possible_arms_are_not_parted_in_the_skipped_rounds() -> None:
    strategy = KABC(2, 2, 1.0, Gaussian(bandwidth=1.0))
    for _ in range(2):
        n = strategy.ask()[0]
        strategy.tell({0: np.zeros(n), 1: np.full(n, 1e6)})
        assert not strategy.stopped
    n = strategy.ask()[0]
    strategy.tell({0: np.zeros(n), 1: np.full(n, 1e6)})
    assert strategy.recommend().certified
    assert strategy.rounds[-1].number == 3


@pytest.mark.parametrize("growth", [1.05, 1.5, 3.0])
@pytest.mark.parametrize("keep_samples", [True, False])
def test_any_growth_above_one_stops_with_the_truth(growth: float, keep_samples: bool) -> None:
    strategy = run(published(growth=growth, keep_samples=keep_samples, skip_hopeless=True, first_round=2))
    assert strategy.recommend().matches(TRUTH)


def test_slow_growth_never_asks_for_nothing() -> None:
    strategy = KABC(2, 2, 1.0, Gaussian(1.0), keep_samples=True, growth=1.0001, threshold="bounded-differences")
    for _ in range(5):
        request = strategy.ask()
        assert min(request.values()) >= 1
        strategy.tell({arm: np.zeros(count) for arm, count in request.items()})


@pytest.mark.parametrize("threshold", ["variance-aware", "kernel-uniform", "bounded-differences", "tightest"])
@pytest.mark.parametrize("union", ["pairs", "arms"])
def test_every_threshold_finds_the_groups(threshold: Any, union: Any) -> None:
    assert run(published(threshold=threshold, union=union)).recommend().matches(TRUTH)


def test_tight_needs_less_than_half_of_the_published_budget() -> None:
    tight = run(KABC.tight(5, 3, 0.1, Gaussian(bandwidth=1.0)))
    assert tight.recommend().matches(TRUTH)
    assert tight.n_samples < run(published()).n_samples / 2


def test_representatives_give_the_components_of_all_pairs() -> None:
    every, some = run(published()), run(published(comparisons="representatives"))
    assert some.recommend().matches(every.recommend())
    assert some.n_samples == every.n_samples
    assert [r.n_groups for r in some.rounds] == [r.n_groups for r in every.rounds]
    known = ~np.isnan(some.evidence().distances)
    assert some.evidence().distances[known] == pytest.approx(every.evidence().distances[known], abs=1e-6)


@pytest.mark.parametrize("maker", [KABC, KABC.tight])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), RandomFeatures(Gaussian(1.0), 64)])
def test_many_arms_with_representatives_get_the_same_rounds_without_a_matrix_of_pairs(
    maker: Any, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kabc.strategies.cluster.MOST_LINKED", 20)
    n_arms, truth = 40, np.arange(40) * 7 % 4
    every, some = maker(n_arms, 4, 0.1, kernel), maker(n_arms, 4, 0.1, kernel, comparisons="representatives")
    rng, told = np.random.default_rng(3), np.zeros((n_arms, n_arms), dtype=bool)
    while not every.stopped:
        assert some.ask() == every.ask()
        drawn = {arm: rng.normal(1.5 * truth[arm], 1.0, n) for arm, n in every.ask().items()}
        every.tell(drawn)
        some.tell(drawn)
        assert some.rounds[-1] == every.rounds[-1]
        full, block = every.evidence(), some.evidence()
        known = ~np.isnan(block.values)
        assert block.values.shape == (n_arms, len(block.compared)) and len(block.compared) < n_arms
        assert block.values[known] == pytest.approx(full.distances[:, block.compared][known], abs=1e-6)
        assert block.limits[known] == pytest.approx(full.thresholds[:, block.compared][known])
        assert not (block.told_apart & ~full.told_apart).any()
        assert (block.told_apart == block.told_apart.T).all()
        assert not (told & ~block.told_apart).any()  # pairs told apart stay told apart
        told = block.told_apart
        assert some.recommend().n_groups >= some.n_groups_at_least
    assert some.recommend() == every.recommend() == Partition.of(truth.tolist(), certified=True)
    assert ((block.told > 0) == (truth[:, None] != truth[block.compared])).all()
    assert some.n_distances < every.n_distances == len(every.rounds) * n_arms * (n_arms - 1) // 2


def test_pairs_told_apart_with_earlier_representatives_stay_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.strategies.cluster.MOST_LINKED", 2)
    strategy = KABC(9, 4, 0.1, Gaussian(1.0), comparisons="representatives")
    rng, truth = np.random.default_rng(0), np.arange(9) % 3
    while strategy.n_groups_at_least < 3:
        strategy.tell({arm: rng.normal(8.0 * truth[arm], 1.0, n) for arm, n in strategy.ask().items()})
    before, k = strategy.evidence(), strategy.rounds[-1].number
    strategy.tell({arm: rng.normal(0.0, 1.0, n) for arm, n in strategy.ask().items()})  # now they look the same
    after = strategy.evidence()
    assert (strategy.rounds[-1].n_groups, strategy.n_groups_at_least) == (1, 3)
    assert before.n_told_apart == 15  # three representatives, each against six arms; three pairs are seen twice
    assert (after.told_in_round == before.told_in_round).all()
    assert after.told.max() == k
    assert strategy.recommend().n_groups == 1  # components of the last round, as published


def test_thousands_of_arms_with_representatives_fit_in_less_than_one_matrix_of_pairs() -> None:
    n_arms, truth = 2_500, np.arange(2_500) % 3
    strategy = KABC.tight(n_arms, 3, 0.1, RandomFeatures(Gaussian(2.0), 32), comparisons="representatives")
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        while not strategy.stopped:
            strategy.tell({arm: rng.normal(6.0 * truth[arm], 1.0, n) for arm, n in strategy.ask().items()})
            strategy.recommend()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert strategy.recommend() == Partition.of(truth.tolist(), certified=True)
    assert peak < 8 * n_arms**2
    assert strategy.n_distances < 0.02 * len(strategy.rounds) * n_arms**2 / 2


def test_with_more_than_k_components_the_published_rule_goes_on() -> None:
    strategy = KABC(5, 2, 0.1, Gaussian(bandwidth=1.0))
    rng = np.random.default_rng(0)
    while strategy.n_groups_at_least < 3:
        strategy.tell(normal(strategy.ask(), rng))
    assert not strategy.stopped
    assert strategy.ask()
    guess = strategy.recommend()
    assert guess.n_groups == 3  # never fewer than are certified
    assert not guess.certified


def test_with_refute_more_than_k_components_contradict_k() -> None:
    strategy = run(KABC(5, 2, 0.1, Gaussian(bandwidth=1.0), refute=True))
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 3
    assert not strategy.recommend().certified


def test_one_group_is_decided_in_the_first_round() -> None:
    strategy = KABC(3, 1, 0.05, Gaussian(1.0))
    n = strategy.ask()[0]
    strategy.tell({arm: np.random.default_rng(arm).normal(size=n) for arm in range(3)})
    assert strategy.status == "decided"
    assert strategy.n_samples == 3 * n


def test_before_the_end_the_groups_are_the_components_of_the_last_round_and_a_guess() -> None:
    strategy = published()
    assert strategy.recommend() == Partition.of([0] * 5)
    strategy.tell(normal(strategy.ask(), np.random.default_rng(0)))
    guess = strategy.recommend()
    assert guess == Partition.of([0] * 5)  # round 1 tells nothing apart
    assert not guess.certified


def test_constant_arms_have_no_variance_and_are_grouped() -> None:
    strategy = KABC(4, 2, 0.05, Gaussian(bandwidth=1.0))
    while not strategy.stopped:
        strategy.tell({arm: np.full(count, 10 * (arm % 2)) for arm, count in strategy.ask().items()})
    assert strategy.recommend().labels == (0, 1, 0, 1)
    assert strategy.evidence().variances.tolist() == [0, 0, 0, 0]


def test_relabelling_the_arms_relabels_the_answer_and_nothing_else() -> None:
    order = [3, 0, 4, 2, 1]
    plain, shuffled = published(), published()
    rng = np.random.default_rng(7)
    while not plain.stopped:
        samples = normal(plain.ask(), rng)
        plain.tell(samples)
        shuffled.ask()
        shuffled.tell({new: samples[old] for new, old in enumerate(order)})
    assert shuffled.n_samples == plain.n_samples
    assert shuffled.recommend().matches(Partition.of([plain.recommend().labels[old] for old in order]))
    assert shuffled.evidence().distances == pytest.approx(plain.evidence().distances[np.ix_(order, order)], abs=1e-6)


def test_the_guarantee_names_the_rule_that_was_used() -> None:
    text = "\n".join(published().guarantee().rule)
    assert "ceil(2^k L)" in text
    assert "fresh" in text
    assert "delta/(4 k^2)" in text
    tight = KABC.tight(5, 3, 0.1, Gaussian(1.0)).guarantee()
    assert any("different arms are independent" in a for a in tight.assumptions)
    assert not any("different arms are independent" in a for a in published().guarantee().assumptions)


def test_a_decided_grouping_is_claimed_with_k_and_delta_and_pairs_are_before() -> None:
    assert run(KABC(5, 3, 0.05, Gaussian(1.0))).guarantee().claim == (
        "If there are exactly 3 groups, this grouping is wrong with probability at most 5 %."
    )
    assert KABC(5, 3, 0.05, Gaussian(1.0)).guarantee().claim == (
        "Every pair listed as different really differs: wrong with probability at most 5 %."
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_arms": 1}, "n_arms.*at least 2.*1"),
        ({"n_arms": 2.5}, "n_arms.*2.5"),
        ({"n_arms": True}, "n_arms.*True"),
        ({"n_clusters": 0}, "n_clusters.*from 1 to 5.*0"),
        ({"n_clusters": 6}, "n_clusters.*from 1 to 5.*6"),
        ({"n_clusters": None}, "n_clusters.*None"),
        ({"delta": 0}, r"delta.*\(0, 1\].*0"),
        ({"delta": 1.01}, "delta.*1.01"),
        ({"delta": float("nan")}, "delta.*nan"),
        ({"delta": "0.1"}, "delta.*'0.1'"),
        ({"kernel": "gaussian"}, "kernel.*'gaussian'.*kabc.Gaussian"),
        ({"kernel": math.hypot}, "kernel.*kabc.Function"),
        ({"growth": 1}, "growth.*greater than 1.*1"),
        ({"growth": float("inf")}, "growth.*inf"),
        ({"first_round": 0}, "first_round.*at least 1.*0"),
        ({"spending": "all"}, "spending.*'all'"),
        ({"threshold": "none"}, "threshold.*'none'"),
        ({"union": "groups"}, "union.*'groups'"),
        ({"comparisons": "few"}, "comparisons.*'few'"),
    ],
)
def test_bad_settings_are_refused_with_value_and_cure(settings: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"n_arms": 5, "n_clusters": 3, "delta": 0.1, "kernel": Gaussian(1.0)}
    with pytest.raises(SettingsError, match=message):
        KABC(**(good | settings))


def test_delta_one_is_allowed_as_in_the_paper() -> None:
    assert run(KABC(5, 3, 1.0, Gaussian(1.0))).recommend().matches(TRUTH)


# ---------------------------------------------------------------- forecasts


def point_masses(n_arms: int, apart: float) -> dict[int, np.ndarray[Any, Any]]:
    return {arm: np.full(1, apart * (arm % 2)) for arm in range(n_arms)}


@pytest.mark.parametrize("make", [KABC, KABC.tight])
def test_without_noise_the_forecast_is_exact_from_the_first_round_on(make: Any) -> None:
    strategy = make(4, 2, 0.1, Gaussian(1.0), skip_hopeless=False)
    forecasts = []
    while not strategy.stopped:
        points = point_masses(4, 1.2)
        strategy.tell({arm: np.repeat(points[arm], n) for arm, n in strategy.ask().items()})
        more = strategy.forecast
        forecasts += [] if more is None else [strategy.n_samples + int(more.sum())]
    assert strategy.forecast is None  # nothing is left
    assert len(forecasts) > 1
    assert set(forecasts) == {strategy.n_samples}


def test_nothing_is_forecast_before_a_round_or_without_a_difference() -> None:
    strategy = KABC(2, 2, 0.1, Gaussian(1.0))
    assert strategy.forecast is None
    strategy.tell({arm: np.zeros(n) for arm, n in strategy.ask().items()})
    assert strategy.forecast is None
