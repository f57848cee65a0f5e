"""Endpoints as arms: what all of them share, and settings that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from kabc.arms.http import http_arms
from kabc.core.errors import SettingsError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "mood"}, "kind must be 'number', 'category', 'text' or 'latency', got 'mood'"),
        ({"concurrency": 0}, "concurrency must be a whole number, 1 or more, got 0"),
        ({"rate": 0}, "rate must be a number of calls a second above 0, or None, got 0"),
        ({"timeout": -1}, "timeout must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"value": ""}, "value must be a path"),
        ({"on_failure": "drop"}, "on_failure must be"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_called(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        http_arms({"x": "http://host"}, **options)
    assert said in str(caught.value)


def test_notes_and_columns_say_what_a_sample_is() -> None:
    number, text = http_arms({"x": "http://host"}, price=0.5), http_arms({"x": "http://host"}, kind="text")
    assert (number.columns, number.price) == ((), 0.5)
    assert number.notes == ()  # a failed sample ends the run: there is nothing to say of the others
    assert len(text.columns) == 256
    assert text.notes[0] == "answers: answer: text, hashed n-grams"
    encoded = http_arms({"x": "http://host"}, on_failure="encode", columns=["a", "b"])
    assert encoded.columns == ("a", "b", "failed")
