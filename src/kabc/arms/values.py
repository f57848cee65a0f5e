"""Kinds of columns (number, category, text) and how their values become numbers.

Each encoding is a fixed function of the value alone, so what is proved about the numbers is true of the values. Numbers
stay as they are. A category becomes a hash, because only equality matters (Hamming kernel, indicator features). A text
becomes counts of its character n-grams for strategies that bet, and its first characters for the Hamming kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SampleError, SettingsError
from kabc.core.samples import describe
from kabc.core.words import counted

Kind = Literal["number", "category", "text"]
Missing = Literal["raise", "drop", "encode"]
TextForm = Literal["features", "characters"]
Block = Mapping[str, Sequence[object] | NDArray[Any]]

N_FEATURES = 256  # of a text
N_CHARACTERS = 64  # of a text
_LONGEST_NGRAM = 3
_HASH_BYTES = 6  # 48 bits fit a float64; two of 10,000 categories get the same code once in 5 million tables
_MOST_REMEMBERED = 1000  # categories of a column whose names are kept
_MOST_CATEGORIES = 50
_TEXT_WORDS = {"features": "text, hashed n-grams", "characters": f"text, first {N_CHARACTERS} characters"}


class Encoder:
    """Turns blocks of raw columns into float64 arrays (n, d), the same d each time.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns, in the order of the output.
    types : mapping of str to {"number", "category", "text"}
        Kind of each column.
    missing : {"raise", "drop", "encode"}, default "raise"
        What happens to None, NaN and NaT. "raise" is an error. "drop" leaves out the whole row and counts it in
        `dropped`. "encode" makes it a value: a number becomes 0 with an indicator column after it, any other kind a
        value that nothing else has.
    text : {"features", "characters"}, default "features"
        "features" are 256 hashed n-grams, for strategies that bet. "characters" are the first 64, for the Hamming
        kernel.
    """

    def __init__(
        self,
        columns: Sequence[str],
        types: Mapping[str, Kind],
        missing: Missing = "raise",
        text: TextForm = "features",
    ) -> None:
        one_of("missing", missing, get_args(Missing))
        one_of("text", text, get_args(TextForm))
        for column in columns:
            one_of(f"type of column {column!r}", types.get(column), get_args(Kind))
        self.columns = tuple(columns)
        self.types: dict[str, Kind] = {column: types[column] for column in columns}
        self.missing = missing
        self.text = text
        self.dropped = dict.fromkeys(columns, 0)
        self.levels: dict[str, dict[float, str]] = {c: {} for c, kind in self.types.items() if kind == "category"}
        self.names = tuple(name for column in columns for name in self._names(column))  # (d,)

    def __call__(self, block: Block) -> Array:  # columns of n values -> (n, d)
        """The numbers of a block of rows. Fewer than n rows only with missing="drop"."""
        parts = [self._part(column, _as_array(block[column])) for column in self.columns]
        gone = [absent for _, absent in parts]
        if self.missing == "raise":
            for column, absent in zip(self.columns, gone, strict=True):
                if absent.any():
                    raise missing_values(column, int(absent.sum()), len(absent))
        rows = np.concatenate([part for part, _ in parts], axis=1)
        if self.missing == "drop":
            for column, absent in zip(self.columns, gone, strict=True):
                self.dropped[column] += int(absent.sum())
            rows = rows[~np.logical_or.reduce(gone)]
        return rows

    def describe(self) -> str:
        """The columns and their kinds, in words."""
        return "; ".join(f"{column}: {self._words(kind)}" for column, kind in self.types.items())

    def _words(self, kind: Kind) -> str:
        words = _TEXT_WORDS[self.text] if kind == "text" else kind
        return f"{words} with an indicator of missing" if self._indicated(kind) else words

    def _indicated(self, kind: Kind) -> bool:
        return kind == "number" and self.missing == "encode"

    def _names(self, column: str) -> list[str]:
        kind = self.types[column]
        if kind == "text":
            width = N_FEATURES if self.text == "features" else N_CHARACTERS
            return [f"{column}[{place}]" for place in range(width)]
        return [column, f"{column} missing"] if self._indicated(kind) else [column]

    def _part(self, column: str, values: NDArray[Any]) -> tuple[Array, NDArray[np.bool_]]:  # (n,) -> (n, d_c), (n,)
        kind = self.types[column]
        if kind == "number":
            numbers = as_numbers(column, values)
            absent = np.isnan(numbers)
            columns = [np.where(absent, 0.0, numbers), *([absent] if self._indicated(kind) else [])]
            return np.stack(columns, axis=1, dtype=np.float64), absent
        absent = is_absent(values)
        texts = ["" if gone else str(value) for value, gone in zip(values.tolist(), absent, strict=True)]
        if kind == "category":
            codes = [category_code(text) for text in texts]
            self._remember(self.levels[column], codes, texts, absent)
            part = np.array(codes, dtype=np.float64).reshape(-1, 1)
        else:
            part = text_features(texts) if self.text == "features" else text_characters(texts)
        unlike = -1.0 / math.sqrt(N_FEATURES) if kind == "text" and self.text == "features" else -1.0
        part[absent] = unlike  # no code, count or character is negative
        return part, absent

    @staticmethod
    def _remember(
        known: dict[float, str], codes: Sequence[float], texts: Sequence[str], absent: NDArray[np.bool_]
    ) -> None:
        """Keep which category a code stands for. Only people need it; tests use the codes alone."""
        if len(known) < _MOST_REMEMBERED:
            known |= {code: text for code, text, gone in zip(codes, texts, absent, strict=True) if not gone}


def _as_array(values: Any) -> NDArray[Any]:
    """The values of a column. Texts stay as they are: an array of characters would lose a NUL at their ends."""
    found = np.asarray(values)
    return np.array(values, dtype=object) if found.dtype.kind == "U" and not isinstance(values, np.ndarray) else found


def one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a setting that is not one of the allowed words."""
    if value not in allowed:
        raise SettingsError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def string_kind(n_different: int, n_rows: int) -> Kind:
    """The kind of a column of strings where it is not declared: categories repeat, texts do not."""
    return "category" if n_different <= _MOST_CATEGORIES and 2 * n_different < n_rows else "text"


