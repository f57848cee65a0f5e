"""What a run keeps beside its answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import kolmogorov

import kabc
from kabc.running.record import Kept, Tracer, drift_notes, kolmogorov_smirnov


def test_the_first_rows_are_kept_in_order_and_copied() -> None:
    kept, rows = Kept(2), np.arange(400.0)
    kept.add(0, rows)
    rows[:] = -1.0
    kept.add(0, np.arange(400.0, 800.0))
    kept.add(0, np.arange(9.0))  # it is full
    assert np.array_equal(kept.by_name(["a", "b"])["a"][:, 0], np.arange(500.0))
    assert "b" not in kept.by_name(["a", "b"])


@pytest.mark.parametrize("rows", [[[1], [1, 2]], [], np.zeros((2, 2, 2)), 3.0])
def test_what_is_no_table_of_rows_is_not_kept(rows: object) -> None:
    kept = Kept(1)
    kept.add(0, rows)  # type: ignore[arg-type]
    assert kept.by_name(["a"]) == {}


def test_many_arms_keep_fewer_samples() -> None:
    kept = Kept(1000)
    for _ in range(30):
        kept.add(7, np.zeros((10, 100)))
    assert kept.by_name(range(1000))[7].shape == (20, 100)


def test_long_traces_are_thinned_out_evenly() -> None:
    tracer = Tracer(2)
    for number in range(1, 2001):
        if tracer.wants(number):
            tracer.add(number, kabc.Evidence.none(2))
    trace = tracer.trace()
    assert trace is not None
    assert 128 <= len(trace.n_samples) <= 256
    assert set(np.diff(trace.n_samples)) == {8}
    assert trace.n_samples[-1] == 2000


def test_a_run_without_rounds_has_no_trace() -> None:
    assert Tracer(2).trace() is None


def test_more_arms_than_a_picture_can_show_are_not_traced() -> None:
    assert Tracer(40).wants(1)
    assert not Tracer(41).wants(1)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 99), st.booleans())
def test_drift_is_measured_by_the_kolmogorov_smirnov_test(n: int, m: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(n, 2)), rng.normal(0.5, 1, size=(m, 2))
    if ties:
        first, second = np.round(first), np.round(second)
    found = kolmogorov_smirnov(first, second)
    for column in range(2):
        values = np.concatenate([first[:, column], second[:, column]])
        gap = max(abs((first[:, column] <= x).mean() - (second[:, column] <= x).mean()) for x in values)
        assert found[column] == pytest.approx(kolmogorov(gap * np.sqrt(n * m / (n + m))))


def test_a_false_alarm_of_drift_is_rare() -> None:
    """100 sets of five steady arms; expected number of sets with an alarm at most 1, 7 or more: 1 in 10,000."""
    rng = np.random.default_rng(1)
    alarms = sum(bool(drift_notes({arm: rng.normal(size=(60, 2)) for arm in range(5)}, ())) for _ in range(100))
    assert alarms < 7


def test_drift_names_arm_and_column() -> None:
    steady, moving = np.zeros((60, 1)), np.arange(60.0)[:, None]
    (note,) = drift_notes({"a": np.hstack([steady, moving]), "b": np.hstack([steady, steady])}, ("x", "load"))
    assert note.startswith("drift? arm a, column load: ")


def test_few_rows_and_texts_are_not_checked_for_drift() -> None:
    moving = np.arange(19.0)[:, None]
    assert drift_notes({"few": moving, "text": np.array([["a"]] * 30 + [["b"]] * 30)}, ()) == ()
