from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, floating_dtypes, integer_dtypes, unsigned_integer_dtypes

from kabc.core.errors import SampleError
from kabc.core.samples import as_points, describe, same_columns

NUMBERS = st.one_of(
    st.just(np.dtype(bool)),
    integer_dtypes(endianness="?"),
    unsigned_integer_dtypes(endianness="?"),
    floating_dtypes(endianness="?"),
)


@given(data=st.data(), dtype=NUMBERS, shape=array_shapes(max_dims=2, max_side=5))
@settings(max_examples=100, deadline=None)
def test_numbers_of_every_type_become_float64_rows(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    finite = {"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else {}
    samples = data.draw(arrays(dtype, shape, elements=finite))
    points = as_points(samples)
    assert points.dtype == np.float64 and points.shape == (*shape, 1)[:2]
    assert [float(value) for value in samples.ravel()] == points.ravel().tolist()
    assert not np.shares_memory(points, samples)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_arithmetic_on_the_largest_integers_does_not_overflow(dtype: type[np.integer[Any]]) -> None:
    info = np.iinfo(dtype)
    points = as_points(np.array([info.min, info.max], dtype=dtype))
    assert (points[1] - points[0]).item() == float(info.max) - float(info.min)
    assert (points[1] ** 2).item() == float(info.max) ** 2


def test_lists_and_other_array_likes_are_accepted() -> None:
    np.testing.assert_array_equal(as_points([1, 2]), [[1.0], [2.0]])
    np.testing.assert_array_equal(as_points(((1, 2.5), (3, 4))), [[1.0, 2.5], [3.0, 4.0]])
    np.testing.assert_array_equal(as_points(range(2)), [[0.0], [1.0]])
    np.testing.assert_array_equal(as_points(np.ma.masked_array([1.0, 2.0], [False, False])), [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([1.0, math.nan], r"1 value of the samples is not finite, the first is nan in row 1, column 0; decide what"),
        ([[1.0, 2.0], [3.0, -math.inf]], "the first is -inf in row 1, column 1"),
        ([], r"non-empty array of shape \(n,\) or \(n, d\), got shape \(0,\); one row"),
        (np.zeros((3, 0)), r"got shape \(3, 0\)"),
        (np.zeros((0, 3)), r"got shape \(0, 3\)"),
        (2.5, r"got shape \(\)"),
        (np.zeros((2, 3, 4)), r"got shape \(2, 3, 4\)"),
        ([1 + 2j], r"real numbers, got complex ones: \[\(1\+2j\)\]; pass real and imaginary parts"),
        (["1.5", "2"], r"must be numbers, got \['1.5', '2'\] \(dtype <U3\); convert them, or use kabc.Hamming"),
        ([b"1"], "must be numbers, got"),
        ([None, 1.0], r"got \[None, 1.0\] \(dtype object\)"),
        ([Decimal("1.5")], "dtype object"),
        (np.array([1.0, 2.0], dtype=object), "dtype object"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), r"dtype datetime64\[D\]"),
        ((value for value in (1.0, 2.0)), "got <generator"),
        ([[1.0, 2.0], [3.0]], r"do not form an array: \[\[1.0, 2.0\], \[3.0\]\].*rows of equal length"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "masked values.*decide what a missing value means"),
    ],
)
def test_what_is_not_a_sample_is_refused_with_its_value_and_a_cure(samples: Any, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        as_points(samples)


def test_numbers_beyond_float64_are_refused() -> None:
    huge = np.array([np.finfo(np.longdouble).max])
    if huge.dtype != np.float64:  # where a long double is longer than a double
        with pytest.raises(SampleError, match="the first is inf in row 0"):
            as_points(huge)


def test_two_blocks_must_have_the_same_columns() -> None:
    assert same_columns(np.zeros((2, 3)), np.zeros((5, 3))) == 3
    for other in (np.zeros((2, 2)), np.zeros(3)):
        with pytest.raises(SampleError, match="give every arm the same columns"):
            same_columns(np.zeros((2, 3)), other)


def test_a_description_is_short_and_on_one_line() -> None:
    text = describe(np.zeros((1000, 3)))
    assert len(text) == 60 and text.endswith("...") and "\n" not in text
    assert describe([1, 2]) == "[1, 2]"
