"""What a run keeps beside its answer."""

from __future__ import annotations

import numpy as np
import pytest

import kabc
from kabc.running.record import Kept, Tracer


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
