"""What a run keeps beside its answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

import kabc
from kabc.running.intake import Intake
from kabc.running.record import Kept, Tracer
from kabc.running.watch import Watch
from kabc.study.facts import ArmFacts, Facts


def test_the_first_rows_are_kept_in_order_and_copied() -> None:
    kept, rows = Kept(2), np.arange(400.0)
    kept.add(0, rows)
    rows[:] = -1.0
    kept.add(0, np.arange(400.0, 800.0))
    kept.add(0, np.arange(9.0))  # it is full
    assert np.array_equal(kept.by_name(["a", "b"])["a"][:, 0], np.arange(500.0))
    assert "b" not in kept.by_name(["a", "b"])


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("unheard", [0, 5, 1000])
def test_an_intake_keeps_and_watches_what_came_whatever_becomes_of_it(
    unheard: int, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kabc.running.intake._MOST_UNHEARD", unheard)
    heard: list[tuple[int, list[float]]] = []

    class Heard(Watch):
        def hear(self, arm: int, samples: ArrayLike) -> None:
            heard.append((arm, np.asarray(samples).tolist()))

    intake = Intake(("a", "b"), Facts((ArmFacts(),) * 2), 0, watch=Heard(2, 0))
    came = [(arm, [10.0 * arm + number] * 2) for number in range(4) for arm in (1, 0)]
    for number in range(3):
        told = intake.take({arm: [np.array(rows)] for arm, rows in came[2 * number : 2 * number + 2]})
        for rows in told.values():
            np.asarray(rows)[:] = -1.0  # by a strategy that changes what it is told
    if closed:
        intake.close()
    intake.take_part({arm: [np.array(rows)] for arm, rows in came[6:]})
    assert intake.watch is not None
    for arm in (0, 1):
        ours, theirs = ([value for one, rows in some if one == arm for value in rows] for some in (heard, came))
        assert ours == theirs
    assert closed or heard == came
    assert intake.kept.by_name("ab")["b"][:, 0].tolist() == [value for arm, rows in came if arm for value in rows]
    assert intake.drawn == [8, 8]


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
