"""New samples against recorded ones: rare false alarms, however the record ended, and changes are seen."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kabc.running.anchors import ALARM, LOOK, compare
from kabc.testing.error_law import most_errors

LONG = float(os.environ.get("KABC_FUZZ", "4")) >= 100  # make soak


def test_an_arm_that_changed_is_named_with_its_evidence() -> None:
    rng = np.random.default_rng(0)
    record = {name: rng.normal(0.0, 1.0, 200) for name in "abc"}
    new = {name: rng.normal(4.0 * (name == "b"), 1.0, 20) for name in "abc"}
    found = compare(record, new, seed=0, n_arms=3)
    assert not found.passed
    assert "b" in {drift.arm for drift in found.drifts}
    assert not {"a", "c"} & {drift.arm for drift in found.drifts}
    assert "recorded samples are not used: " in found.message()
    assert "60 new samples of 3 arms" in found.message()


def test_a_column_that_changed_is_named() -> None:
    rng = np.random.default_rng(0)
    record = {"a": rng.normal(0.0, 1.0, (500, 2)), "b": rng.normal(0.0, 1.0, (500, 2))}
    new = {"a": rng.normal(0.0, 1.0, (30, 2)), "b": rng.normal((0.0, 5.0), 1.0, (30, 2))}
    drifts = compare(record, new, seed=0, columns=("seconds", "bytes"), n_arms=2).drifts
    assert "new samples differ from recorded ones (column bytes)" in {one.what for one in drifts if one.arm == "b"}


def test_texts_are_compared_as_well() -> None:
    rng = np.random.default_rng(0)
    record, new = {"a": rng.choice(["yes", "no"], 400)}, {"a": rng.choice(["yes", "perhaps"], 60)}
    assert not compare(record, new, seed=0, n_arms=1).passed
    assert compare(record, {"a": rng.choice(["yes", "no"], 60)}, seed=0, n_arms=1).passed


def test_hardly_any_record_or_no_new_samples_say_nothing() -> None:
    found = compare({"a": np.zeros(7), "b": np.zeros(100)}, {"a": np.ones(20)}, seed=0, n_arms=2)
    assert found.passed
    assert "was not checked" in found.message()


@pytest.mark.slow
def test_false_alarms_are_rare_whatever_ended_the_record() -> None:
    """Each record stops at its first large value, and so has the lengths and the ends that values chose."""
    runs, alarms = 3_000 if LONG else 200, 0
    for seed in range(runs):
        rng = np.random.default_rng([1, seed])
        record = {}
        for name in "abc":
            rows = rng.normal(0.0, 1.0, 200)
            stops = np.flatnonzero(rows[8:] > 2.0)
            record[name] = rows[: 9 + stops[0]] if len(stops) else rows
        alarms += not compare(record, {name: rng.normal(0.0, 1.0, 15) for name in "abc"}, seed, n_arms=3).passed
    print(f"{alarms} false alarms in {runs} records")
    assert alarms <= most_errors(runs, LOOK)


def test_both_looks_together_have_the_alarm_probability_that_is_said() -> None:
    assert 2 * LOOK == ALARM == 0.01
