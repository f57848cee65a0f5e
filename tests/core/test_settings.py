"""Single settings: plain numbers come out, anything else is refused with the value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from kabc.core.errors import SettingsError
from kabc.core.settings import (
    arms_number,
    error_probability,
    expect_several_groups,
    positive_number,
    whole_number,
)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_kind_become_int(value: object) -> None:
    assert type(whole_number("n", value, 1, 5)) is int


@pytest.mark.parametrize("value", [0, 6, 2.0, True, "3", None, np.float64(3)])
def test_what_is_no_whole_number_in_range_is_refused_by_name(value: object) -> None:
    with pytest.raises(SettingsError, match=r"n must be a whole number from 1 to 5, got "):
        whole_number("n", value, 1, 5)


def test_both_ends_are_allowed_and_there_may_be_no_upper_one() -> None:
    assert [whole_number("n", value, 1, 5) for value in (1, 5)] == [1, 5]
    assert whole_number("n", 10**30, 1) == 10**30
    with pytest.raises(SettingsError, match="n must be a whole number at least 1, got 0"):
        whole_number("n", 0, 1)


def test_two_arms_are_the_least() -> None:
    assert arms_number(2) == 2
    with pytest.raises(SettingsError, match="n_arms must be a whole number at least 2, got 1"):
        arms_number(1)


@pytest.mark.parametrize("value", [1, 0.05, Fraction(1, 20), np.float32(0.25)])
def test_error_probabilities_above_0_and_up_to_1_become_float(value: float) -> None:
    assert type(error_probability(value)) is float
    assert error_probability(value) == float(value)


@pytest.mark.parametrize("value", [0, -0.1, 1.0000001, float("nan"), True, "0.05", None])
def test_other_error_probabilities_are_refused_with_an_example(value: object) -> None:
    with pytest.raises(SettingsError, match=r"delta must lie in \(0, 1\], got .*; 0.05 means wrong in at most 5 of"):
        error_probability(value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "2", None])
def test_positive_numbers_are_finite_and_above_the_bound(value: object) -> None:
    assert positive_number("growth", np.float32(1.5), above=1) == 1.5
    with pytest.raises(SettingsError, match="growth must be a finite number greater than 0, got "):
        positive_number("growth", value)


def test_one_group_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(SettingsError, match=r"n_clusters=1 leaves nothing to test.*leave n_clusters out"):
        expect_several_groups(1)
    for several in (None, 2, 30):
        expect_several_groups(several)


CHECKS: list[Callable[[object], object]] = [
    arms_number,
    error_probability,
    lambda value: whole_number("n", value, 0),
    lambda value: positive_number("n", value),
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_refused_value_is_shown_as_it_was_written(check: Callable[[object], object]) -> None:
    with pytest.raises(SettingsError, match="got 'many'"):
        check("many")


def test_more_arms_than_arrays_can_number_are_refused() -> None:
    with pytest.raises(SettingsError, match="n_arms must be at most 100,000,000, got a number of more than 100 digits"):
        arms_number(10**400)
