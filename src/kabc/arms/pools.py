"""Arms that are finite pools of samples, drawn in random order without replacement."""

from __future__ import annotations

import math
from copy import copy
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.values import is_absent
from kabc.core.errors import ArmError, SampleError
from kabc.core.samples import as_rows
from kabc.core.words import counted


class PoolArm:
    """Rows of an array. Each is drawn at most once, in a random order that `rng` decides.

    The order does not depend on the sizes of the draws.
    """

    def __init__(self, name: object, rows: ArrayLike, rng: np.random.Generator) -> None:
        try:
            self._rows: NDArray[Any] = as_rows(rows)
        except SampleError as error:
            if np.ma.is_masked(rows):  # without its mask, what is missing would be a value
                raise error.of_arm(name) from None
            raise ArmError("its rows have different lengths; pass an array (n,) or (n, d)").of_arm(name) from error
        if self._rows.ndim not in (1, 2) or not self._rows.size:
            raise ArmError(
                f"a pool must be an array (n,) or (n, d) with a row for each sample, got shape {self._rows.shape}"
            ).of_arm(name)
        _refuse_missing(name, self._rows)
        self._order = rng.permutation(len(self._rows))
        self._used = self._most_used = 0

    def in_order(self, most: int) -> NDArray[Any]:  # (m, d)
        """The first rows as they were given, at most this many; looking at them draws nothing."""
        return self._rows[:most].reshape(min(most, len(self._rows)), -1)

    def in_blocks(self, length: int) -> PoolArm:
        """The same rows in blocks of consecutive ones: the blocks come in random order. A last part is left out."""
        pool = copy(self)
        whole = len(self._rows) // length
        shuffled = self._order[self._order < whole]  # numbers of blocks, in a random order
        touched = np.unique(self._order[: self._most_used] // length)
        blocks = shuffled[~np.isin(shuffled, touched)]
        pool._order = (blocks[:, None] * length + np.arange(length)).ravel()
        pool._used = pool._most_used = 0
        return pool

    @property
    def remaining(self) -> int:
        return len(self._order) - self._used

    @property
    def fingerprint(self) -> str:
        """Of the rows in the order in which they are drawn."""
        return rows_fingerprint(self._rows[self._order])

    def seek(self, start: int) -> None:
        """The next draw begins with sample number `start`, counted from 0."""
        check_start(start, len(self._order))
        self._used = start
        self._most_used = max(self._most_used, start)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if n > self.remaining:
            raise ArmError(
                f"it has {counted(self.remaining, 'sample')} left, but {n:,} were asked for; give it more rows"
            )
        chosen = self._order[self._used : self._used + n]
        self.seek(self._used + n)
        return self._rows[chosen]


def _refuse_missing(name: object, rows: NDArray[Any]) -> None:  # (n,) or (n, d)
    """Refuse values that are no values, also in rows that may never be drawn: which are drawn is chance."""
    if rows.dtype.kind in "fc":
        bad = ~np.isfinite(rows)
    elif rows.dtype.kind == "O":
        values = rows.ravel()
        endless = [isinstance(value, float) and math.isinf(value) for value in values.tolist()]
        bad = (is_absent(values) | np.array(endless, dtype=np.bool_)).reshape(rows.shape)
    else:
        return
    spoilt = np.flatnonzero(bad.reshape(len(rows), -1).any(axis=1))
    if len(spoilt):
        raise SampleError(
            f"{len(spoilt):,} of its {counted(len(rows), 'row')} hold values that are missing or not finite, the first "
            f"is row {spoilt[0]:,}; leave these rows out, or give them a value of their own (to leave them out changes "
            "the distribution)"
        ).of_arm(name)


def check_start(start: int, size: int) -> None:
    """Refuse a place that an arm of so many samples does not have."""
    if not 0 <= start <= size:
        raise ArmError(f"it has {counted(size, 'sample')}, and cannot begin with number {start}; is it the same data?")


def rows_fingerprint(rows: NDArray[Any]) -> str:
    """A text that differs where the rows do."""
    found = blake2b(f"{rows.dtype.str} {rows.shape} ".encode(), digest_size=8)
    if rows.dtype.kind == "O":
        found.update(repr(rows.tolist()).encode(errors="surrogatepass"))
    else:
        found.update(np.ascontiguousarray(rows).view(np.uint8).data)
    return found.hexdigest()
