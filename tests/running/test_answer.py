"""What a result of a run knows: samples, trace, estimates, notes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc.arms.base import NamedArms
from kabc.arms.callables import CallableArm
from kabc.report import report_html
from tests.running.examples import normal, three_groups


def test_a_result_keeps_the_first_samples_of_each_arm_and_the_time_it_took() -> None:
    seen: list[float] = []

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        values = rng.normal(size=n)
        seen.extend(values)
        return values

    result = kabc.cluster({"a": draw, "b": normal(9)}, 2, strategy="kabc", seed=0)
    assert np.array_equal(result.samples["a"][:, 0], seen[:500])
    assert result.samples["b"].shape == (min(500, result.samples_per_arm["b"]), 1)
    assert result.seconds > 0


@pytest.mark.parametrize("strategy", ["anytime", "kabc"])
def test_the_trace_ends_with_the_evidence(strategy: str) -> None:
    result = kabc.cluster(three_groups(), 3, seed=0, strategy=strategy)
    assert result.trace is not None
    assert result.trace.n_samples.tolist() == [one.n_samples for one in result.rounds]
    np.testing.assert_allclose(result.trace.strength[-1], result.evidence.strength, atol=1e-4)


def test_there_is_no_trace_of_many_arms() -> None:
    result = kabc.cluster([normal(0)] * 41, 2, seed=0, max_samples=300)
    assert result.trace is None


def test_nothing_is_estimated_before_evidence_has_grown() -> None:
    assert kabc.cluster(three_groups(), 3, seed=0, max_samples=10).needs is None


def test_the_smallest_groups_are_printed_first() -> None:
    lines = str(kabc.cluster(three_groups(), 3, seed=0)).splitlines()
    assert [line.strip() for line in lines if line.startswith("  group")] == [
        "group 3, 1 arm: d",
        "group 1, 2 arms: a, c",
        "group 2, 2 arms: b, e",
    ]
    assert lines[-1] == "K: no group looks like two; small differences may be missed"


def test_what_so_few_samples_could_not_show_stands_right_below_the_answer() -> None:
    result = kabc.cluster(three_groups(), 3, seed=0)
    few = "few samples: only a strong dependence or drift would show in 9 samples of an arm"
    assert str(result).splitlines()[1] == few
    assert result.certificate().splitlines()[2] == few
    assert few in result.guarantee.assumptions  # and so in its JSON
    assert few in result._repr_html_()
    report = report_html(result)
    assert report.index("Few samples: only a strong") < report.index('class="facts"')


def test_notes_columns_and_price_of_the_arms_reach_the_result() -> None:
    arms = NamedArms(
        {"a": CallableArm(normal(0)), "b": CallableArm(normal(9))}, ["failures: none"], ["latency"], price=0.5
    )
    result = kabc.cluster(arms, 2, seed=0)
    assert result.notes == ("failures: none",)
    assert result.columns == ("latency",)
    assert result.spent == result.n_samples / 2
    for text in (str(result), result.certificate()):
        assert "note: failures: none" in text
        assert f"spent: {result.spent:g}" in text