def as_numbers(column: str, values: NDArray[Any]) -> Array:  # (n,) -> (n,)
    """The values as finite numbers, NaN where missing."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        absent = is_absent(values)
        numbers = np.array(
            [math.nan if gone else _number(column, value) for value, gone in zip(values.tolist(), absent, strict=True)]
        )
    infinite = np.isinf(numbers)
    if infinite.any():
        raise infinite_values(column, int(infinite.sum()))
    return numbers


def _number(column: str, value: Any) -> float:
    if isinstance(value, str) and not value.strip():
        return math.nan  # an empty field
    try:
        return float(value)
    except (TypeError, ValueError):
        raise not_a_number(column, value) from None


def is_absent(values: NDArray[Any]) -> NDArray[np.bool_]:  # (n,)
    """Which values are None, NaN, NaT or NA."""
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values), dtype=np.bool_)
    if values.dtype.kind in "US":
        return np.zeros(len(values), dtype=np.bool_)
    # NaN and NaT differ from themselves; comparing NA of pandas gives no truth value
    return np.array(
        [value is None or type(value).__name__ == "NAType" or bool(value != value) for value in values.tolist()],
        dtype=np.bool_,
    )


@lru_cache(maxsize=1 << 16)
def category_code(text: str) -> float:
    """A whole number below 2^48 that stands for the category."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return float(int.from_bytes(digest, "big"))


def text_characters(texts: Sequence[str]) -> Array:  # n texts -> (n, 64)
    """Code points, cut or padded with zeros."""
    cut = np.array([text[:N_CHARACTERS] for text in texts], dtype=f"U{N_CHARACTERS}")
    return cut.view(np.uint32).reshape(len(texts), N_CHARACTERS).astype(np.float64)


def text_features(texts: Sequence[str]) -> Array:  # n texts -> (n, 256)
    """Counts of character n-grams (n = 1, 2, 3) in hashed columns, each as 1 + log(count), rows of length 1."""
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    counts = np.zeros(len(texts) * N_FEATURES)
    for size in range(1, min(_LONGEST_NGRAM, len(letters)) + 1):
        last = len(letters) - size + 1
        code = np.full(last, size, dtype=np.uint64)
        for place in range(size):
            code = _mixed(code ^ letters[place : last + place])
        within = row[:last] == row[size - 1 :]  # not across the end of a text
        column = (code % np.uint64(N_FEATURES)).astype(np.intp)
        counts += np.bincount((row[:last] * N_FEATURES + column)[within], minlength=len(counts))
    table = counts.reshape(len(texts), N_FEATURES)
    table = np.where(table > 0, 1.0 + np.log(np.maximum(table, 1.0)), 0.0)
    length = np.sqrt(np.square(table).sum(axis=1, keepdims=True))
    return np.asarray(table / np.where(length > 0, length, 1.0))


def _mixed(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit numbers that leaves no pattern: the last step of splitmix64, modulo 2^64."""
    code = (code + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def missing_values(column: str, count: int, rows: int) -> SampleError:
    """The error for missing values where none are allowed."""
    return SampleError(
        f"column {column!r} has {counted(count, 'missing value')} in {counted(rows, 'row')}; set missing='encode' to "
        "make them a value of their own, or missing='drop' to leave out their rows (which changes the distribution)"
    )


def infinite_values(column: str, count: int) -> SampleError:
    """The error for infinite numbers."""
    return SampleError(
        f"column {column!r} has {counted(count, 'infinite value')}; replace them, or leave the column out"
    )


def not_a_number(column: str, value: object) -> SampleError:
    """The error for text where a number was declared."""
    return SampleError(
        f"column {column!r} is declared a number but holds {describe(value)}; "
        f"correct it, or set types={{{column!r}: 'category'}} or types={{{column!r}: 'text'}}"
    )
