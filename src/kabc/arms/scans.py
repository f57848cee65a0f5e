"""Scans of a table: the rows of its arms in a random order, fetched in pieces.

The rows of an arm are sorted by hash(row number, seed). This order is fixed and does not depend on the sizes of the
draws. A scan fetches rows for all arms that need some: those whose hash is in the next part of the arm's range. It
fetches as many as are likely to be drawn soon, at least twice as many as before. So a run needs few scans, and memory
is proportional to what was drawn. An arm can go back to rows that it gave before: those that are not in memory any more
are fetched again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.cells import Scanning
from kabc.arms.parts import PartedScan
from kabc.arms.pools import check_start
from kabc.arms.sums import RowSums, table_changed
from kabc.arms.values import Encoder
from kabc.core.arrays import Array, Counts, Index
from kabc.core.embeddings import FeatureSums
from kabc.core.errors import ArmError, KabcError
from kabc.core.kernels import FiniteKernel
from kabc.core.words import counted

_ARMS_AT_ONCE = 512  # whose rows are put in their places together
_FIRST_FETCH = 64  # rows of each arm, at first
_FEWEST = 16  # of each of many arms
_MOST_FIRST = 2_000_000  # of all arms together
_FEW_ROWS = 20_000  # of all arms that have too few
_FURTHEST = 8  # times what an arm needs, if these are few rows


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
    def table(self) -> tuple[RowBuffer, int]:
        """What draws and sums rows of all arms, and its number there."""
        return self._buffer, self._number

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
        return self._buffer.draw(np.array([self._number]), np.array([n]))


@dataclass(frozen=True)
class _First:
    """The first rows of all arms, until each has had its part: those of arm i are `ends[i]` to `ends[i + 1]`."""

    most: int
    found: dict[str, NDArray[Any]]
    ends: NDArray[np.intp]  # (N + 1,)
    waiting: set[int]


class RowBuffer:
    """What all arms of a table share: which part was fetched, and the rows of the last scans.

    Each arm has a place: `_drawn` rows were drawn before it. `_stock` are the columns of fetched rows, arm after arm.
    Those of an arm begin at `_starts`, with its row number `_oldest`, and end before its row number `_fetched`.
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
        self._drawn, self._oldest, self._fetched, self._starts = np.zeros((4, len(names)), dtype=np.int64)
        self._share = np.zeros(len(names))  # of the hashes of an arm that were fetched
        self._stock: list[NDArray[Any]] = []
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

    def draw(self, arms: Index, counts: Counts) -> Array:  # (A,), (A,) -> (rows, d)
        """The next rows of some arms, arm after arm. If something is wrong with one of them, nothing is drawn."""
        with self._lock:
            for at in np.flatnonzero(counts > self._counts[arms] - self._drawn[arms]).tolist():
                raise self._too_many(int(arms[at]), int(counts[at]))
            while (self._drawn[arms] + counts > self._fetched[arms]).any():
                self._fetch(arms, counts)
            places = _spans(self._starts[arms] + self._drawn[arms] - self._oldest[arms], counts)
            columns = zip(self.encoder.columns, self._stock, strict=True)
            rows = self.encoder({name: column[places] for name, column in columns})
            self._drawn[arms] += counts
            self._used = True
            return rows

    def _too_many(self, arm: int, n: int) -> KabcError:
        return ArmError(
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
                raise self._too_many(arm, int(wanted[arm]))
            found = self._sums.sums(kernel, self._drawn, wanted)
            self._drawn = self._drawn + wanted
            self._used = True
            if (np.minimum(self._drawn, self._fetched) > self._oldest).any():
                self._restock(self._stock, np.zeros_like(wanted))  # what was fetched beforehand is not drawn any more
            return found

    def seek(self, arm: int, start: int) -> None:
        """The next row of an arm is number `start`. Rows that are not here any more are fetched again."""
        with self._lock:
            check_start(start, int(self._counts[arm]))
            if start < self._oldest[arm]:
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

    def _fetch(self, arms: Index, counts: Counts) -> None:  # (A,), (A,)
        """One more scan: rows of these arms if they have too few, and of arms that will soon need some."""
        need = np.zeros_like(self._drawn)
        need[arms] = self._drawn[arms] + counts
        share = self._next_share(np.where(need > self._fetched, need, 0))
        arms = np.flatnonzero(share > self._share)
        found = self._read(arms, self._share[arms], share[arms])
        code = found.pop("code")
        order = np.lexsort((found.pop("within"), found.pop("hash"), code))
        added = np.bincount(code, minlength=len(self._names))
        columns = (found.pop(f"value{place}")[order] for place in range(len(self._scan.cells)))  # one at a time
        self._restock(columns, added, share)
        self._refuse_changed()

    def _restock(self, new: Iterable[NDArray[Any]], added: Counts, share: Array | None = None) -> None:  # (N,), (N,)
        """Leave out rows that were drawn, and put so many new ones behind those of each arm, which come sorted."""
        fetched = self._fetched + added
        oldest = np.minimum(self._drawn, fetched)
        kept = np.maximum(self._fetched - oldest, 0)
        add = fetched - oldest - kept  # an arm may begin with a later row than the first new one
        starts = np.cumsum(kept + add) - kept - add
        held, came = self._starts + oldest - self._oldest, np.cumsum(added) - add  # the first of each arm, until now
        stock = []
        for place, column in enumerate(new):
            before = self._stock[place] if self._stock else column
            one = np.empty(int((kept + add).sum()), dtype=np.promote_types(before.dtype, column.dtype))
            for low in range(0, len(starts), _ARMS_AT_ONCE):  # places of all rows would take more than the rows
                some = slice(low, low + _ARMS_AT_ONCE)
                one[_spans(starts[some], kept[some])] = before[_spans(held[some], kept[some])]
                one[_spans((starts + kept)[some], add[some])] = column[_spans(came[some], add[some])]
            stock.append(one)
        share = self._share if share is None else share
        # in one step: Ctrl-C may come at any time
        self._stock, self._starts, self._oldest, self._fetched, self._share = stock, starts, oldest, fetched, share

    def _next_share(self, need: Counts) -> Array:  # (N,) -> (N,)
        """The share of each arm that is fetched after the next scan. `need`: rows of arms that have fewer, else 0.

        These get twice what they need, or up to eight times if they are few: a scan of a large table takes long. An arm
        that has drawn about as much as the one that needs most gets twice as much as that one needs. Another arm with
        few rows left gets as many again as it has drawn.
        """
        most, ahead = int(need.argmax()), min(_FURTHEST, max(2, _FEW_ROWS // int(need.sum())))
        in_step = 2 * self._drawn >= self._drawn[most]
        low = 2 * (self._fetched - self._drawn) < self._drawn
        target = np.maximum(np.where(in_step, 2 * need[most], 0), ahead * need)
        target = np.maximum(target, np.where(low, 2 * self._drawn, 0))
        target = np.where(target > 0, np.maximum(target, self._first_fetch), 0)
        target = np.minimum(target, np.maximum(self._most, need[most]))
        target = np.where(target > self._fetched, target + 4 * np.sqrt(target * self._block), 0)  # random hashes
        share = np.maximum(self._share, target / np.maximum(self._counts, 1))
        stuck = (need > 0) & (share == self._share)  # the last scan found fewer rows than expected
        share[stuck] += _FIRST_FETCH / self._counts[stuck]
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


def _spans(first: Counts, lengths: Counts) -> Index:  # (A,), (A,) -> (sum of lengths,)
    """The numbers first, first + 1, ... of each span, so many as it is long, one span after the other."""
    return np.asarray(np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum()))


def _hash_at(share: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The 63-bit hash below which this share of all hashes is."""
    return (share * 2.0**63).astype(np.uint64)
