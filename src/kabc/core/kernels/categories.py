"""Kernels for data that can only be equal or different and have no distances."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SampleError
from kabc.core.kernels.base import Kernel, keep_whole
from kabc.core.samples import as_array, as_points, describe, same_columns, two_dimensional


@dataclass(frozen=True)
class Hamming(Kernel):
    """Share of equal positions: columns of a row, or characters of a string padded to `length`.

    With length=None a sample is a row of categories (all numbers or all strings), compared column by column. With a
    length a sample is one string, cut or padded to that many characters. Normalised, g(x, x) = 1. Not characteristic:
    it sees the distribution of each position, but not how positions depend on each other.

    Examples
    --------
    >>> import kabc
    >>> kernel = kabc.Hamming()
    >>> rows = kernel.coerce([("red", "small"), ("red", "large")])
    >>> kernel(rows, rows).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    length: int | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            keep_whole(self, 1, length=self.length)

    @property
    def supremum(self) -> float:
        return 1.0

    @property
    def infimum(self) -> float:
        return 0.0

    @property
    def characteristic(self) -> bool:
        return False

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        columns = same_columns(x, y)
        equal = np.zeros((len(x), len(y)))
        for column in range(columns):
            equal += x[:, column, None] == y[None, :, column]
        return equal / columns

    def diagonal(self, x: NDArray[Any]) -> Array:
        return np.ones(len(x))

    def coerce(self, samples: ArrayLike) -> NDArray[Any]:
        # as objects first: NumPy would silently turn a row such as ("a", 1.0) into strings
        raw = as_array(samples, None if isinstance(samples, np.ndarray) else object)
        kinds = _kinds(raw)
        if kinds <= {str, np.str_}:
            text = two_dimensional(raw).astype(np.str_)
            return text if self.length is None else _code_points(text, self.length)
        if self.length is None and all(issubclass(kind, Real | np.bool_) for kind in kinds):
            return as_points(samples)
        wanted = "categories: all strings or all numbers" if self.length is None else "the characters of strings"
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise SampleError(
            f"{self!r} compares {wanted}, got values of type {names}: {describe(samples)}; "
            "convert them first (a missing value can be a category as well)"
        )


def _kinds(raw: NDArray[Any]) -> set[type]:
    return {type(value) for value in raw.ravel()} if raw.dtype.kind == "O" else {raw.dtype.type}


def _code_points(text: NDArray[np.str_], length: int) -> Array:  # (n, 1) -> (n, length)
    if text.shape[1] != 1:
        raise SampleError(
            f"Hamming(length={length}) takes one string for each sample, got {text.shape[1]} columns; "
            "use Hamming() to compare rows of categories"
        )
    cut = np.ascontiguousarray(text[:, 0].astype(f"U{length}"))
    return cut.view(np.uint32).reshape(len(text), length).astype(np.float64)
