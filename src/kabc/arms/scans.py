"""Scans of a table: the rows of its arms in a random order, fetched a piece at a time.

The order of an arm is that of hash(row number, seed): fixed, and independent of how it is cut into draws. A scan
fetches, for all arms that need it, the rows whose hash lies in the next piece of the arm's range: as many as are likely
to be drawn soon, at least doubled each time. So a run takes few scans, and memory is proportional to what was drawn.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.rows import Rows, quoted, readable
from kabc.arms.values import Encoder, Kind
from kabc.core.arrays import Array
from kabc.core.errors import ArmError

FLOATS = ("FLOAT", "DOUBLE")
NUMBERS = re.compile(r'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL.*|FLOAT|DOUBLE|"NULL"')  # a column without values
STRINGS = re.compile(r"VARCHAR|ENUM.*|UUID")
TIMES = re.compile(r"DATE|TIME.*|INTERVAL")

_FIRST_FETCH = 64  # rows of each arm


@dataclass(frozen=True)
class Cell:
    """SQL about one value column."""

    column: str
    type: str
    kind: Kind

    @property
    def value(self) -> str:
        """A DOUBLE for a number, else a VARCHAR; NULL or NaN where there is none."""
        name = quoted(self.column)
        if self.kind != "number":
            text = f"CAST({name} AS VARCHAR)"
            return f"CASE WHEN isnan({name}) THEN NULL ELSE {text} END" if self.type in FLOATS else text
        if TIMES.fullmatch(self.type):
            return f"epoch({name})"
        return f"TRY_CAST({self._field} AS DOUBLE)" if self.written else f"CAST({name} AS DOUBLE)"

    @property
    def written(self) -> bool:
        """Whether it is a number that is written as a string."""
        return self.kind == "number" and bool(STRINGS.fullmatch(self.type))

    @property
    def _field(self) -> str:
        return f"nullif(trim(CAST({quoted(self.column)} AS VARCHAR)), '')"

    @property
    def missing(self) -> str:
        empty = f"({self._field} IS NULL)" if self.written else f"({self.value} IS NULL)"
        return f"({empty} OR coalesce(isnan({self.value}), false))" if self.kind == "number" else empty

    @property
    def usual(self) -> str:
        """Neither missing nor anything else to look into."""
        return f"isfinite({self.value})" if self.kind == "number" else f"{self.value} IS NOT NULL"

    @property
    def infinite(self) -> str:
        return f"isinf({self.value})" if self.kind == "number" else "false"

    @property
    def rubbish(self) -> str:
        return f"({self._field} IS NOT NULL AND {self.value} IS NULL)" if self.written else "false"

    @property
    def fetched(self) -> str:
        return f"coalesce({self.value}, 'NaN'::DOUBLE)" if self.kind == "number" else self.value


@dataclass(frozen=True)
class Scan:
    """What is read of the rows: the name of the arm and the value columns, complete rows only or all."""

    rows: Rows
    arm: str
    cells: list[Cell]
    drop: bool

    @property
    def kept(self) -> str:
        """SQL of the rows that may be drawn."""
        return " AND ".join(f"NOT {cell.missing}" for cell in self.cells) if self.drop else "true"


class TableArm:
    """Rows of one arm of a table, each drawn at most once, in a random order fixed by the seed."""

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self._number = number

    @property
    def remaining(self) -> int:
        return self._store.remaining(self._number)

    def draw(self, n: int, rng: np.random.Generator) -> Array:  # (n, d)
        return self._store.encoder(self._store.take(self._number, n))


class Store:
    """What all arms of a table share: which part of it was fetched, and the fetched rows not drawn yet."""

    def __init__(self, scan: Scan, names: list[str], counts: NDArray[np.int64], encoder: Encoder, seed: int) -> None:
        self.encoder = encoder
        self._scan = scan
        self._names = np.array(names, dtype=object)
        self._counts = counts  # (N,)
        # hashed twice: with one xor alone, the orders of two seeds would be alike
        salt = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        self._hash = f"hash(xor(hash({scan.rows.key}), {salt}::UBIGINT))"
        self._drawn = np.zeros(len(names), dtype=np.int64)
        self._fetched = np.zeros(len(names), dtype=np.int64)
        self._share = np.zeros(len(names))  # of the hashes of an arm that were fetched
        self._stock: list[list[NDArray[Any]]] = [[] for _ in names]  # columns of the rows that wait
        self._lock = threading.Lock()  # arms may be drawn from several threads

    def remaining(self, arm: int) -> int:
        return int(self._counts[arm] - self._drawn[arm])

    def take(self, arm: int, n: int) -> dict[str, NDArray[Any]]:
        """The next n rows of an arm."""
        with self._lock:
            if n > self.remaining(arm):
                raise ArmError(
                    f"asked for {n:,} samples, {self.remaining(arm):,} of its {self._counts[arm]:,} rows remain; "
                    "ask for fewer, or give it more rows"
                ).of_arm(self._names[arm])
            while self._fetched[arm] < self._drawn[arm] + n:
                self._fetch(arm, int(self._drawn[arm] + n))
            columns = self._stock[arm]
            self._stock[arm] = [column[n:] for column in columns]
            self._drawn[arm] += n
            return {name: column[:n] for name, column in zip(self.encoder.columns, columns, strict=True)}

    def _fetch(self, arm: int, need: int) -> None:
        """Another scan: more rows of this arm and of those that will soon ask too."""
        share = self._next_share(arm, need)
        arms = np.flatnonzero(share > self._share)
        found = self._read(arms, self._share[arms], share[arms])
        order = np.lexsort((found["hash"], found["code"]))
        ends = np.cumsum(np.bincount(found["code"], minlength=len(self._names)))
        stock, fetched = list(self._stock), self._fetched.copy()
        for number in arms.tolist():
            mine = order[(ends[number - 1] if number else 0) : ends[number]]
            new = [found[f"value{place}"][mine] for place in range(len(self._scan.cells))]
            old = stock[number] or [column[:0] for column in new]
            stock[number] = [np.concatenate(pair) for pair in zip(old, new, strict=True)]
            fetched[number] += len(mine)
        self._stock, self._fetched, self._share = stock, fetched, share  # at once: Ctrl-C may come at any time
        self._refuse_changed()

    def _next_share(self, arm: int, need: int) -> NDArray[np.float64]:  # (N,)
        """How much of each arm should be fetched after the next scan.

        An arm that has drawn about as much as the one that ran out will ask for as much as it; any other that has
        little left, for as much again as it has had.
        """
        in_step = 2 * self._drawn >= self._drawn[arm]
        low = 2 * (self._fetched - self._drawn) < self._drawn
        target = np.maximum(np.where(in_step, 2 * need, 0), np.where(low, 2 * self._drawn, 0))
        target = np.where(target > 0, np.maximum(target, _FIRST_FETCH), 0)
        target = np.where(target > self._fetched, target + 4 * np.sqrt(target), 0)  # hashes are random: some slack
        share = np.maximum(self._share, target / self._counts)
        if share[arm] == self._share[arm]:  # fetched as planned, and got fewer than likely
            share[arm] += _FIRST_FETCH / self._counts[arm]
        return np.minimum(share, 1.0)

    def _read(
        self, arms: NDArray[np.intp], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> dict[str, NDArray[Any]]:
        """Rows of these arms whose hash, as a share of all hashes, lies in [low, high)."""
        scan, workspace = self._scan, self._scan.rows.workspace
        cuts = {"name": self._names[arms], "code": arms.astype(np.int32), "low": _hash_at(low), "high": _hash_at(high)}
        values = [f"{cell.fetched} AS value{place}" for place, cell in enumerate(scan.cells)]
        # one bit less than the hash has, so that the end of the range is a number too
        near = f"{scan.kept} AND {self._hash} >> 1 < {cuts['high'].max()}::UBIGINT"
        workspace.connection.register("cuts", cuts)
        with readable(scan.rows.name):
            found = workspace.arrays(
                f"SELECT cuts.code, near.* EXCLUDE (name) FROM (SELECT {scan.arm} AS name, {self._hash} AS hash, "
                f"{', '.join(values)} FROM {scan.rows.relation} WHERE {near}) AS near "
                "JOIN cuts ON near.name = cuts.name AND hash >> 1 >= low AND hash >> 1 < high"
            )
        workspace.connection.unregister("cuts")
        return found

    def _refuse_changed(self) -> None:
        whole = self._share >= 1
        wrong = np.flatnonzero((self._fetched > self._counts) | (whole & (self._fetched < self._counts)))
        if len(wrong):
            raise ArmError(
                f"{self._scan.rows.name} was changed while it was drawn from: {self._counts[wrong[0]]:,} rows were "
                f"counted, {self._fetched[wrong[0]]:,} found; start again, and leave it alone meanwhile"
            ).of_arm(self._names[wrong[0]])


def _hash_at(share: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The 63-bit hash below which this share of all hashes lies."""
    return (share * 2.0**63).astype(np.uint64)
