"""Scans of a table: the rows of its arms in a random order, fetched in pieces.

The rows of an arm are sorted by hash(row number, seed). This order is fixed and does not depend on the sizes of the
draws. A scan fetches rows for all arms that need some: those whose hash is in the next part of the arm's range. It
fetches as many as are likely to be drawn soon, at least twice as many as before. So a run needs few scans, and memory
is proportional to what was drawn. An arm can go back to rows that it gave before: those that are not in memory any more
are fetched again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.cells import Scanning
from kabc.arms.parts import PartedScan
from kabc.arms.pools import check_start
from kabc.arms.sums import RowSums, table_changed
from kabc.arms.values import Encoder
from kabc.core.arrays import Array, Counts
from kabc.core.embeddings import FeatureSums
from kabc.core.errors import ArmError
from kabc.core.kernels import FiniteKernel
from kabc.core.words import counted

_FIRST_FETCH = 64  # rows of each arm, at first
_FEWEST = 16  # of each of many arms
_MOST_FIRST = 2_000_000  # of all arms together


class TableArm:
    """The rows of one arm of a table. Each is drawn at most once, in a random order that the seed decides."""

    def __init__(self, buffer: RowBuffer, number: int) -> None:
        self._buffer = buffer
        self._number = number

    def in_blocks(self, length: int) -> TableArm:
        """The same rows in blocks of consecutive ones: the blocks come in random order. A last part is left out."""
        return TableArm(self._buffer.in_blocks(length), self._number)

    @property
    def remaining(self) -> int:
        return self._buffer.remaining(self._number)

    @property
    def summed_by(self) -> tuple[RowBuffer, int] | None:
        """What sums its rows where they are, and its number there; None: they are here."""
        return (self._buffer, self._number) if self._buffer.can_sum else None

    def in_order(self, most: int) -> Array:  # (m, d)
        """The first rows in the order in which they came, at most this many; looking at them draws nothing."""
        return self._buffer.encoder(self._buffer.first_rows(self._number, most))

    @property
    def fingerprint(self) -> str:
        """Of the rows in the order in which they are drawn."""
        return self._buffer.fingerprint(self._number)

    def seek(self, start: int) -> None:
        """The next draw begins with sample number `start`, counted from 0."""
        self._buffer.seek(self._number, start)

    def draw(self, n: int, rng: np.random.Generator) -> Array:  # (n, d)
        return self._buffer.encoder(self._buffer.take(self._number, n))


@dataclass(frozen=True)
class _First:
    """The first rows of all arms, until each has had its part: those of arm i are `ends[i]` to `ends[i + 1]`."""

    most: int
    found: dict[str, NDArray[Any]]
    ends: NDArray[np.intp]  # (N + 1,)
    waiting: set[int]


class RowBuffer:
    """What all arms of a table share: which part was fetched, and the rows of the last scans.

    Each arm has a place: `_drawn` rows were drawn before it. `_stock` are the rows of an arm from number `_oldest` on.
    """

    def __init__(
        self, scan: Scanning, names: list[str], counts: NDArray[np.int64], encoder: Encoder, seed: int, block: int = 1
    ) -> None:
        self.encoder = encoder
        self._seed, self._block = seed, block
        self._blocked: dict[int, RowBuffer] = {}
        self._scan = scan
        self._names = np.array(names, dtype=object)
        self._counts = counts  # (N,)
        self._most = np.iinfo(np.int64).max  # rows of an arm that are drawn
        self._salt = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        self._drawn, self._oldest, self._fetched = np.zeros((3, len(names)), dtype=np.int64)
        self._share = np.zeros(len(names))  # of the hashes of an arm that were fetched
        self._stock: list[list[NDArray[Any]]] = [[] for _ in names]  # columns of rows
        self._used = False  # whether a row was drawn
        self._first: _First | None = None
        self._fingerprints: dict[int, str] | None = None
        self._sums = RowSums(scan, self._names, counts, encoder, self._salt) if isinstance(scan, PartedScan) else None
        self._lock = threading.Lock()  # arms may be drawn from several threads

    def in_blocks(self, length: int) -> RowBuffer:
        """A buffer of the same rows in blocks, one for all arms. No row may have been drawn before."""
        with self._lock:
            others = [self, *(one for size, one in self._blocked.items() if size != length)]
            if any(one._used for one in others):
                raise ArmError(
                    f"rows of {self._scan.name} were drawn already, and blocks would repeat them; open it anew"
                )
            if length not in self._blocked:
                self._blocked[length] = RowBuffer(
                    self._scan.in_blocks(length),
                    self._names.tolist(),
                    self._counts // length * length,
                    self.encoder,
                    self._seed,
                    length,
                )
            return self._blocked[length]

    @property
    def waiting(self) -> NDArray[np.int64]:  # (N,)
        """How many fetched rows of each arm wait to be drawn."""
        return np.asarray(np.maximum(self._fetched - self._drawn, 0))

    def remaining(self, arm: int) -> int:
        """How many rows of an arm are not drawn yet."""
        return int(self._counts[arm] - self._drawn[arm])

    def take(self, arm: int, n: int) -> dict[str, NDArray[Any]]:
        """The next n rows of an arm."""
        with self._lock:
            self._refuse_too_many(arm, n)
            while self._fetched[arm] < self._drawn[arm] + n:
                self._fetch(arm, int(self._drawn[arm] + n))
            first = int(self._drawn[arm] - self._oldest[arm])
            columns = zip(self.encoder.columns, self._stock[arm], strict=True)
            self._drawn[arm] += n
            self._used = True
            return {name: column[first : first + n] for name, column in columns}

    def _refuse_too_many(self, arm: int, n: int) -> None:
        if n > self.remaining(arm):
            raise ArmError(
                f"asked for {counted(n, 'sample')}, but {self.remaining(arm):,} of its {self._counts[arm]:,} rows "
                "remain; ask for fewer, or give it more rows"
            ).of_arm(self._names[arm])

    @property
    def can_sum(self) -> bool:
        """Whether rows can be summed where they are: they are not here."""
        return self._sums is not None

    def expect(self, most: int) -> None:
        """No more rows of an arm than this are drawn: what comes later is summed. So fewer are fetched beforehand."""
        self._most = most

    def sums(self, kernel: FiniteKernel, wanted: Counts) -> FeatureSums:  # (N,)
        """The sums of the next rows of each arm, which count as drawn. They stay where they are."""
        with self._lock:
            assert self._sums is not None
            for arm in np.flatnonzero(wanted > self._counts - self._drawn).tolist():
                self._refuse_too_many(arm, int(wanted[arm]))
            found = self._sums.sums(kernel, self._drawn, wanted)
            self._drawn = self._drawn + wanted
            self._used = True
            for arm in np.flatnonzero(wanted).tolist():  # what was fetched beforehand, and will not be drawn
                gone = int(min(self._drawn[arm], self._fetched[arm]) - self._oldest[arm])
                self._oldest[arm] += gone
                self._stock[arm] = [column[gone:].copy() for column in self._stock[arm]]
            return found

    def seek(self, arm: int, start: int) -> None:
        """The next row of an arm is number `start`. Rows that are not here any more are fetched again."""
        with self._lock:
            check_start(start, int(self._counts[arm]))
            if start < self._oldest[arm]:
                self._stock[arm] = []
                self._oldest[arm] = self._fetched[arm] = self._share[arm] = 0
            self._drawn[arm] = start
            self._used = self._used or start > 0

    def fingerprint(self, arm: int) -> str:
        """A text that differs where the rows of an arm or their order do. One scan reads those of all arms."""
        with self._lock:
            if self._fingerprints is None:
                self._fingerprints = self._read_fingerprints()
            return self._fingerprints.get(arm, "")

    def _read_fingerprints(self) -> dict[int, str]:
        known = self._scan.fingerprints(self._salt)
        return {number: f"{known[name]:016x}" for number, name in enumerate(self._names) if name in known}

    def first_rows(self, arm: int, most: int) -> dict[str, NDArray[Any]]:
        """The first rows of an arm in the order in which they came. One scan reads those of all arms."""
        with self._lock:
            if self._first is None or self._first.most != most:
                found = self._scan.first(self._names, np.minimum(self._counts, most))
                ends = np.searchsorted(found["code"], np.arange(len(self._names) + 1))
                self._first = _First(most, found, ends, set(range(len(self._names))))
            first = self._first
            first.waiting.discard(arm)
            if not first.waiting:  # all arms had their part: nobody will ask again
                self._first = None
        own = slice(first.ends[arm], first.ends[arm + 1])
        return {name: first.found[f"value{place}"][own] for place, name in enumerate(self.encoder.columns)}

    def _fetch(self, arm: int, need: int) -> None:
        """One more scan: rows of this arm, and of arms that will soon need some."""
        share = self._next_share(arm, need)
        arms = np.flatnonzero(share > self._share)
        found = self._read(arms, self._share[arms], share[arms])
        order = np.lexsort((found["within"], found["hash"], found["code"]))
        ends = np.cumsum(np.bincount(found["code"], minlength=len(self._names)))
        stock, oldest, fetched = list(self._stock), self._oldest.copy(), self._fetched.copy()
        for number in arms.tolist():
            mine = order[(ends[number - 1] if number else 0) : ends[number]]
            new = [found[f"value{place}"][mine] for place in range(len(self._scan.cells))]
            old = stock[number] or [column[:0] for column in new]
            fetched[number] += len(mine)
            gone = int(min(self._drawn[number], fetched[number]) - oldest[number])  # rows that were drawn
            oldest[number] += gone
            stock[number] = [np.concatenate(pair)[gone:] for pair in zip(old, new, strict=True)]
        # in one step: Ctrl-C may come at any time
        self._stock, self._oldest, self._fetched, self._share = stock, oldest, fetched, share
        self._refuse_changed()

    def _next_share(self, arm: int, need: int) -> NDArray[np.float64]:  # (N,)
        """The share of each arm that is fetched after the next scan.

        An arm that has drawn about as much as the one that ran out gets as much as that one. Another arm with few rows
        left gets as many again as it has drawn.
        """
        in_step = 2 * self._drawn >= self._drawn[arm]
        low = 2 * (self._fetched - self._drawn) < self._drawn
        target = np.maximum(np.where(in_step, 2 * need, 0), np.where(low, 2 * self._drawn, 0))
        target = np.where(target > 0, np.maximum(target, self._first_fetch), 0)
        target = np.minimum(target, max(self._most, need))
        target = np.where(target > self._fetched, target + 4 * np.sqrt(target * self._block), 0)  # random hashes
        share = np.maximum(self._share, target / np.maximum(self._counts, 1))
        if share[arm] == self._share[arm]:  # the last scan found fewer rows than expected
            share[arm] += _FIRST_FETCH / self._counts[arm]
        return np.minimum(share, 1.0)

    @property
    def _first_fetch(self) -> int:
        """Rows of each arm that the first scan fetches. Most of them are never drawn if there are many arms."""
        return max(_FEWEST, min(_FIRST_FETCH, _MOST_FIRST // len(self._names)))

    def _read(
        self, arms: NDArray[np.intp], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> dict[str, NDArray[Any]]:
        """Rows of these arms whose hash, as a share of all hashes, is in [low, high)."""
        cuts = {"name": self._names[arms], "code": arms.astype(np.int32), "low": _hash_at(low), "high": _hash_at(high)}
        return self._scan.read(cuts, self._salt)

    def _refuse_changed(self) -> None:
        whole = self._share >= 1
        wrong = np.flatnonzero((self._fetched > self._counts) | (whole & (self._fetched < self._counts)))
        if len(wrong):
            first = int(wrong[0])
            raise table_changed(
                self._scan.name, self._names[first], int(self._counts[first]), f"{self._fetched[first]:,}"
            )


def _hash_at(share: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The 63-bit hash below which this share of all hashes is."""
    return (share * 2.0**63).astype(np.uint64)
