"""The numbers that were published, exactly."""

from __future__ import annotations

import pytest

from benchmarks import published


@pytest.mark.slow
def test_all_twelve_totals_of_the_same_mean_experiment_are_met() -> None:
    seen = published.rows()
    assert len(seen) == 12
    assert [row["ours"] for row in seen] == [row["thesis"] for row in seen]
