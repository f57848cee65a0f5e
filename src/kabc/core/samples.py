"""What a sample is: one row of a two-dimensional array. The one place where foreign data become numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SampleError
from kabc.core.words import counted, plural
from kabc.core.words import describe as describe


def as_points(samples: ArrayLike) -> Array:  # -> (n, d)
    """A new finite float64 array of shape (n, d), converted before any arithmetic; shape (n,) becomes (n, 1)."""
    raw = as_array(samples)
    if raw.dtype.kind == "c":
        raise SampleError(
            f"samples must be real numbers, got complex ones: {describe(samples)}; "
            "pass real and imaginary parts as two columns"
        )
    if raw.dtype.kind not in "biuf":
        raise SampleError(
            f"samples must be numbers, got {describe(samples)} (dtype {raw.dtype}); "
            "convert them, or use kabc.Hamming for categories and text"
        )
    if raw.dtype == np.float64:
        return _finite(two_dimensional(raw).copy())
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which is refused below
        return _finite(two_dimensional(raw).astype(np.float64))


def as_array(samples: ArrayLike, dtype: Any = None) -> NDArray[Any]:
    """An array of any type: np.asarray, with ragged rows and masked values refused."""
    if type(samples) is np.ndarray and dtype is None:  # most samples
        return samples
    if np.ma.is_masked(samples):
        raise SampleError(
            f"samples have masked values: {describe(samples)}; "
            "decide what a missing value means before drawing (dropping it changes the distribution)"
        )
    try:
        return np.asarray(samples, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise SampleError(
            f"samples do not form an array: {describe(samples)} ({error}); "
            "pass rows of equal length, one for each sample"
        ) from error


def as_rows(samples: ArrayLike) -> NDArray[Any]:
    """An array of any type, in which numbers beside texts stay numbers: they become an array of objects."""
    raw = as_array(samples)
    if raw.dtype.kind != "U" or isinstance(samples, np.ndarray):
        return raw
    as_given = as_array(samples, object)
    return raw if all(isinstance(value, str) for value in as_given.ravel().tolist()) else as_given


def two_dimensional(samples: NDArray[Any]) -> NDArray[Any]:  # (n,) or (n, d) -> (n, d)
    """One row for each sample, and at least one row and one column."""
    if samples.ndim not in (1, 2) or samples.size == 0:
        raise SampleError(
            f"samples must be a non-empty array of shape (n,) or (n, d), got shape {samples.shape}; "
            "one row is one sample"
        )
    return samples[:, None] if samples.ndim == 1 else samples


def same_columns(x: NDArray[Any], y: NDArray[Any]) -> int:
    """The common number of columns of two blocks of samples."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise SampleError(
            f"samples to compare must have shapes (n, d) and (m, d), got {x.shape} and {y.shape}; "
            "give every arm the same columns"
        )
    return int(x.shape[1])


def _finite(points: Array) -> Array:
    good = np.isfinite(points)
    if not good.all():
        bad = ~good
        row, column = (int(v) for v in np.argwhere(bad)[0])
        n_bad = int(bad.sum())
        raise SampleError(
            f"{counted(n_bad, 'value')} of the samples {plural(n_bad, 'is')} not finite, the first is "
            f"{points[row, column]} in row {row}, column {column}; decide what a missing value means before drawing "
            "(dropping it changes the distribution)"
        )
    return points


def expect_columns(points: NDArray[Any], columns: int) -> None:  # (n, d)
    """All arms and rounds have the same columns."""
    if points.shape[1] != columns:
        raise SampleError(
            f"samples have {counted(points.shape[1], 'column')}, those before have {columns}; "
            "all arms and rounds need the same columns"
        )


def expect_count(points: NDArray[Any], count: int) -> None:  # (n, d)
    """As many samples as were asked for."""
    if len(points) != count:
        raise SampleError(f"asked for {count} samples, got {len(points)}; one row is one sample")


def kinds_of(samples: NDArray[Any]) -> str:  # (n,) or (n, d)
    """What the columns hold: "n" for numbers, "t" for texts. Refuses what no strategy could be told."""
    table = two_dimensional(samples)
    width: int = table.shape[1]
    if table.dtype.kind == "U":
        return "t" * width
    if table.dtype.kind != "O":
        as_points(table)
        return "n" * width
    columns = [{_kind(value) for value in table[:, place].tolist()} for place in range(width)]
    if {"t"} not in columns or any(kinds not in ({"t"}, {"n"}) for kinds in columns):
        raise SampleError(
            f"samples must be numbers or texts, of one kind in each column, got {describe(samples)} (objects); convert "
            "them, and give a missing value a text or a number of its own"
        )
    return "".join(min(kinds) for kinds in columns)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "t"
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
        return ""
    try:
        return "n" if math.isfinite(value) else ""
    except OverflowError:  # a whole number beyond all floats
        return ""


def expect_alike(samples: NDArray[Any], kinds: str, before: str) -> None:
    """Numbers where others are numbers, and texts where others are texts: `kinds_of` these samples, and of others."""
    expect_columns(two_dimensional(samples), len(before))
    if kinds != before:
        place = next(place for place, (here, there) in enumerate(zip(kinds, before, strict=True)) if here != there)
        words = ("texts", "numbers") if kinds[place] == "t" else ("numbers", "texts")
        raise SampleError(
            f"samples have {words[0]} in column {place + 1}, those before have {words[1]}: {describe(samples)}; all "
            "arms and rounds need the same kind of values"
        )
