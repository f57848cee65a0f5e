"""The numbers that were published, exactly."""

from __future__ import annotations

import pytest

import kabc
from benchmarks import published


@pytest.mark.slow
def test_all_twelve_totals_of_the_same_mean_experiment_are_met() -> None:
    seen = published.rows()
    assert len(seen) == 12
    assert [row["ours"] for row in seen] == [row["thesis"] for row in seen]


def test_the_measured_price_that_a_plan_prints_is_that_of_the_benchmark() -> None:
    prices = [published.price_row(variance, delta, 1) for delta in published.DELTAS for variance in published.VARIANCES]
    assert all(row["ratio"] <= row["at_most"] for row in prices)
    least, most = (f"{find(row['ratio'] for row in prices):.2f}" for find in (min, max))
    plan = str(kabc.plan(4, 2, 0.05, gap=2.0, strategy="kabc"))
    assert f"{least} to {most} measured on published instances" in " ".join(plan.split())
