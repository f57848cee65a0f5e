"""Printed numbers: read back exactly, and whatever else is printed is shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.arms.failures import DrawError
from kabc.arms.printed import printed_numbers


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4))
def test_printed_numbers_are_read_back_exactly_as_words_or_as_json(row: list[float]) -> None:
    assert printed_numbers(" ".join(map(repr, row)), None) == row
    assert printed_numbers(repr(row), None) == row


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("rubbish " * 100, None, "printed 'rubbish rubbish"),
        ("", None, "printed nothing"),
        ("nan", None, "finite number"),
        ("1 inf", None, "neither a finite number nor JSON"),
        ('{"a": 1}', None, "path"),
        ("[]", None, "finite number"),
        ("null", None, "finite number"),
        ('{"a": {"b": 1}}', "a.c", "there is no 'c' of the path 'a.c' in \"{'b': 1}\""),
        ('{"a": [1]}', "a.1", "there is no '1'"),
        ("not json", "a", "nor JSON; its last line must be a number, several numbers, or JSON"),
    ],
)
def test_rubbish_output_is_shown_and_cut(text: str, path: str | None, said: str) -> None:
    with pytest.raises(DrawError) as caught:
        printed_numbers(text, path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("depth", [100, 900, 950, 1_000, 100_000])  # some can be read, but not shown
def test_deep_json_is_a_failure(depth: int) -> None:
    for path in (None, "0"):
        with pytest.raises(DrawError):
            printed_numbers("[" * depth + "]" * depth, path)
