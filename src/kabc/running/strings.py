"""Arms that return texts: how these become numbers, for strategies that bet.

The samples of the first round decide, all arms together: short texts that repeat are categories, others are texts,
unless `types=` says it. From then on the encoding is one fixed function for all arms and rounds. No bet is made on the
first round, so the choice is made before every sample that counts (docs/theory.md, section 11.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.values import Encoder, Kind, one_of
from kabc.core.errors import SampleError, SettingsError
from kabc.core.samples import as_rows, describe
from kabc.core.words import counted

_LONGEST = 40  # characters of a category, if nobody says that it is one
_MOST = 50  # categories
_NUMBERS = (bool, int, float, np.number, np.bool_)


class Strings:
    """What becomes of texts in the samples of a run."""

    def __init__(self, types: Mapping[str, str] | None = None) -> None:
        if not isinstance(types, Mapping | None):
            raise SettingsError(f"types must be a mapping column -> kind, such as {{'value': 'text'}}, got {types!r}")
        for column, kind in (types or {}).items():
            one_of(f"type of column {column!r}", kind, get_args(Kind))
        self._types = cast(Mapping[str, Kind], types or {})
        self.encoder: Encoder | None = None  # None: no texts, or none seen yet
        self.decided = False
        self.tolerance: object = None  # of the run, where it could not be read without knowing the columns
        self.notes: tuple[str, ...] = ()

    def decide(self, samples: Sequence[ArrayLike]) -> None:
        """Look at the samples of the first round, of all arms."""
        self.decided = True
        with_text = [table for rows in samples if (table := text_rows(rows)) is not None]
        if with_text:
            self._choose(with_text)
        elif self._types:
            raise SettingsError(
                f"types={dict(self._types)!r} is for arms that return texts, or for a table; leave it out"
            )

    def _choose(self, tables: Sequence[NDArray[Any]]) -> None:
        width = tables[0].shape[1]
        names = ("value",) if width == 1 else tuple(f"column {place + 1}" for place in range(width))
        unknown = [column for column in self._types if column not in names]
        if unknown:
            raise SettingsError(
                f"types= names a column {unknown[0]!r} that samples do not have; they have {list(names)}"
            )
        alike = [table for table in tables if table.shape[1] == width]  # others are refused when they are encoded
        looks = {name: _kind(np.concatenate([table[:, place] for table in alike])) for place, name in enumerate(names)}
        self.encoder = Encoder(names, {name: self._types.get(name, looks[name]) for name in names})
        if self.tolerance is not None:
            self._refuse_tolerance(self.encoder)
        undeclared = any(name not in self._types and kind != "number" for name, kind in looks.items())
        n_seen = counted(sum(map(len, alike)), "sample")
        how = f" (as the first {n_seen} look; types= can say otherwise)" if undeclared else ""
        self.notes = (f"texts: {self.encoder.describe()}{how}",)

    def _refuse_tolerance(self, encoder: Encoder) -> None:
        """A tolerance was taken to be about numbers."""
        column, kind = next((name, kind) for name, kind in encoder.types.items() if kind != "number")
        one = len(encoder.types) == 1
        cure = f"say types={{{column!r}: {kind!r}}}" if one else "compare them as a table, with arm= and types="
        raise SettingsError(
            f"tolerance {describe(self.tolerance)}: the arms return texts in {column!r} (they look like {kind}), and "
            f"what a tolerance means for them must be clear before the first sample; {cure}, and a tolerance such as "
            "'1% outliers'"
        )

    def numbers(self, rows: ArrayLike) -> ArrayLike:
        """The samples of one arm as numbers; as they are where there are no texts."""
        if self.encoder is None:
            return rows
        columns = self.encoder.columns
        table = text_rows(rows, always=True)
        if table is None or table.shape[1] != len(columns):
            raise SampleError(
                f"returned {describe(rows)}, while samples of the first round have {counted(len(columns), 'column')}; "
                "all arms and rounds need the same columns"
            )
        for place, column in enumerate(columns):
            _check(column, self.encoder.types[column], table[:, place])
        return self.encoder({column: table[:, place] for place, column in enumerate(columns)})


def text_rows(rows: ArrayLike, *, always: bool = False) -> NDArray[Any] | None:  # -> (n, d)
    """Samples that hold texts, as rows; None if they do not, or if they are no rows at all."""
    try:
        table = as_rows(rows)
    except SampleError:
        return None  # the strategy refuses them
    if table.ndim not in (1, 2) or not table.size or not (always or _has_text(table)):
        return None
    return table.reshape(len(table), -1)


def _has_text(table: NDArray[Any]) -> bool:
    if table.dtype.kind == "O":
        return any(isinstance(value, str) for value in table.ravel().tolist())
    return table.dtype.kind == "U"


def _kind(values: NDArray[Any]) -> Kind:  # (n,)
    """What a column of the first round looks like."""
    found = values.tolist()
    if not any(isinstance(value, str) for value in found):
        return "number"
    texts = [str(value) for value in found]
    different = len(set(texts))
    short = max(map(len, texts)) <= _LONGEST
    return "category" if short and different <= _MOST and 4 * different <= 3 * len(texts) else "text"


def _check(column: str, kind: Kind, values: NDArray[Any]) -> None:  # (n,)
    """Refuse what is not of the kind: it would become a value that nobody meant."""
    right = _NUMBERS if kind == "number" else (str,)
    for value in (values if values.dtype.kind == "O" else values[:1]).tolist():
        missing = value is None or bool(value != value)
        if missing or not isinstance(value, right):
            what = "a number" if kind == "number" else "a text"
            cure = "; decide what a missing value means, e.g. 'missing'" if missing else ""
            raise SampleError(f"returned {describe(value)} in column {column!r}, where {what} was expected{cure}")
