"""The kernel distance of a tolerance is that of the change that people said, the smallest if there are several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.arrays import Array
from kabc.core.tolerances import KernelDistance, QuantileTolerance, Tolerance, parse
from tests.core.tolerances.examples import Waves, latencies, literal_distance

POOL = latencies()
PHI = Waves(POOL)


def tolerance(said: object, *columns: str) -> Tolerance:
    found = parse(said, columns or ["latency"])
    assert isinstance(found, Tolerance)
    return found


def smallest(*changed: Array) -> float:
    return min(literal_distance(POOL, one, PHI) for one in changed)


SD = float(POOL.std(ddof=1))


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("2%", (POOL * 1.02, POOL / 1.02)),
        ("50%", (POOL * 1.5, POOL / 1.5)),
        ("0.2 sd", (POOL + 0.2 * SD, POOL - 0.2 * SD)),
        (5, (POOL + 5, POOL - 5)),
        (lambda pool: pool**1.1, (POOL**1.1,)),
    ],
)
def test_the_smaller_of_both_directions_counts(said: object, changed: tuple[Array, ...]) -> None:
    found = tolerance(said)
    assert found.distance(POOL, PHI) == pytest.approx(smallest(*changed), rel=1e-12)
    for ours, theirs in zip(found.changes(POOL), changed, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_outliers_are_a_share_beyond_the_range_of_the_pool() -> None:
    width = np.ptp(POOL)
    far = [np.full_like(POOL, POOL.max() + width), np.full_like(POOL, POOL.min() - width)]
    eps = tolerance("1.3% outliers").distance(POOL, PHI)
    assert eps == pytest.approx(0.013 * smallest(*far), rel=1e-12)
    # twice the share is twice the distance
    assert tolerance("2.6% outliers").distance(POOL, PHI) == pytest.approx(2 * eps)


@pytest.mark.parametrize("n", [7, 50, 400])
@pytest.mark.parametrize("share", [0.05, 1.0, 7.0, 50.0])
def test_changed_rows_are_never_more_than_the_share(n: int, share: float) -> None:
    pool = latencies(n)
    for changed in tolerance(f"{share}% outliers").changes(pool):
        beyond = np.mean((changed > pool.max()) | (changed < pool.min()))
        assert 0.95 * share / 100 <= beyond <= share / 100


def test_all_columns_change_together_unless_they_are_named() -> None:
    pool = latencies(300, 2)
    phi = Waves(pool)
    together = tolerance("2%", "a", "b").distance(pool, phi)
    assert together == pytest.approx(min(literal_distance(pool, pool * f, phi) for f in (1.02, 1 / 1.02)))
    alone = [
        min(literal_distance(pool, pool * np.array(f), phi) for f in ((1.02, 1), (1 / 1.02, 1))),
        min(literal_distance(pool, pool + np.array(s), phi) for s in ((0, 3), (0, -3))),
    ]
    assert tolerance({"a": "2%", "b": 3}, "a", "b").distance(pool, phi) == pytest.approx(min(alone))
    assert tolerance({"a": "2%"}, "a", "b").distance(pool, phi) == pytest.approx(alone[0])


def test_standard_deviations_are_those_within_arms() -> None:
    rng = np.random.default_rng(3)
    arms = np.repeat(np.arange(5), 80)
    pool = rng.normal(100.0 * arms, 1.0)[:, None]
    up, _ = tolerance("0.5 sd").changes(pool, arms)
    assert float((up - pool).mean()) == pytest.approx(0.5, rel=0.1)
    up, _ = tolerance("0.5 sd").changes(pool)  # arms unknown: the pool is wide
    assert float((up - pool).mean()) > 50


def test_two_samples_have_a_standard_deviation() -> None:
    up, _ = tolerance("1 sd").changes(np.array([[-1.0], [1.0]]))
    np.testing.assert_allclose(up, [[-1 + 2**0.5], [1 + 2**0.5]])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_standard_deviation_is_right_at_any_scale(scale: float) -> None:
    up, down = tolerance("1 sd").changes(POOL * scale)
    np.testing.assert_allclose((up - down) / 2 / scale, SD, rtol=1e-9)


@pytest.mark.parametrize(
    ("said", "pool", "message"),
    [
        ("2%", np.zeros((20, 1)), "column latency is always 0 in the pilot.*absolute shift"),
        ("0.2 sd", np.full((20, 1), 3.3), r"column latency is constant in the pilot .always 3.3.*absolute shift"),
        ("1% outliers", np.full((20, 1), 3.3), "constant in the pilot"),
        ("1e-9%", POOL, "on 400 pilot samples it makes no difference that could be shown; choose a larger one"),
        (5, POOL * 1e30, "no difference that could be shown"),
        (lambda pool: pool, POOL, "the change made by <lambda>: on 400 pilot samples it makes no difference"),
    ],
)
def test_a_change_that_can_never_be_shown_is_refused(said: object, pool: Array, message: str) -> None:
    with pytest.raises(kabc.SettingsError, match=message):
        tolerance(said).distance(pool, Waves(POOL) if pool is POOL else Waves(pool))


def test_a_constant_column_has_no_spread_whatever_is_rounded() -> None:
    with pytest.raises(kabc.SettingsError, match="constant"):
        tolerance("0.2 sd").distance(np.full((7, 1), 0.1), Waves(np.full((7, 1), 1e-20)))


def test_a_named_column_that_never_varies_is_refused_and_one_of_many_is_not() -> None:
    pool = np.concatenate([latencies(100), np.full((100, 1), 7.0)], axis=1)
    phi = Waves(latencies(100, 2))
    assert tolerance("0.2 sd", "a", "b").distance(pool, phi) > 0.01
    with pytest.raises(kabc.SettingsError, match="column b is constant"):
        tolerance({"a": "0.2 sd", "b": "0.2 sd"}, "a", "b").distance(pool, phi)


def test_huge_values_stay_finite() -> None:
    pool = latencies(20) * 1e306
    for said in ("100000%", "100 sd", "20% outliers", 1e307):
        assert all(np.isfinite(changed).all() for changed in tolerance(said).changes(pool))


def fails(pool: Array) -> Array:
    raise KeyError("no such thing")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails, "'fails' failed on a pool of shape .400, 1.: .*no such thing"),
        (lambda pool: None, "must return the changed pool"),
        (lambda pool: pool * np.nan, "not finite"),
        (lambda pool: np.tile(pool, 2), "made 2 columns of 1"),
    ],
)
def test_a_function_that_makes_no_pool_is_refused(function: Any, message: str) -> None:
    with pytest.raises(kabc.SettingsError, match=message):
        tolerance(function).distance(POOL, PHI)


def test_a_function_may_change_its_pool_in_place() -> None:
    def doubled(pool: Array) -> Array:
        pool *= 2
        return pool

    before = POOL.copy()
    assert tolerance(doubled).distance(POOL, PHI) > 0.1
    assert (before == POOL).all()


def test_samples_with_other_columns_are_refused() -> None:
    with pytest.raises(kabc.SettingsError, match="made for 1 column, the samples have 2"):
        tolerance("2%").distance(latencies(10, 2), Waves(latencies(10, 2)))
    with pytest.raises(kabc.SampleError, match="must be numbers"):
        tolerance("2%").distance(np.array([["a"], ["b"]]), PHI)


def test_a_kernel_distance_is_what_it_is() -> None:
    assert KernelDistance(0.1).distance(POOL, PHI) == 0.1
    assert KernelDistance(0.1).changes(POOL) == []


def test_large_pools_are_thinned_without_a_pattern() -> None:
    arms = np.arange(30_000) % 3
    pool = np.random.default_rng(0).normal(10.0 * arms, 1.0)[:, None]
    phi = Waves(pool)
    thin, whole = tolerance(1).distance(pool, phi, arms), min(literal_distance(pool, pool + s, phi) for s in (1, -1))
    assert thin == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (latencies(50) - 30, "needs values that are not negative, and there is -.*{'p50': 5}"),
        (np.repeat([[0.0], [1.0]], [60, 40], axis=0), "p50 is 0 in the pilot"),
        (latencies(50, 2), "quantiles are those of one column, the samples have 2"),
    ],
)
def test_per_cent_of_a_quantile_needs_positive_values(pool: Array, message: str) -> None:
    found = parse({"p50": "2%"}, ["latency"])
    assert isinstance(found, QuantileTolerance)
    found.check(latencies(50))
    with pytest.raises(kabc.SettingsError, match=message):
        found.check(pool)
    absolute = parse({"p50": 2}, ["latency"])
    assert isinstance(absolute, QuantileTolerance)
    absolute.check(latencies(50) - 30)


@pytest.mark.parametrize(
    ("said", "too_narrow"), [("0.2 sd", False), ("1 sd", False), ("6 sd", True), ("50% outliers", False)]
)
def test_a_kernel_is_too_narrow_where_larger_changes_look_no_larger(said: str, too_narrow: bool) -> None:
    assert tolerance(said).overshoots(POOL, PHI) is too_narrow


def test_one_column_with_a_change_that_is_seen_well_is_enough() -> None:
    pool = latencies(columns=2)
    phi = Waves(pool)
    assert not tolerance({"a": "6 sd", "b": "0.2 sd"}, "a", "b").overshoots(pool, phi)
    assert tolerance({"a": "6 sd", "b": "6 sd"}, "a", "b").overshoots(pool, phi)


def test_one_column_whose_change_is_the_smallest_and_seen_badly_is_too_many() -> None:
    def phi(rows: Array) -> Array:  # sees little of the first column, and all of the second
        return np.column_stack([np.clip(rows[:, 0], -0.3, 0.3), 0.1 * rows[:, 1]])

    assert tolerance({"a": 5, "b": 5}, "a", "b").overshoots(np.zeros((20, 2)), phi)
    assert not tolerance({"a": 0.1, "b": 5}, "a", "b").overshoots(np.zeros((20, 2)), phi)


def test_only_a_change_in_units_of_people_can_be_too_large_for_a_kernel() -> None:
    assert not KernelDistance(1.5).overshoots(POOL, PHI)
    assert not tolerance(lambda pool: pool * 100).overshoots(POOL, PHI)
