"""kabc.plan: what a run will cost, and that runs cost what it says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import SettingsError


def test_the_theorem_is_restated_with_its_constants() -> None:
    seen = kabc.plan(12, 3, 0.05, gap=0.3, variances=[0.5, 0.6, 0.4])
    s2 = min(0.09 / 0.6, 0.6)
    k_star = math.ceil(math.log2(128 / s2))
    assert seen.squared_separation == pytest.approx(s2)
    assert seen.k_star == k_star == seen.sure_round
    assert seen.theorem_bound == pytest.approx(8 * 12 * 128 / s2 * math.log(32 * 132 * k_star**2 / 0.05))


def test_the_schedule_is_the_one_that_the_strategy_follows() -> None:
    seen = kabc.plan(4, 2, 0.1, gap=0.5)
    strategy = kabc.KABC(4, 2, 0.1, kabc.Gaussian(1.0))
    total = 0
    for row in seen.rounds:
        total += 4 * strategy.schedule.n(row.number)
        assert (row.n, row.n_samples) == (strategy.schedule.n(row.number), total)
    assert seen.sure_samples == total <= seen.theorem_bound
    assert seen.expected_samples < seen.sure_samples


def test_the_expected_round_is_the_first_with_its_threshold_under_the_gap() -> None:
    seen = kabc.plan(4, 2, 0.1, gap=0.5, variances=0.3)
    under = [row.number for row in seen.rounds if row.threshold < 0.5]
    assert seen.expected_round == under[0]


def test_runs_stop_in_the_expected_round() -> None:
    """Two point masses under a Gaussian kernel: gap^2 = 2 - 2 exp(-x^2/2) exactly, variance 0."""
    x = 1.2
    gap = math.sqrt(2 - 2 * math.exp(-x * x / 2))
    for strategy in ("kabc", "kabc-tight"):
        seen = kabc.plan(4, 2, 0.1, gap=gap, variances=0.0, strategy=strategy)
        arms = [lambda n, rng, v=value: np.full(n, v) for value in (0.0, 0.0, x, x)]
        result = kabc.cluster(arms, 2, 0.1, kernel=kabc.Gaussian(1.0), strategy=strategy, seed=0)
        assert result.rounds[-1].number == seen.expected_round
        assert result.n_samples == seen.expected_samples


@pytest.mark.parametrize("strategy", ["kabc", "kabc-tight"])
def test_a_pilot_estimates_gap_and_variance(strategy: str) -> None:
    rng = np.random.default_rng(0)
    pilot = {name: rng.normal(mean, 1.0, 400) for name, mean in [("a", 0.0), ("b", 0.0), ("c", 2.0)]}
    kernel = kabc.Gaussian(1.0)
    seen = kabc.plan(n_clusters=2, pilot=pilot, kernel=kernel, strategy=strategy)
    within, across = 1 / math.sqrt(3), math.exp(-4 / 6) / math.sqrt(3)  # E g of normals with unit variances
    assert seen.estimated
    assert seen.n_arms == 3
    assert seen.gap == pytest.approx(math.sqrt(2 * (within - across)), rel=0.15)
    assert seen.variance == pytest.approx(1 - within, rel=0.1)


def test_tight_settings_cost_less() -> None:
    published = kabc.plan(12, 3, gap=0.3, variances=0.5)
    tight = kabc.plan(12, 3, gap=0.3, variances=0.5, strategy="kabc-tight")
    assert tight.expected_samples < published.expected_samples / 2


def test_without_variances_the_plan_is_for_the_worst() -> None:
    assert kabc.plan(5, 2, gap=0.4).variance == 1.0
    assert kabc.plan(5, 2, gap=0.4).expected_samples >= kabc.plan(5, 2, gap=0.4, variances=0.5).expected_samples


def test_the_table_shows_every_round_and_both_stops() -> None:
    seen = kabc.plan(4, 2, 0.1, gap=0.5, variances=0.3)
    text = str(seen)
    assert text.count("\n") == len(seen.rounds) + 3
    assert "expected to stop" in text
    assert "sure to stop" in text
    assert f"{math.ceil(seen.theorem_bound):,}" in text


def test_a_plan_is_printed_in_money_and_time_where_these_are_known() -> None:
    seen = kabc.plan(4, 2, 0.1, gap=0.5, variances=0.3, price=0.01, seconds_per_sample=2.0)
    assert f"price: {seen.expected_samples / 100:,.6g} (expected)" in str(seen)
    assert f"time: {seen.expected_samples * 2:,.6g} s (expected)" in str(seen)


# ---------------------------------------------------------------- strategies without a schedule


def test_the_anytime_strategy_is_planned_from_an_assumed_gap_by_simulated_runs() -> None:
    seen = kabc.plan(3, 2, 0.2, gap=3.0, strategy="anytime", price=0.5, progress=False)
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 3.0, 0.0)]
    taken = [kabc.cluster(arms, 2, 0.2, seed=seed).n_samples for seed in range(5)]
    assert np.median(taken) / 2 < seen.expected_samples < np.median(taken) * 2
    assert len(seen.samples) == 5
    assert min(seen.samples) <= seen.expected_samples <= max(seen.samples)
    assert seen.sure_samples is None
    assert seen.n_given_up == 0
    text = str(seen)
    assert "3 standard deviations apart: a guess, no bound is proved" in text
    assert f"{seen.expected_samples:,}" in text
    assert f"{seen.expected_samples / 2:,.6g} (median)" in text


def test_the_anytime_strategy_is_planned_from_a_pilot() -> None:
    rng = np.random.default_rng(0)
    pilot = {name: rng.normal(mean, 1, 40) for name, mean in (("a", 0.0), ("b", 0.0), ("c", 3.0))}
    seen = kabc.plan(n_clusters=2, delta=0.2, pilot=pilot, strategy="anytime", progress=False)
    again = kabc.plan(n_clusters=2, delta=0.2, pilot=pilot, strategy="anytime", progress=False)
    assert seen == again  # seeded
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 0.0, 3.0)]
    taken = [kabc.cluster(arms, 2, 0.2, seed=seed).n_samples for seed in range(5)]
    assert np.median(taken) / 2 < seen.expected_samples < np.median(taken) * 2
    assert "pilot" in str(seen)


def test_simulated_runs_that_take_too_long_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.planning.rehearsal._MOST_SAMPLES", 8)
    seen = kabc.plan(2, 2, gap=0.01, strategy="anytime", progress=False)
    assert seen.n_given_up == 5
    assert "5 of 5 runs were given up" in str(seen)


def test_a_simulated_plan_says_what_it_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    lines: list[str] = []
    kabc.plan(2, 2, gap=5.0, strategy="anytime", progress=lines.append)
    assert "simulated run 1" in lines[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": None}, "either gap"),
        ({"pilot": [[0.0, 1.0]] * 4}, "either gap"),
        ({"gap": 0}, "gap.*0"),
        ({"gap": 0, "strategy": "anytime"}, "gap.*0"),
        ({"kernel": kabc.Gaussian(1.0), "strategy": "anytime"}, "'anytime' has no kernel"),
        ({"gap": None, "pilot": [[0.0, 1.0]] * 3, "strategy": "anytime"}, "pilot has 3 arms, n_arms is 4"),
        ({"price": -1.0}, "price.*-1"),
        ({"gap": 1.5}, r"gap 1\.5.*1\.414"),
        ({"variances": [-1.0]}, "variances"),
        ({"variances": []}, "variances"),
        ({"n_arms": None}, "n_arms"),
        ({"n_clusters": 9}, "n_clusters"),
        ({"strategy": "other"}, "'other'"),
        ({"gap": None, "pilot": [[0.0, 1.0], [5.0, 6.0]]}, "2 arms"),
        ({"gap": None, "pilot": [[0.0, 1.0, 2.0]] * 4}, "no gap"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"n_arms": 4, "n_clusters": 2, "delta": 0.1, "gap": 0.5}
    with pytest.raises(SettingsError, match=message):
        kabc.plan(**(good | change))
