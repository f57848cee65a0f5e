"""What sameness costs: a table over tolerances, from a pilot, and that runs cost what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc import KabcError, SettingsError
from kabc.core.tolerances import QuantileTolerance, parse
from kabc.planning import SimulatedPlan, TolerancePlan
from kabc.planning.cost import Cost
from kabc.planning.tolerances import tolerance_plan
from kabc.strategies.tolerance.quantile_price import samples_of_arms


def pilot(means: list[float], n: int = 60, spread: float = 8.0, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {f"arm {i}": rng.normal(mean, spread, n) for i, mean in enumerate(means)}


EQUAL = pilot([100.0] * 6)
GROUPS = pilot([100.0, 140.0] * 3)


def test_the_table_has_the_tolerance_that_was_asked_for_and_multiples_of_it() -> None:
    plan = kabc.plan(pilot=EQUAL, tolerance="2%")
    assert [one.tolerance for one in plan.prices] == ["1 %", "2 %", "4 %", "10 %"]
    assert plan.asked is plan.prices[1]
    assert plan.expected_samples == plan.asked.samples
    counts = [one.samples_of_arm for one in plan.prices]
    assert counts == sorted(counts, reverse=True)
    # half the tolerance takes nearly four times as many, beside what a run takes anyway
    assert 3 < counts[0] / counts[1] < 4.2


@pytest.mark.parametrize("means", [[100.0] * 6, [100.0, 140.0] * 3, [100.0] * 5 + [140.0]])
@pytest.mark.parametrize("tolerance", ["5%", "0.4 sd"])
def test_runs_cost_what_the_plan_says(means: list[float], tolerance: str) -> None:
    """Within a factor of 2; benchmarks/tolerance_price.py has the figures."""
    plan = kabc.plan(pilot=pilot(means), tolerance=tolerance)
    arms = [lambda n, rng, mean=mean: rng.normal(mean, 8.0, n) for mean in means]
    result = kabc.cluster(arms, tolerance=tolerance, seed=3, progress=False)
    assert result.status == "decided"
    assert len(result.groups) == plan.n_groups
    assert 0.5 < plan.expected_samples / result.n_samples < 2


def test_the_groups_of_the_pilot_count() -> None:
    """Fewer opponents make sameness dearer; an arm alone needs no proof of sameness."""
    one, two = (kabc.plan(pilot=given, tolerance="0.3 sd") for given in (EQUAL, GROUPS))
    assert (one.n_groups, two.n_groups) == (1, 2)
    assert one.asked is not None and two.asked is not None
    assert two.asked.samples_of_arm > one.asked.samples_of_arm
    odd = kabc.plan(pilot=pilot([100.0] * 5 + [140.0]), tolerance="0.3 sd")
    assert odd.asked is not None
    assert odd.asked.samples < 6 * odd.asked.samples_of_arm


def test_the_price_is_printed_in_money_and_time() -> None:
    plan = kabc.plan(pilot=EQUAL, tolerance="5%", price=0.5, seconds_per_sample=2)
    text = str(plan)
    assert "an estimate: the pilot shows no group apart" in text
    assert f"{plan.expected_samples:,}" in text
    assert f"price: {0.5 * plan.prices[0].samples:,.6g} (2.5 %)" in text
    assert "time: " in text
    assert plan.sure_samples is None and plan.estimated


def test_without_k_round_tolerances_are_proposed() -> None:
    plan = kabc.plan(pilot=GROUPS, progress=False)
    assert isinstance(plan, SimulatedPlan)
    assert plan.within is not None
    assert plan.within.asked is None
    assert "2 %" in [one.tolerance for one in plan.within.prices]
    assert "not knowing the number of groups, ask for a tolerance" in str(plan)
    with_k = kabc.plan(n_clusters=2, pilot=GROUPS, progress=False)
    assert isinstance(with_k, SimulatedPlan) and with_k.within is None
    assert "tolerance" not in str(with_k)


def test_values_with_signs_are_proposed_standard_deviations() -> None:
    plan = kabc.plan(pilot=pilot([0.0, 60.0] * 2), progress=False)
    assert isinstance(plan, SimulatedPlan) and plan.within is not None
    assert [one.tolerance for one in plan.within.prices][-1] == "1 standard deviation"


def test_a_pilot_of_equal_arms_leads_to_a_tolerance() -> None:
    with pytest.raises(SettingsError, match=r"do not show any difference.*ask for a tolerance with tolerance="):
        kabc.plan(pilot=EQUAL, progress=False)


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        (kabc.KernelDistance(0.3), ["kernel distance 0.15", "kernel distance 0.3", "kernel distance 0.6"]),
        (lambda pool: pool * 1.05, None),
        ("20% outliers", ["10 % outliers", "20 % outliers", "40 % outliers"]),
        ({"value": 3}, ["value by 1.5", "value by 3", "value by 6", "value by 15"]),
    ],
)
def test_every_kind_of_tolerance_has_a_price(tolerance: Any, words: list[str] | None) -> None:
    plan = kabc.plan(pilot=EQUAL, tolerance=tolerance)
    assert isinstance(plan, TolerancePlan)
    if words is None:  # of a function there are no multiples
        assert plan.prices == (plan.asked,)
    else:
        assert [one.tolerance for one in plan.prices] == words


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pilot": EQUAL, "n_clusters": 2}, "n_clusters=2"),
        ({"pilot": EQUAL, "kernel": kabc.Gaussian(1.0)}, "kernel="),
        ({"pilot": EQUAL, "strategy": "anytime"}, "strategy 'anytime' takes no tolerance"),
        ({"gap": 2.0, "n_arms": 4}, "from a pilot"),
        ({"pilot": {name: rows[:3] for name, rows in EQUAL.items()}}, "at least 4 samples of each arm"),
        ({"pilot": EQUAL, "tolerance": {"p99.9": "2%"}}, "says too little of p99.9; take a larger pilot, 1,250"),
        ({"pilot": EQUAL, "tolerance": "2 furlongs"}, "furlongs"),
        ({"pilot": EQUAL, "tolerance": {"latency": "2%"}}, "there is no column 'latency'"),
        ({"pilot": EQUAL, "delta": 2.0}, "delta"),
        ({"pilot": [[1.0, 2.0] * 9]}, "arms"),
        ({"pilot": [np.ones((9, 1)), np.ones((9, 2))]}, "column"),
        ({"pilot": {"a": [0.0] * 9, "b": [0.0] * 9}}, "always 0 in the pilot"),
    ],
)
def test_what_cannot_be_planned_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(KabcError, match=message):
        kabc.plan(**({"tolerance": "2%"} | settings))


def test_proposals_that_cannot_be_measured_are_left_out() -> None:
    rows = [np.full((9, 1), 5.0)] * 3
    with pytest.raises(SettingsError, match="no tolerance that could be proven"):
        tolerance_plan(rows, 0.05, Cost())


# ------------------------------------------------------------ quantiles and categories


@pytest.mark.parametrize("factors", [[1.0] * 5, [1.0, 1.0, 1.0, 1.5, 1.5]])
def test_runs_with_quantiles_cost_what_the_plan_says(factors: list[float]) -> None:
    """Within a factor of 2; benchmarks/tolerance_price.py has the figures."""
    rng, tolerance = np.random.default_rng(0), {"p50": "15%", "p90": "20%"}
    rows = [factor * rng.lognormal(3.0, 0.3, 60) for factor in factors]
    plan = kabc.plan(pilot=rows, tolerance=tolerance)
    assert isinstance(plan, TolerancePlan) and plan.quantiles
    assert [one.tolerance for one in plan.prices][:2] == ["p50 by 7.5 %, p90 by 10 %", "p50 by 15 %, p90 by 20 %"]
    arms = [lambda n, rng, factor=factor: factor * rng.lognormal(3.0, 0.3, n) for factor in factors]
    result = kabc.cluster(arms, tolerance=tolerance, seed=3, progress=False)
    assert result.status == "decided" and len(result.groups) == plan.n_groups
    assert 0.5 < plan.expected_samples / result.n_samples < 2


def test_groups_within_the_tolerance_cost_more_than_equal_arms() -> None:
    rng = np.random.default_rng(1)
    rows = [np.column_stack([factor * rng.lognormal(3.0, 0.3, 400)]) for factor in (1.0, 1.0, 1.1, 1.1)]
    tolerance = parse({"p50": "20%"}, ["value"])
    assert isinstance(tolerance, QuantileTolerance)
    one, two = (samples_of_arms(rows, tolerance, np.array(labels), 0.05) for labels in ([0] * 4, [0, 0, 1, 1]))
    assert two.max() > one.max()


def test_categories_are_priced_by_their_shares() -> None:
    rng = np.random.default_rng(2)
    rows = [rng.choice([1.0, 2.0**40], (80, 1), p=[0.9, 0.1]) for _ in range(4)]
    plan = tolerance_plan(rows, 0.05, Cost(), tolerance="10% outliers", columns=["status"], categories=["status"])
    other = [np.where(one == 1.0, 5.0, 2.0) for one in rows]  # the same categories, with other codes
    again = tolerance_plan(other, 0.05, Cost(), tolerance="10% outliers", columns=["status"], categories=["status"])
    assert plan.prices == again.prices
