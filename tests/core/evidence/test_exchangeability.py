"""Bets against an order: fair where there is none, rich where there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from kabc.core.evidence import exchangeability
from kabc.core.evidence.exchangeability import order_evidence, orders_evidence

Law = Callable[[int, np.random.Generator], NDArray[np.float64]]


def autoregressive(rho: float) -> Law:
    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        noise = rng.normal(size=n)
        values = noise.copy()
        for now in range(1, n):
            values[now] = rho * values[now - 1] + np.sqrt(1 - rho**2) * noise[now]
        return values

    return draw


def test_every_bet_is_fair_whatever_the_past() -> None:
    """The mean of each expert's factor over the next rank is 1: over all gaps, and finely within them."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 9, 40):
        past = exchangeability._ranked([autoregressive(0.8)(n, rng)], [rng])
        within = (np.arange(2000) + 0.5) / 2000
        total = np.zeros(exchangeability._N_EXPERTS)
        for slot in range(n):
            # sample n in this gap, at each of many places in it
            steps = np.tile(past, len(within))
            steps[0, -1], steps[1, -1] = slot, within
            total += exchangeability._factors(steps)[-1].mean(axis=0) / n
        np.testing.assert_allclose(total, 1.0, atol=0.015)


def test_ranks_are_those_of_the_samples_before() -> None:
    found = exchangeability._ranked([np.array([3.0, 1.0, 2.0, 5.0, 2.5])], np.random.default_rng(0).spawn(1))
    slot, _, before, left, right = found[..., 0]
    assert slot.tolist() == [0, 0, 1, 3, 2]
    assert before.tolist() == [-1, 0, 0, 1, 3]
    # before 2.5 came 5; its neighbour below is 3, which 1 followed; it has none above
    assert (left[4], right[4]) == (0, -1)
    # before 5 came 2; its neighbours are 1, which 2 followed, and 3, which 1 followed
    assert (left[3], right[3]) == (1, 0)


def test_ranks_of_many_series_are_those_that_sorting_again_for_each_sample_gives() -> None:
    rng = np.random.default_rng(2)
    series = [np.round(rng.normal(size=n), 1) for n in (17, 0, 1, 2, 30, 17)]
    series[4][3] = np.nan
    found = exchangeability._ranked(series, np.random.default_rng(1).spawn(6))
    for values, rng, got in zip(series, np.random.default_rng(1).spawn(6), np.moveaxis(found, 2, 0), strict=True):
        ties, within = rng.random(len(values)), rng.random(len(values))
        rank = np.argsort(np.lexsort((ties, values)))
        expected = np.full((5, 30), -1.0)
        expected[1, : len(values)] = within
        for now in range(len(values)):
            past = sorted(rank[:now].tolist())
            place = past.index(rank[now - 1]) if now else -1
            expected[0, now] = sum(one < rank[now] for one in past)
            expected[2, now] = place
            for row, near in ((3, place - 1), (4, place + 1)):
                if now > 1 and 0 <= near < now:
                    followed = rank.tolist().index(past[near]) + 1
                    expected[row, now] = past.index(rank[followed])
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("stops", [False, True])
def test_independent_samples_seldom_look_ordered(ties: bool, stops: bool) -> None:
    """Also when the samples decide how many are drawn. P(evidence >= 20) <= 1/20, for one arm and for all together."""
    rng = np.random.default_rng(3)
    runs, single, together = 150, 0, 0
    for _ in range(runs):
        series = [rng.normal(size=60) for _ in range(3)]
        if ties:
            series = [np.round(one) for one in series]
        if stops:  # as soon as a mean looks large
            series = [one[: 8 + int(np.argmax(one[8:] > 1.0))] for one in series]
        found = order_evidence(series, rng.spawn(3), min(map(len, series)))
        single += int(found.log_evidence[0] >= np.log(20))
        together += int(found.log_together >= np.log(20))
    most = binom.ppf(1 - 1e-4, runs, 1 / 20)
    assert single <= most
    assert together <= most


