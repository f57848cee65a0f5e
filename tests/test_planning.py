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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": None}, "either gap"),
        ({"pilot": [[0.0, 1.0]] * 4}, "either gap"),
        ({"gap": 0}, "gap.*0"),
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
