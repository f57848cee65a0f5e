"""A gate for quantiles: every named quantile within its tolerance of the reference, or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from kabc import Partition, SettingsError
from kabc.strategies.gate import QuantileGate
from kabc.strategies.gate.shares import QuantileShares
from kabc.strategies.tolerance.either import tolerance_strategy

Law = Callable[[float, int, np.random.Generator], NDArray[np.float64]]  # factor, n, rng

LAWS: dict[str, Law] = {
    "continuous": lambda factor, n, rng: factor * rng.lognormal(3.0, 0.3, n),
    "discrete": lambda factor, n, rng: factor * rng.choice([9.0, 10.0, 11.0, 30.0], n, p=[0.2, 0.5, 0.15, 0.15]),
    "heavy tail": lambda factor, n, rng: factor * (1 + rng.pareto(0.8, n)),  # no mean
}
SURE = 1e-4  # probability that a test fails although all is well


def played(gate: QuantileGate, law: Law, factor: float, seed: int, most: int = 10**6) -> Iterator[QuantileGate]:
    """The gate after each round; the arm has `factor` times the values of the reference."""
    rng = np.random.default_rng(seed)
    while not gate.stopped and gate.n_samples < 2 * most:
        n = gate.ask()[0]
        gate.tell({0: law(1.0, n, rng), 1: law(factor, n, rng)})
        yield gate


def ended(tolerance: object, law: str, factor: float, seed: int = 0, delta: float = 0.05) -> QuantileGate:
    *_, last = played(QuantileGate(2, None, delta, tolerance=tolerance), LAWS[law], factor, seed)
    return last


@pytest.mark.parametrize("law", LAWS)
def test_equal_arms_are_the_same_and_far_ones_differ(law: str) -> None:
    equal, far = (ended({"p50": "20%", "p90": "80%"}, law, factor) for factor in (1.0, 2.0))
    assert (equal.verdict, equal.status, equal.recommend()) == ("same", "decided", Partition((0, 0), certified=True))
    assert (far.verdict, far.status, far.recommend()) == ("different", "decided", Partition((0, 1), certified=True))
    assert far.n_samples < equal.n_samples


def test_a_difference_below_the_tolerance_is_the_same_and_both_are_known() -> None:
    gate = ended({"p50": "20%"}, "continuous", 1.16)
    found = gate.verdicts()
    assert found is not None
    assert (gate.verdict, gate.differ, gate.evidence().n_told_apart) == ("same", True, 1)
    assert 0 < found.apart_at_least[0, 1] < 16 < found.same_within[0, 1] <= 20


def test_a_difference_above_the_tolerance_ends_before_that_is_certified() -> None:
    gate = ended({"p50": "10%"}, "continuous", 1.16)
    found = gate.verdicts()
    assert found is not None
    assert (gate.verdict, gate.status) == ("different", "decided")
    assert 0 < found.apart_at_least[0, 1] < 10 and found.quantiles[0].estimates is not None


def test_the_quantile_that_seems_too_far_must_itself_be_certified_to_differ() -> None:
    """p50 differs for certain, by less than its tolerance; p90 seems to be too far by chance."""
    seen = 0
    for seed in range(8):
        gate = QuantileGate(2, None, 0.05, tolerance={"p50": "60%", "p90": "1%"})
        for _ in played(gate, lambda factor, n, rng: rng.uniform(factor, 2, n), 1.15, seed, most=1_000):
            near = gate._near
            assert near is not None
            chance = gate.differ and not gate._differing()[1] and near.apart()[1, 0, 1] >= 1
            seen += chance
            assert not chance or gate.verdict == "open"
    assert seen > 0


@pytest.mark.parametrize("law", LAWS)
def test_no_more_than_delta_of_the_runs_ever_say_something_false(law: str) -> None:
    """Just above the tolerance, below it, and with equal arms; looked at after every round."""
    runs, delta = 25, 0.5
    size = 20.0
    wrong = dict.fromkeys(("same", "above", "below", "differ"), 0)
    for seed in range(runs):
        for factor in (1.2 + 1e-9, 1.0):
            gate = QuantileGate(2, None, delta, tolerance={"p50": f"{size}%", "p90": f"{size}%"})
            true, false = 100 * (factor - 1), set()
            for _ in played(gate, LAWS[law], factor, seed, most=400):
                found = gate.verdicts()
                assert found is not None
                false |= {"same"} if factor > 1 and gate.verdict == "same" else set()
                false |= {"differ"} if factor == 1 and gate.differ else set()
                for one in found.quantiles:
                    false |= {"above"} if one.same_within[0, 1] < true * (1 - 1e-9) else set()
                    false |= {"below"} if one.apart_at_least[0, 1] > true * (1 + 1e-9) else set()
            for kind in false:
                wrong[kind] += 1
    assert wrong["same"] <= binom.isf(SURE, runs, 0.8 * delta)
    assert wrong["differ"] <= binom.isf(SURE, runs, 0.8 * delta)
    assert wrong["above"] + wrong["below"] <= binom.isf(SURE, 2 * runs, delta)


def test_the_sides_that_can_be_wrong_together_sum_to_delta() -> None:
    shares = QuantileShares(0.05, 3)
    same, differ, margin = (
        float(np.exp(-level)) for level in (shares.same_level, shares.differ_level, shares.margin_level)
    )
    assert 2 * same + 12 * margin == pytest.approx(0.05)  # some quantile is too far: "differ" cannot be wrong
    assert 12 * differ + 12 * margin == pytest.approx(0.05)  # no quantile differs: "same" cannot be wrong


def test_one_interval_for_all_quantiles_and_one_for_each_are_both_used() -> None:
    """The worst quantile has the margin of the cheaper statement, others the better of both."""
    gate = ended({"p50": "20%", "p90": "80%"}, "continuous", 1.0)
    found = gate.verdicts()
    assert found is not None and gate._near is not None
    own, cheap = gate._at(gate.shares.margin_level).margins(), gate._near.margins()
    worst = max(one.same_within[0, 1] / one.tolerance for one in cheap)
    for one, alone in zip(found.quantiles, own, strict=True):
        assert one.same_within[0, 1] == pytest.approx(min(alone.same_within[0, 1], worst * one.tolerance))
    assert found.quantiles[0].same_within[0, 1] < own[0].same_within[0, 1]


def test_a_gap_at_a_quantile_ends_as_stalled() -> None:
    gate = QuantileGate(2, None, 0.05, tolerance={"p50": 0.4})
    *_, last = played(gate, lambda factor, n, rng: rng.choice([0.0, 1.0], n), 1.0, 0)
    assert (last.status, last.verdict) == ("stalled", "open")


def test_the_forecast_is_near_and_ends_when_they_seem_to_differ() -> None:
    totals = []
    gate = QuantileGate(2, None, 0.05, tolerance={"p50": "10%", "p90": "20%"})
    for _ in played(gate, LAWS["continuous"], 1.0, 3):
        if gate.forecast is not None:
            totals.append(gate.n_samples + gate.forecast.sum())
    middle = totals[len(totals) // 2]
    assert 0.5 < middle / gate.n_samples < 2
    far = QuantileGate(2, None, 0.05, tolerance={"p50": "1%"})
    *_, last = played(far, LAWS["continuous"], 1.5, 0, most=60)
    assert last.forecast is None


def test_when_rows_run_out_it_asks_for_fewer_until_none_is_left() -> None:
    gate = QuantileGate(2, None, 0.05, tolerance={"p50": 1})
    sizes = []
    while not gate.arms_set_aside:
        sizes.append(gate.ask()[0])
        gate.set_aside([1])
    assert sizes == [10, 2, 1]
    assert gate.verdict == "open" and gate.verdicts() is None and gate.forecast is None


def test_bad_settings_and_values_are_refused_with_the_cure() -> None:
    with pytest.raises(SettingsError, match="blocks do not go with"):
        QuantileGate(2, None, 0.05, tolerance="p50=2%", block=5)
    with pytest.raises(SettingsError, match="two arms"):
        QuantileGate(3, None, 0.05, tolerance="p50=2%")
    gate = tolerance_strategy(2, None, 0.05, tolerance={"p50": "2%"}, gate=True)
    assert isinstance(gate, QuantileGate)
    with pytest.raises(SettingsError, match="say an absolute tolerance"):
        gate.tell({arm: np.linspace(-1, 1, n) for arm, n in gate.ask().items()})
    assert gate.n_samples == 0 and gate.rounds == ()
