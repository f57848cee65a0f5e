"""A forecast counts only while it agrees with the one before."""

from __future__ import annotations

import numpy as np

from kabc.strategies.outlook import Outlook


def told(*totals: float | None) -> Outlook:
    """An outlook after rounds that forecast these totals, with 10 samples drawn."""
    outlook = Outlook()
    for total in totals:
        outlook.note(10, None if total is None else np.array([total - 10.0, 0.0]))
    return outlook


def test_the_first_forecast_is_not_shown() -> None:
    assert told().more is None
    assert told(100).more is None


def test_two_that_agree_are_shown_and_two_that_do_not_are_not() -> None:
    found = told(100, 140).more
    assert found is not None
    assert found.tolist() == [130.0, 0.0]
    assert told(140, 100).more is not None
    assert told(100, 160).more is None
    assert told(160, 100).more is None


def test_after_a_round_without_a_forecast_it_begins_anew() -> None:
    assert told(100, 100, None).more is None
    assert told(100, 100, None, 100).more is None
    assert told(100, 100, None, 100, 100).more is not None
