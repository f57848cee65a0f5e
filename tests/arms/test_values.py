"""Columns become numbers: the same value the same numbers, other values others, nothing lost without a word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kabc.arms.values import (
    N_CHARACTERS,
    N_FEATURES,
    Encoder,
    Kind,
    Missing,
    category_code,
    string_kind,
    text_characters,
    text_features,
)
from kabc.core.errors import SampleError, SettingsError
from kabc.core.kernels import Hamming

TEXTS = st.lists(st.text(max_size=20), min_size=1, max_size=6)


def one(kind: Kind, missing: Missing = "raise", **options: Any) -> Encoder:
    return Encoder(("x",), {"x": kind}, missing, **options)


def test_mixed_columns_stand_side_by_side_in_their_order() -> None:
    encoder = Encoder(("t", "n", "c"), {"n": "number", "c": "category", "t": "text"})
    rows = encoder({"n": [1, 2.5], "c": ["a", "b"], "t": ["yes", "no"]})
    assert rows.shape == (2, N_FEATURES + 2) and rows.dtype == np.float64
    assert rows[:, N_FEATURES].tolist() == [1.0, 2.5]
    assert rows[:, -1].tolist() == [category_code("a"), category_code("b")]
    assert len(encoder.names) == rows.shape[1]
    assert encoder.names[0] == "t[0]" and encoder.names[-2:] == ("n", "c")
    assert encoder.describe() == "t: text, hashed n-grams; n: number; c: category"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_stay_as_they_are(values: list[float]) -> None:
    assert one("number")({"x": values})[:, 0].tolist() == values


@given(st.lists(st.text(max_size=5), min_size=1, max_size=30))
def test_categories_are_equal_where_their_codes_are_and_fit_a_float(values: list[str]) -> None:
    codes = one("category")({"x": values})[:, 0]
    assert ((codes[:, None] == codes) == (np.array(values, object)[:, None] == np.array(values, object))).all()
    assert (codes >= 0).all() and (codes < 2**48).all() and (codes == codes.astype(np.int64)).all()


def test_codes_and_features_are_the_same_on_every_machine() -> None:
    assert category_code("red") == 205119453184404.0
    assert np.flatnonzero(text_features(["ab"])[0]).tolist() == [33, 36, 227]


@given(TEXTS)
def test_features_of_a_text_do_not_depend_on_the_texts_around_it(texts: list[str]) -> None:
    together = text_features(texts)
    assert np.array_equal(together, np.concatenate([text_features([text]) for text in texts]))
    lengths = np.sqrt(np.square(together).sum(axis=1))
    assert np.allclose(lengths, [1.0 if text else 0.0 for text in texts])


def test_features_count_ngrams_with_logarithms() -> None:
    # "aaaa" has one n-gram of each size, 4, 3 and 2 times
    (features,) = text_features(["aaaa"])
    counts = np.array([1 + math.log(4), 1 + math.log(3), 1 + math.log(2)])
    assert np.allclose(np.sort(features)[-3:], np.sort(counts / np.sqrt(np.square(counts).sum())))
    assert np.count_nonzero(features) == 3


def test_features_see_the_order_of_letters() -> None:
    assert not np.array_equal(*text_features(["abc", "cba"]))


@given(TEXTS)
def test_characters_are_what_the_hamming_kernel_compares(texts: list[str]) -> None:
    kernel, plain = Hamming(length=N_CHARACTERS), Hamming()
    theirs = kernel.coerce(np.array([text.replace("\0", "-") for text in texts]))
    ours = text_characters([text.replace("\0", "-") for text in texts])
    assert np.array_equal(kernel(theirs, theirs), plain(ours, ours))


def test_long_texts_are_cut_for_the_hamming_kernel() -> None:
    rows = one("text", text="characters")({"x": ["é" * 100, ""]})
    assert rows.shape == (2, N_CHARACTERS)
    assert (rows[0] == ord("é")).all() and (rows[1] == 0).all()


MISSING = [
    np.array([None, "a", "b"], dtype=object),
    np.array([math.nan, "a", "b"], dtype=object),
    np.array([pd.NA, "a", "b"], dtype=object),
    np.array([pd.NaT, "a", "b"], dtype=object),
    np.array(["NaT", "2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
]


@pytest.mark.parametrize("values", MISSING)
def test_missing_categories_are_refused_dropped_or_encoded(values: np.ndarray[Any, Any]) -> None:
    with pytest.raises(SampleError, match="column 'x' has 1 missing value in"):
        one("category")({"x": values})
    encoder = one("category", "drop")
    assert len(encoder({"x": values})) == 2 and encoder.dropped == {"x": 1}
    codes = one("category", "encode")({"x": values})[:, 0]
    assert codes[0] == -1 and (codes[1:] >= 0).all()


@pytest.mark.parametrize("values", [[math.nan, 1.0], [None, 1], ["", "1.0"], [" ", 1]])
def test_missing_numbers_are_refused_dropped_or_encoded(values: list[Any]) -> None:
    with pytest.raises(SampleError, match="column 'x' has 1 missing value in"):
        one("number")({"x": values})
    assert one("number", "drop")({"x": values}).tolist() == [[1.0]]
    encoder = one("number", "encode")
    assert encoder({"x": values}).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert encoder.names == ("x", "x missing")


@pytest.mark.parametrize("text", ["features", "characters"])
def test_a_missing_text_is_like_no_other(text: Any) -> None:
    absent, empty, other = one("text", "encode", text=text)({"x": [None, "", "abc"]})
    assert (absent < 0).all() and (empty == 0).all() and (other >= 0).all()


def test_a_row_is_dropped_whole_and_each_column_counts_its_own() -> None:
    encoder = Encoder(("a", "b"), {"a": "number", "b": "number"}, "drop")
    assert encoder({"a": [1, None, None, 4], "b": [5, 6, None, None]}).tolist() == [[1.0, 5.0]]
    encoder({"a": [1], "b": [None]})
    assert encoder.dropped == {"a": 2, "b": 3}


def test_infinite_numbers_and_text_among_numbers_are_refused_by_column() -> None:
    with pytest.raises(SampleError, match="column 'x' has 2 infinite values; replace"):
        one("number")({"x": [math.inf, 1.0, -math.inf]})
    with pytest.raises(SampleError, match="column 'x' is declared a number but holds 'n/a'"):
        one("number")({"x": ["1", "n/a", "bad"]})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"types": {"x": "date"}}, "type of column 'x' must be one of 'number', 'category', 'text', got 'date'"),
        ({"types": {}}, "type of column 'x'"),
        ({"missing": "skip"}, "missing must be one of 'raise', 'drop', 'encode', got 'skip'"),
        ({"text": "words"}, "text must be one of"),
    ],
)
def test_unknown_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Encoder(**{"columns": ("x",), "types": {"x": "text"}, **settings})


def test_strings_are_categories_when_few_and_repeated() -> None:
    assert string_kind(50, 1000) == "category"
    assert string_kind(51, 1000) == "text"
    assert string_kind(5, 10) == "text"
    assert string_kind(4, 10) == "category"
