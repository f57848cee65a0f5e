"""Failures: never dropped, and the same policy for every live arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kabc.arms.failures import (
    LONGEST_WAIT,
    DrawError,
    OnFailure,
    Policy,
    SpendError,
    numbers,
    picked,
    wait_before,
)
from kabc.core.errors import ArmError, SettingsError


def no_pause(seconds: float) -> None:
    pytest.fail(f"paused for {seconds} seconds")


def failing(times: int, row: Sequence[float] = (7.0,)) -> Callable[[], Sequence[float]]:
    """Fails so many times, then gives the row."""
    left = [times]

    def attempt() -> Sequence[float]:
        if left[0]:
            left[0] -= 1
            raise DrawError(f"fault {left[0]}")
        return row

    return attempt


def test_raise_hands_on_the_first_failure_without_a_pause() -> None:
    with pytest.raises(DrawError, match="fault 4"):
        Policy("raise").sample(failing(5), pause=no_pause)


@given(st.integers(0, 6), st.integers(0, 6))
def test_retry_succeeds_exactly_when_the_failures_are_not_more_than_the_retries(times: int, retries: int) -> None:
    pauses: list[float] = []
    policy = Policy("retry", retries)
    if times <= retries:
        assert policy.sample(failing(times), pauses.append) == [7.0]
    else:
        with pytest.raises(DrawError, match=f"fault {times - retries - 1}"):
            policy.sample(failing(times), pauses.append)
    assert pauses == [wait_before(number) for number in range(min(times, retries))]


def test_pauses_double_and_have_an_end() -> None:
    pauses = [wait_before(number) for number in range(40)]
    assert pauses[1] == 2 * pauses[0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_WAIT


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_encode_puts_success_and_failure_into_rows_of_one_length(row: list[float]) -> None:
    policy = Policy("encode", columns=tuple(f"c{i}" for i in range(len(row))))
    assert policy.sample(failing(0, row)) == [*row, 0.0]
    assert policy.sample(failing(1, row), pause=no_pause) == [0.0] * len(row) + [1.0]
    assert len(policy.sample_columns) == len(row) + 1


def test_encode_without_columns_takes_one_number_and_refuses_more_instead_of_failing_them_all() -> None:
    assert Policy("encode").sample(failing(1)) == [0.0, 1.0]
    assert Policy("encode").sample(failing(0)) == [7.0, 0.0]
    assert Policy("encode").sample_columns == ("value", "failed")
    with pytest.raises(ArmError, match=r"gave 2 numbers; .*columns=\['mean', 'p99'\]"):
        Policy("encode").sample(failing(0, (1.0, 2.0)))


def test_a_sample_with_other_columns_than_declared_is_a_failure() -> None:
    assert Policy("encode", columns=("a", "b")).sample(failing(0, (1.0,))) == [0.0, 0.0, 1.0]
    with pytest.raises(
        DrawError, match=r"gave 1 number instead of 2 \(a, b\); every sample must have the numbers that columns= names"
    ):
        Policy("raise", columns=("a", "b")).sample(failing(0, (1.0,)))


@pytest.mark.parametrize("on_failure", ["raise", "retry", "encode"])
@pytest.mark.parametrize("error", [SpendError("no money"), ArmError("no such program"), ZeroDivisionError()])
def test_what_is_no_failed_sample_passes_through_every_policy(on_failure: OnFailure, error: Exception) -> None:
    def attempt() -> Sequence[float]:
        raise error

    with pytest.raises(type(error)):
        Policy(on_failure).sample(attempt, pause=no_pause)


def test_notes_say_what_was_decided_about_failures() -> None:
    assert Policy("raise").notes == ()
    (retried,), (encoded,) = Policy("retry", 2).notes, Policy("encode").notes
    assert "up to 2 times; the distributions compared are those of samples that succeed" in retried
    assert "encoded as a value of their own" in encoded


def test_a_spend_error_is_an_arm_error_and_no_failed_sample() -> None:
    assert issubclass(SpendError, ArmError)
    assert not issubclass(SpendError, DrawError)


@pytest.mark.parametrize(
    ("value", "row"),
    [(3, [3.0]), (True, [1.0]), (" 2.5 ", [2.5]), ([1, "2", 3.5], [1.0, 2.0, 3.5])],
)
def test_numbers_are_read_from_numbers_texts_and_lists(value: object, row: list[float]) -> None:
    assert numbers(value) == row


@pytest.mark.parametrize("value", [None, "", "x", [], [1, None], [[1]], {"a": 1}, float("nan"), "inf", 10**400])
def test_what_is_no_finite_number_is_a_failure_that_shows_it(value: object) -> None:
    with pytest.raises(DrawError, match=r"expected a finite number or a list of them, got ['\"]"):
        numbers(value)


def test_a_path_goes_through_keys_and_positions() -> None:
    value = {"choices": [{"text": "a"}, {"text": "b", "0": "c"}]}
    assert picked(value, "choices.1.text") == "b"
    assert picked(value, "choices.-1.0") == "c"
    for path, missing in [
        ("choices.2", "2"),
        ("other.x", "other"),
        ("choices.text", "text"),
        ("choices.0.text.x", "x"),
    ]:
        with pytest.raises(DrawError, match=f"there is no '{missing}' of the path"):
            picked(value, path)


@pytest.mark.parametrize(("on_failure", "retries"), [("drop", 3), ("retry", -1), ("retry", 1.5), ("retry", True)])
def test_a_policy_that_does_not_exist_is_refused(on_failure: OnFailure, retries: int) -> None:
    with pytest.raises(SettingsError, match="must be"):
        Policy(on_failure, retries)
