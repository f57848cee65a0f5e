"""Intervals of quantiles: true at all times for any distribution, and narrow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom, norm

import kabc
from kabc.core.evidence import quantiles
from kabc.core.evidence.quantiles import SIDES, QuantileBets, least_ones, log_wealth, quantile_margins

Law = Callable[[np.random.Generator, int], NDArray[np.float64]]


def log_one(k: int, n: int, p: float) -> float:
    return float(log_wealth(np.array([k]), np.array([n]), p)[0])


def literal_wealth(k: int, n: int, p: float) -> float:
    """The mixture as it is written in the theory, by numerical integration."""
    total = 0.0
    for c in quantiles._CONCENTRATIONS.tolist():
        weight = quad(lambda t, c=c: t ** (c * p - 1) * (1 - t) ** (c * (1 - p) - 1), 0, p)[0]
        bets = quad(
            lambda t, c=c: (
                t ** (c * p - 1) * (1 - t) ** (c * (1 - p) - 1) * (t / p) ** k * ((1 - t) / (1 - p)) ** (n - k)
            ),
            0,
            p,
        )[0]
        total += bets / weight / len(quantiles._CONCENTRATIONS)
    return total


@pytest.mark.parametrize("p", [0.3, 0.5, 0.9])
def test_the_evidence_is_the_mixture_of_the_theory(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "_CONCENTRATIONS", np.array([10.0, 100.0]))  # others underflow in the integral
    for k, n in [(0, 0), (0, 5), (3, 8), (8, 8), (10, 40)]:
        assert log_one(k, n, p) == pytest.approx(math.log(literal_wealth(k, n, p)), abs=1e-6)


@pytest.mark.parametrize("p", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("n", [0, 1, 7, 400])
def test_the_evidence_is_a_martingale_at_p(p: float, n: int) -> None:
    """Its value is the mean of its next values, whatever was seen: so it starts at 1 and keeps that mean."""
    for k in {0, n // 3, n // 2, n}:
        ahead = np.logaddexp(math.log(p) + log_one(k + 1, n + 1, p), math.log1p(-p) + log_one(k, n + 1, p))
        assert ahead == pytest.approx(log_one(k, n, p), abs=1e-9)
    assert log_one(0, 0, p) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_above_p_the_evidence_falls_on_average(p: float) -> None:
    for n in (1, 20, 200):
        ones = np.arange(n + 1)
        values = np.exp(log_wealth(ones, np.full(n + 1, n), p))
        for chance in (p, (1 + p) / 2, 1.0):
            assert float(binom.pmf(ones, n, chance) @ values) <= 1 + 1e-9
        assert (np.diff(values) <= 0).all()  # more ones, less evidence


def test_the_evidence_stays_a_number_for_a_billion_samples() -> None:
    n = 10**9
    for p in (0.001, 0.5, 0.999):
        ones = np.array([0, int(n * p / 2), int(n * p), n])
        values = log_wealth(ones, np.full(4, n), p)
        assert not np.isnan(values).any()
        assert values[0] > 1e5 and values[2] < 0 and values[3] < 0


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.95])
def test_the_fewest_ones_are_found(p: float) -> None:
    lengths = np.array([0, 1, 2, 10, 77, 300])
    found = least_ones(lengths, p, math.log(20))
    for n, least in zip(lengths.tolist(), found.tolist(), strict=True):
        enough = [k for k in range(n + 1) if log_one(k, n, p) < math.log(20)]
        assert least == min(enough)


def literal_interval(values: NDArray[np.float64], p: float, level: float) -> tuple[float, float]:
    """Every number that neither side rejects, from counts alone: the candidates are the samples and what is between."""
    n = len(values)
    points = np.unique(values)
    between = np.concatenate([[points[0] - 1], (points[1:] + points[:-1]) / 2, [points[-1] + 1]])
    left = [
        q
        for q in sorted([*points, *between])
        if log_one(int(np.sum(values <= q)), n, p) < level and log_one(int(np.sum(values >= q)), n, 1 - p) < level
    ]
    low = -math.inf if left[0] == between[0] else left[0]
    return low, math.inf if left[-1] == between[-1] else left[-1]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_an_interval_holds_what_no_side_rejects(p: float, ties: bool) -> None:
    rng = np.random.default_rng(4)
    for n in (1, 5, 40, 120):
        values = rng.normal(size=n)
        values = np.round(2 * values) if ties else values
        bets = QuantileBets(1, [p])
        bets.add(0, values)
        assert tuple(bets.intervals(math.log(10))[0, 0]) == literal_interval(values, p, math.log(10))


def test_an_interval_has_as_many_sides_as_are_counted() -> None:
    assert QuantileBets(3, [0.5, 0.9]).intervals(1.0).shape == (3, 2, SIDES)


def test_nothing_is_known_of_an_arm_without_samples() -> None:
    bets = QuantileBets(2, [0.5])
    bets.add(1, np.ones(200))
    intervals = bets.intervals(math.log(100))
    assert intervals[0, 0].tolist() == [-math.inf, math.inf]
    assert intervals[1, 0].tolist() == [1.0, 1.0]
    assert bets.counts.tolist() == [0, 200]


def test_ends_only_move_inwards_and_a_looser_look_never_helps_a_stricter_one() -> None:
    rng = np.random.default_rng(5)
    bets, strict, fresh = (QuantileBets(1, [0.5]) for _ in range(3))
    before = np.array([-math.inf, math.inf])
    for _ in range(60):
        values = rng.standard_cauchy(7)
        for one in (bets, strict, fresh):
            one.add(0, values)
        now = bets.intervals(math.log(20))[0, 0]
        assert now[0] >= before[0] and now[1] <= before[1]
        before = now
        stricter = bets.intervals(math.log(400))
        np.testing.assert_array_equal(stricter, strict.intervals(math.log(400)))
        alone = fresh._now(math.log(20))[0, 0]
        assert now[0] >= alone[0] and now[1] <= alone[1]


def poisson(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.poisson(1.0, n).astype(np.float64)


def coin(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.integers(0, 2, n).astype(np.float64)


# the smallest and the largest p-quantile for p = 0.5 and 0.9
LAWS: dict[str, tuple[Law, list[tuple[float, float]]]] = {
    "normal": (lambda rng, n: rng.normal(size=n), [(0.0, 0.0), (norm.ppf(0.9), norm.ppf(0.9))]),
    "Cauchy": (lambda rng, n: rng.standard_cauchy(n), [(0.0, 0.0), (math.tan(0.4 * math.pi),) * 2]),
    "Poisson": (poisson, [(1.0, 1.0), (2.0, 2.0)]),
    "a coin": (coin, [(0.0, 1.0), (1.0, 1.0)]),  # every number from 0 to 1 is a median
    "a constant": (lambda rng, n: np.full(n, 3.0), [(3.0, 3.0), (3.0, 3.0)]),
}


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_stay_inside_at_all_times(name: str) -> None:
    """Each of many arms is a run of its own, looked at after every third sample. P(ever outside) <= alpha."""
    law, truth = LAWS[name]
    runs, alpha, step = 400, 0.2, 3
    rng = np.random.default_rng(6)
    bets = QuantileBets(runs, [0.5, 0.9])
    threshold = math.log(SIDES / alpha)
    for _ in range(80):
        for arm in range(runs):
            bets.add(arm, law(rng, step))
        intervals = bets.intervals(threshold)  # running: outside once is outside for ever
    for place, (least, most) in enumerate(truth):
        outside = (intervals[:, place, 0] > least) | (intervals[:, place, 1] < most)
        assert outside.sum() <= binom.ppf(1 - 1e-4, runs, alpha)


def test_intervals_are_nearly_as_narrow_as_one_look_allows() -> None:
    rng = np.random.default_rng(7)
    for p, n in ((0.5, 300), (0.5, 10_000), (0.9, 3000)):
        bets = QuantileBets(20, [p])
        for arm in range(20):
            bets.add(arm, rng.uniform(size=n))
        threshold = math.log(12 * SIDES / 0.05)
        width = float(np.ptp(bets.intervals(threshold), axis=-1).mean())
        one_look = 2 * math.sqrt(2 * threshold * p * (1 - p) / n)  # Chernoff, a single fixed n
        assert one_look < width < 1.35 * one_look


def arms_with_medians(*medians: float, n: int) -> QuantileBets:
    rng = np.random.default_rng(8)
    bets = QuantileBets(len(medians), [0.5, 0.9])
    for arm, median in enumerate(medians):
        bets.add(arm, rng.lognormal(math.log(median), 0.1, n))
    return bets


def test_the_same_and_the_different_are_found() -> None:
    bets = arms_with_medians(20.0, 20.0, 21.0, n=12_000)
    margins = quantile_margins(bets.intervals(math.log(3 * 2 * SIDES / 0.05)), np.array([True, True]))
    same, different = margins.same(np.array([0.02, 0.04])), margins.different
    assert same[0, 1] and not different[0, 1]
    assert different[0, 2] and different[1, 2] and not same[0, 2]
    assert 0.02 < margins.apart_at_least[0, 0, 2] < 0.05 < margins.same_within[0, 0, 2] < 0.08
    assert not margins.same(np.array([0.02, 0.001])).any(where=~np.eye(3, dtype=bool))  # every quantile must agree


def ratio(a: float, b: float) -> float:
    return max(a / b, b / a) - 1


def difference(a: float, b: float) -> float:
    return abs(a - b)


def test_margins_of_every_pair_are_the_extremes_of_both_intervals() -> None:
    intervals = np.sort(np.random.default_rng(9).uniform(1, 2, (5, 2, 2)), axis=-1)
    margins = quantile_margins(intervals, np.array([True, False]))
    for i, j in itertools.permutations(range(5), 2):
        for place, apart in enumerate((ratio, difference)):
            (low, high), (lower, higher) = intervals[i, place], intervals[j, place]
            corners = [apart(a, b) for a in (low, high) for b in (lower, higher)]
            least = 0.0 if low <= higher and lower <= high else min(corners)
            assert margins.same_within[place, i, j] == pytest.approx(max(corners))
            assert margins.apart_at_least[place, i, j] == pytest.approx(least)


def test_a_ratio_is_not_known_while_a_quantile_may_be_zero_or_less() -> None:
    intervals = np.array([[[-1.0, 2.0]], [[1.0, 2.0]], [[0.0, 1.0]], [[-math.inf, math.inf]], [[5.0, math.inf]]])
    margins = quantile_margins(intervals, np.array([True]))
    off = ~np.eye(5, dtype=bool)
    assert np.isinf(margins.same_within[0][off]).all()
    assert margins.apart_at_least[0, 1, 4] == pytest.approx(1.5)  # at least 5 against at most 2
    absolute = quantile_margins(intervals, np.array([False]))
    assert absolute.same_within[0, 0, 1] == 3.0
    assert absolute.apart_at_least[0, 2, 4] == 4.0
    assert not np.isnan(absolute.same_within).any() and not np.isnan(absolute.apart_at_least).any()


def test_a_constant_is_the_same_as_itself_within_nothing() -> None:
    bets = QuantileBets(2, [0.5])
    for arm in range(2):
        bets.add(arm, np.full(100, 7.0))
    margins = quantile_margins(bets.intervals(math.log(80)), np.array([True]))
    assert margins.same_within[0, 0, 1] == 0.0 and not margins.different.any()


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_a_probability_outside_zero_and_one_is_refused(p: float) -> None:
    with pytest.raises(kabc.SettingsError, match="between 0 and 1"):
        QuantileBets(2, [0.5, p])


def test_values_that_are_no_numbers_of_one_column_are_refused() -> None:
    bets = QuantileBets(1, [0.5])
    with pytest.raises(kabc.SampleError, match="2 columns"):
        bets.add(0, np.ones((3, 2)))
    with pytest.raises(kabc.SampleError, match="not finite"):
        bets.add(0, [1.0, math.nan])
    assert bets.counts.tolist() == [0]
