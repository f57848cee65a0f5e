"""Sums of features over rows of a table in parts, computed where the parts are: the rows stay there.

The rows of an arm are drawn in the order of their hash. So the next n of them are those in a range of hashes, and a
part can sum its own. The range must hold exactly n rows of all parts together. Its end is found by counting: hashes
are random, so it lies within a few standard deviations of a known place. These are cut into segments, and rows are
counted in each. Few hashes are left in the right segment, and they are fetched. No two rows of an arm have the same
hash: it is one to one in the row number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.cells import Scan
from kabc.arms.parts import Columns, PartedScan, joined
from kabc.arms.values import Encoder
from kabc.arms.workspace import readable
from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.embeddings import ArmSums, FeatureSums
from kabc.core.errors import ArmError, KabcError
from kabc.core.kernels import FiniteKernel
from kabc.core.words import counted

Hashes = NDArray[np.uint64]

_LAST = np.iinfo(np.uint64).max
_SEGMENTS = 32  # in which rows are counted
_WIDTH = 5.0  # standard deviations to each side that they cover: one of a million arms has its row elsewhere
_FEW = 64  # hashes of an arm that are fetched
_MOST_TURNS = 100  # of counting; two or three are enough for a table that does not change
_MOST_BYTES = 1 << 27  # of sums that a machine holds for one query; more arms are summed in several
_ROWS_AT_ONCE = 1 << 17  # whose values are in memory


class RowSums:
    """Sums over the next rows of the arms of a table.

    Parameters
    ----------
    scan : PartedScan
        Of the table.
    names : array of str
        The arms.
    counts : array of int
        Rows of each arm.
    encoder : Encoder
        Makes rows numbers.
    salt : int
        Decides the order of rows.
    """

    def __init__(
        self, scan: PartedScan, names: NDArray[Any], counts: Counts, encoder: Encoder, salt: int
    ) -> None:  # (N,), (N,)
        self._scan, self._names, self._counts, self._encoder, self._salt = scan, names, counts, encoder, salt
        # the row number `_row` of an arm, counted from 0, is the first whose hash is at least `_from`
        self._row = np.zeros(len(names), dtype=np.int64)
        self._from: Hashes = np.zeros(len(names), dtype=np.uint64)

    def sums(self, kernel: FiniteKernel, first: Counts, wanted: Counts) -> FeatureSums:  # (N,), (N,)
        """The sums of so many rows of each arm, from row number `first` on, counted from 0."""
        arms = np.flatnonzero(wanted)
        self._seek(arms[self._row[arms] != first[arms]], first)
        ends = self._ends(arms, (first + wanted)[arms])
        found = FeatureSums.of_arms(kernel, len(wanted), self._in_passes(kernel, arms, ends))
        self._refuse_other(np.arange(len(wanted)), found.counts - wanted)
        self._row[arms] += wanted[arms]
        self._from[arms] = np.where(ends < _LAST, ends + np.uint64(1), _LAST)
        return found

    def _seek(self, arms: Index, first: Counts) -> None:
        """Find where rows number `first` begin. Rows before them were drawn in another way."""
        begun = arms[first[arms] > 0]
        self._row[arms], self._from[arms] = 0, 0
        self._from[begun] = self._ends(begun, first[begun]) + np.uint64(1)
        self._row[begun] = first[begun]

    def _in_passes(self, kernel: FiniteKernel, arms: Index, ends: Hashes) -> Iterator[ArmSums]:
        """As many arms at a time as have sums that fit into memory."""
        row = kernel.features(kernel.coerce(np.zeros((1, len(self._encoder.names)))))
        at_once = max(1, _MOST_BYTES // (row.shape[1] * 8))
        for start in range(0, len(arms), at_once):
            some = slice(start, start + at_once)
            cuts = self._cuts(arms[some], arms[some], self._from[arms[some]], ends[some])
            yield self._scan.total(sums_between, cuts, self._salt, self._encoder, kernel)

    def _cuts(self, codes: Index, arms: Index, low: Hashes, high: Hashes) -> Columns:
        return {"name": self._names[arms], "code": codes.astype(np.int32), "low": low, "high": high}

    # ------------------------------------------------------------ the hash of a row

    def _ends(self, arms: Index, numbers: Counts) -> Hashes:  # (E,), (E,) -> (E,)
        """For each arm a hash up to which it has exactly so many rows: some behind those before its place."""
        before = self._row[arms]
        search = _Search(numbers, before, self._counts[arms] - before, self._from[arms])
        for _ in range(_MOST_TURNS):
            some = np.flatnonzero(search.wide)
            if not len(some):
                break
            start, width = search.segments(some)
            last = start + np.uint64(_SEGMENTS) * width - np.uint64(1)
            cuts = self._cuts(np.arange(len(some)), arms[some], search.low[some], last)
            found = self._scan.total(counts_between, cuts | {"start": start, "width": width}, self._salt)
            search.narrow(some, start, width, found)
        else:
            raise self._changed(int(arms[some[0]]), "fewer")
        some = np.flatnonzero(search.open)
        if len(some):
            cuts = self._cuts(np.arange(len(some)), arms[some], search.low[some], search.high[some])
            near = joined(self._scan.each(hashes_between, cuts, self._salt))
            more = search.settle(some, near["code"], near["hash"])
            self._refuse_other(arms[some], more)
        return search.high

    def _refuse_other(self, arms: Index, more: Counts) -> None:  # (A,), (A,)
        """Refuse a table in which arms have more or fewer rows than at first."""
        for place in np.flatnonzero(more).tolist():
            arm = int(arms[place])
            raise self._changed(arm, f"{self._counts[arm] + more[place]:,}")

    def _changed(self, arm: int, later: str) -> ArmError:
        return table_changed(self._scan.name, self._names[arm], int(self._counts[arm]), later)


@dataclass
class _Search:
    """Ranges of hashes that close in on the row number `numbers` of arms, counted from 1.

    `below` rows have a hash under `low`, and `inside` have one from `low` to `high`. An arm is done when its range
    ends with the row.
    """

    numbers: Counts  # (E,)
    below: Counts  # (E,)
    inside: Counts  # (E,)
    low: Hashes  # (E,)

    def __post_init__(self) -> None:
        self.high: Hashes = np.full(len(self.numbers), _LAST)

    @property
    def open(self) -> Mask:  # (E,)
        """Arms that are not done."""
        return np.asarray(self.below + self.inside > self.numbers)

    @property
    def wide(self) -> Mask:  # (E,)
        """Arms with more hashes in their range than are fetched."""
        return self.open & (self.inside > _FEW)

    def segments(self, some: Index) -> tuple[Hashes, Hashes]:  # (S,) -> (S,), (S,)
        """Where the segments of these ranges start, and how long each is."""
        inside, low, high = self.inside[some], self.low[some], self.high[some]
        share = (self.numbers - self.below)[some] / inside  # in (0, 1)
        sd = np.sqrt(share * (1 - share) / inside)
        first, last = np.maximum(share - _WIDTH * sd, 0.0), np.minimum(share + _WIDTH * sd, 1.0)
        span = high - low
        start = low + np.minimum((first * span).astype(np.uint64), span - np.uint64(_SEGMENTS))
        width = ((last - first) * span / _SEGMENTS).astype(np.uint64)
        return start, np.clip(width, np.uint64(1), (high - start) // np.uint64(_SEGMENTS))

    def narrow(self, some: Index, start: Hashes, width: Hashes, found: Counts) -> None:  # (S,), (S,), (S, 1 + segments)
        """Go on with the part of each range that has the row: before the segments, one of them, or behind them."""
        low, high = self.low[some], self.high[some]
        behind = self.inside[some] - found.sum(axis=1)
        counts = np.column_stack([found, behind])
        ends = np.cumsum(counts, axis=1) + self.below[some, None]
        part = (ends < self.numbers[some, None]).sum(axis=1)
        rows = np.arange(len(some))
        steps = np.arange(_SEGMENTS + 1, dtype=np.uint64)
        edges = np.column_stack([low, start[:, None] + steps * width[:, None]])  # where each part begins
        self.low[some] = edges[rows, part]
        follows = edges[rows, np.minimum(part + 1, _SEGMENTS + 1)] - np.uint64(1)
        self.high[some] = np.where(part <= _SEGMENTS, follows, high)
        self.inside[some] = counts[rows, part]
        self.below[some] = ends[rows, part] - self.inside[some]

    def settle(self, some: Index, code: Index, hashes: Hashes) -> Counts:  # (S,), (m,), (m,) -> (S,)
        """End these ranges with the row, by all hashes in them. Returns how many more there are than should be."""
        order = np.lexsort((hashes, code))
        ends = np.cumsum(np.bincount(code, minlength=len(some)))
        firsts = np.concatenate([[0], ends[:-1]])
        more: Counts = ends - firsts - self.inside[some]
        if not more.any():
            self.high[some] = hashes[order][firsts + (self.numbers - self.below)[some] - 1]
        return more


def table_changed(name: str, arm: object, first: int, later: str) -> ArmError:
    """The error where an arm has other rows than were counted at first."""
    return ArmError(
        f"{name} changed during the run: {counted(first, 'row')} at first, {later} later; start again, and do not "
        "change it during the run"
    ).of_arm(arm)


# ------------------------------------------------------------ queries, asked of each part where it is


def counts_between(scan: Scan, cuts: Columns, salt: int) -> Counts:  # (S, 1 + segments)
    """For each range of hashes: how many rows are before its segments, and in each of them."""
    segment = "CASE WHEN hash < start THEN 0 ELSE 1 + (hash - start) // width END"
    found = _between(scan, cuts, salt, f"cuts.code, {segment} AS segment, count(*) AS rows", after="GROUP BY 1, 2")
    counts = np.zeros((len(cuts["code"]), _SEGMENTS + 1), dtype=np.int64)
    counts[found["code"], found["segment"].astype(np.intp)] = found["rows"]
    return counts


def hashes_between(scan: Scan, cuts: Columns, salt: int) -> Columns:
    """The hashes of rows in each range."""
    return _between(scan, cuts, salt, "cuts.code, hash")


def sums_between(scan: Scan, cuts: Columns, salt: int, encoder: Encoder, kernel: FiniteKernel) -> ArmSums:
    """The sums of the features of rows in each range.

    Rows are sorted first, on disk if they are many: the sums of a part do not depend on how it was read.
    """
    _between(
        scan,
        cuts,
        salt,
        "cuts.code, near.* EXCLUDE (name, hash)",
        before="CREATE TABLE picked AS",
        values=f", {scan.fetched}",
        after="ORDER BY cuts.code, hash",
    )
    workspace = scan.rows.workspace
    arms = workspace.arrays("SELECT DISTINCT code FROM picked ORDER BY code")["code"].astype(np.intp)
    ((n_rows,),) = workspace.rows("SELECT count(*) FROM picked")

    def pieces() -> Iterator[tuple[Index, NDArray[Any]]]:
        for start in range(0, n_rows, _ROWS_AT_ONCE):
            found = workspace.arrays(
                f"SELECT * FROM picked WHERE rowid >= {start} AND rowid < {start + _ROWS_AT_ONCE} ORDER BY rowid"
            )
            block = {name: found[f"value{place}"] for place, name in enumerate(encoder.columns)}
            codes = found["code"].astype(np.intp)
            yield codes, _coerced(kernel, encoder(block), codes, cuts)

    with readable(scan.name):
        return ArmSums.of_rows(kernel, arms, pieces())


def _coerced(kernel: FiniteKernel, rows: Array, codes: Index, cuts: Columns) -> NDArray[Any]:  # (n, d), (n,)
    """Rows as the kernel needs them; an error names the arm."""
    try:
        return kernel.coerce(rows)
    except KabcError:
        for code, name in zip(cuts["code"].tolist(), cuts["name"].tolist(), strict=True):
            try:
                if (codes == code).any():
                    kernel.coerce(rows[codes == code])
            except KabcError as error:
                raise error.of_arm(name) from None
        raise


def _between(
    scan: Scan, cuts: Columns, salt: int, what: str, before: str = "", values: str = "", after: str = ""
) -> Columns:
    """A query about the rows of the arms `name` in `cuts` whose hash is from `low` to `high`."""
    workspace, order = scan.rows.workspace, scan.hash_of_rows(salt)
    near = f"{scan.kept} AND {order} BETWEEN {cuts['low'].min()}::UBIGINT AND {cuts['high'].max()}::UBIGINT"
    workspace.connection.register("cuts", cuts)
    with readable(scan.name):
        found = workspace.arrays(
            f"{before} SELECT {what} FROM (SELECT {scan.arm} AS name, {order} AS hash{values} "
            f"FROM {scan.rows.relation} WHERE {near}) AS near "
            f"JOIN cuts ON near.name = cuts.name AND hash >= low AND hash <= high {after}"
        )
    workspace.connection.unregister("cuts")
    return found
