"""Equal arms whose workers are killed by slow draws: the default never splits them more often than delta allows.

`python benchmarks/censoring.py` is the long form.
"""

from __future__ import annotations

import pytest

from benchmarks.censoring import DELTA, run, table
from kabc.testing.error_law import most_errors

SHARE = 0.25  # of the draws of some arms that kill their worker


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["default", "raise"])
def test_a_redraw_that_comes_once_does_not_split_equal_arms(policy: str) -> None:
    rows = [run(policy, SHARE, seed) for seed in range(40)]
    assert sum(row["split"] for row in rows) <= most_errors(len(rows), DELTA)
    assert any(row["ended"] == "failed" for row in rows)


@pytest.mark.slow
def test_drawing_again_and_again_does() -> None:
    rows = [run("redraw", SHARE, seed) for seed in range(6)]
    assert sum(row["split"] for row in rows) > most_errors(len(rows), DELTA)


def test_a_lost_draw_that_is_a_value_is_no_redraw() -> None:
    row = run("encode", SHARE, 0)
    assert (row["redrawn"], row["ended"] == "failed") == (0, False)


def test_without_deaths_the_default_is_no_other_run() -> None:
    assert {**run("default", 0.0, 3), "policy": ""} == {**run("redraw", 0.0, 3), "policy": ""}


def test_the_table_has_a_line_for_each_policy_that_was_run() -> None:
    said = table([run("raise", SHARE, seed) for seed in range(2)], SHARE).splitlines()
    assert len(said) == 3
    assert said[2].split()[:2] == ["raise", "2"]