ORDERED: dict[str, tuple[Law, bool]] = {
    "AR 0.5": (autoregressive(0.5), True),
    "AR 0.8": (autoregressive(0.8), True),
    "AR 0.9": (autoregressive(0.9), True),
    "AR 0.99": (autoregressive(0.99), True),
    "AR -0.5": (autoregressive(-0.5), True),
    "each value five times": (lambda n, rng: np.repeat(rng.normal(size=n // 5), 5), True),
    "ten values again and again": (lambda n, rng: np.tile(rng.normal(size=10), n // 10), True),
    "a drift": (lambda n, rng: rng.normal(size=n) + np.arange(n) / 50, False),
    "a growing spread": (lambda n, rng: rng.normal(size=n) * (1 + np.arange(n) / 20), False),
    "a late change": (lambda n, rng: rng.normal(size=n) + 2.0 * (np.arange(n) > 0.8 * n), False),
}


@pytest.mark.parametrize("name", ORDERED)
def test_an_order_is_found_and_named(name: str) -> None:
    law, dependent = ORDERED[name]
    rngs = np.random.default_rng(5).spawn(20)
    found = order_evidence([law(200, rng) for rng in rngs], rngs, 200)
    assert np.mean(found.log_evidence > np.log(1000)) >= 0.8
    assert np.mean(found.dependent == dependent) >= 0.8
    assert found.log_together > np.log(1e6)


def test_few_samples_of_many_arms_are_enough_when_all_of_them_depend() -> None:
    rngs = np.random.default_rng(6).spawn(12)
    found = order_evidence([autoregressive(0.9)(14, rng) for rng in rngs], rngs, 14)
    assert found.log_together > np.log(200)
    assert np.mean(found.log_evidence > np.log(12 * 200)) < 0.5  # one arm alone shows little


def test_all_together_read_only_what_all_have() -> None:
    rngs = np.random.default_rng(7).spawn(2)
    series = [autoregressive(0.9)(300, rng) for rng in rngs]
    none = order_evidence(series, rngs, 0)
    assert none.log_together == 0
    assert none.log_evidence.min() > np.log(1e6)


def test_nothing_and_one_sample_say_nothing() -> None:
    assert order_evidence([], [], 0).log_together == 0
    found = order_evidence([np.zeros(0), np.ones(1)], np.random.default_rng(0).spawn(2), 1)
    assert found.log_evidence.tolist() == [0, 0]


def test_many_series_are_worked_off_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def evidence() -> NDArray[np.float64]:
        rngs = np.random.default_rng(8).spawn(6)
        return order_evidence([rng.normal(size=10 + 5 * i) for i, rng in enumerate(rngs)], rngs, 0).log_evidence

    whole = evidence()
    monkeypatch.setattr(exchangeability, "_AT_A_TIME", 1)
    np.testing.assert_allclose(evidence(), whole)


@pytest.mark.parametrize("common", [0, 3, 40])
def test_columns_at_once_are_columns_one_by_one(common: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = [[np.round(rng.normal(size=n), 1) for n in (9, 20, 1, 14)] for _ in range(3)]
    each = [order_evidence(some, np.random.default_rng(at).spawn(4), common) for at, some in enumerate(columns)]
    for at_a_time in (4_000_000, 5_000):
        monkeypatch.setattr("kabc.core.evidence.exchangeability._AT_A_TIME", at_a_time)
        rngs = [np.random.default_rng(at).spawn(4) for at in range(3)]
        found = orders_evidence(columns, lambda some: [rngs[at][i] for at, i in some], common)  # noqa: B023
        for one, other in zip(found, each, strict=True):
            np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-9, atol=1e-12)
            assert (one.dependent == other.dependent).all()
            assert one.log_together == pytest.approx(other.log_together, rel=1e-9, abs=1e-12)
