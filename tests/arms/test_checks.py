"""Checks of settings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from kabc.arms.checks import column_names, expect, is_positive, is_whole
from kabc.core.errors import SettingsError


@pytest.mark.parametrize("columns", ["ab", [], ["a", "a"], ["failed"]])
def test_columns_are_different_names(columns: Sequence[str]) -> None:
    with pytest.raises(SettingsError, match="columns must be different names"):
        column_names(columns)
    assert column_names(None) is None
    assert column_names(["a", "b"]) == ("a", "b")


def test_what_is_refused_is_said_with_its_value() -> None:
    expect(True, "rate", 3, "above 0")
    with pytest.raises(SettingsError, match=r"^rate must be above 0, got -1$"):
        expect(False, "rate", -1, "above 0")


def test_truth_values_are_not_numbers() -> None:
    assert [is_whole(value) for value in (0, -3, 1.0, True, "1", None)] == [True, True, False, False, False, False]
    assert [is_positive(value) for value in (1, 0.5)] == [True, True]
    assert not any(is_positive(value) for value in (0, -1, math.inf, math.nan, True, "1", None))
