"""Words of messages: short, on one line, with real plurals."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.arms.words import cut, listed


@settings(max_examples=40, deadline=None)
@given(st.text() | st.lists(st.integers()))
def test_what_is_shown_of_a_value_is_one_short_line(value: object) -> None:
    assert len(cut(value).splitlines()) == 1
    assert len(cut([value] * 500)) < 1000
    assert cut("x" * 201) == repr("x" * 197 + "...")


def test_of_many_names_some_are_listed_and_the_rest_counted() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed("abcd", most=2) == "'a', 'b' and 2 more"
