"""Whether the samples of each arm come in no particular order, as every certificate assumes.

A watch hears what is drawn, arm by arm, in the order in which it came. Pools are drawn in random order, so it looks at
their own order instead, once. It decides nothing about the run: at the end it says what the samples speak against.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.base import Arm
from kabc.core.arrays import Array, Index
from kabc.core.evidence.exchangeability import Order, orders_evidence
from kabc.core.streams import rngs_of
from kabc.core.words import counted, in_short, percent
from kabc.results.values import Assumption
from kabc.results.words import FEW_SAMPLES, REPEATS
from kabc.running.record import rows_of, together
from kabc.running.repeats import repeating

ALARM = 0.01  # probability of a false alarm in the whole run: half for single arms, half for all arms together
DEPENDENT = "samples depend on each other"
DRIFT = "later samples differ from earlier ones"
NOT_SEEN = "not watched: whether samples of different arms are independent of each other"
NO_LOOK = "not watched: the order of the rows of"
OFF = "not watched: whether samples of one arm are independent of each other and do not drift"

_ON = f"watched: samples of an arm come in no particular order; a false alarm has probability at most {percent(ALARM)}"

_ENOUGH = 40  # samples of an arm in which a strong dependence (0.8 of one sample on the next) is nearly always seen
_DRIFT = 20.0  # over the root of n: standard deviations of a steady drift over n samples that three of four runs see
_MOST_COLUMNS = 10
_DENSE = 1000  # first samples, or blocks, of an arm that are all looked at; then every second, fourth, ... one
_MOST_NUMBERS = 4_000_000  # of all arms: 32 MB
_FEWEST = 100  # samples of an arm that are looked at, however many arms there are
_NONE = np.zeros((0, 1))


class Watch:
    """What was seen of each arm, in its order, and what speaks against the assumption."""

    _texts = False  # whether samples are texts; a state of before may lack it

    def __init__(self, n_arms: int, seed: int, *, paired: bool = False) -> None:
        self._paired = paired  # samples of different arms share something: arms are looked at one by one
        self.block = 1  # consecutive samples that form one: blocks come in no particular order, not what is in them
        self._seed = seed
        self._seen: list[list[Array]] = [[] for _ in range(n_arms)]
        self._kept = [0] * n_arms
        self._heard = [0] * n_arms  # samples that came, also those that are not kept
        self._pools: set[int] = set()
        self._elsewhere: set[int] = set()  # pools that other processes have: nobody looked at their order

    def miss(self, arms: Iterable[int]) -> None:
        """These pools are elsewhere: they are drawn in an order of our own, which says nothing of theirs."""
        self._elsewhere = set(arms)
        self._pools |= self._elsewhere

    def look(self, arms: Sequence[Arm], block: int = 1) -> None:
        """Look at the own order of pools, before the first round. Nothing is drawn by this."""
        self.block = block
        for arm, source in enumerate(arms):
            in_order = getattr(source, "in_order", None)
            rows = in_order(min(self._dense, self._most(1))) if callable(in_order) else None
            if rows is not None:
                self._listen(arm, rows)
                self._pools.add(arm)

    def hear(self, arm: int, samples: ArrayLike) -> None:
        """The next samples of an arm. Samples that are no rows are left to the strategy to refuse."""
        self._listen(arm, samples)

    def _listen(self, arm: int, samples: ArrayLike) -> None:
        if arm in self._pools:
            return
        given = rows_of(samples)
        if given is None:
            return
        self._texts |= given.dtype.kind not in "biuf"
        rows, seen = self._thinned(arm, watched_columns(given)), self._seen[arm]
        if len(rows) and (not seen or rows.shape[1] == seen[0].shape[1]):
            together(seen, rows, len(self._seen))
            self._kept[arm] += len(rows)

    @property
    def _dense(self) -> int:
        return _DENSE * self.block

    def _thinned(self, arm: int, rows: Array) -> Array:  # (n, d) -> (m, d)
        """All of the first samples, then half as many of each doubling. Which ones does not depend on their values."""
        before, most = self._heard[arm], max(0, self._most(rows.shape[1]) - self._kept[arm])
        heard = self._heard[arm] = before + len(rows)
        if heard <= self._dense:
            return rows if len(rows) <= most else rows[:most]
        numbers = before + np.arange(len(rows))
        steps = 2 ** np.maximum(0, np.ceil(np.log2((numbers + 1) / self._dense))).astype(np.int64)
        return np.asarray(rows[numbers % steps == 0][:most])

    @property
    def n_kept(self) -> int:
        """Numbers that are looked at."""
        return sum(one.size for seen in self._seen for one in seen)

    def _most(self, columns: int) -> int:
        """Samples of an arm that are kept: with many arms few of each."""
        return max(_FEWEST, _MOST_NUMBERS // (len(self._seen) * columns))

    # ------------------------------------------------------------ what it found

    def lines(self, names: Sequence[Hashable]) -> tuple[str, ...]:
        """What was watched, and what could not be seen, for the certificate."""
        if not self._elsewhere:
            return self._seen_lines()
        missed = in_short([str(names[arm]) for arm in sorted(self._elsewhere)])
        others = self._seen_lines() if len(self._elsewhere) < len(names) else ()
        return (*others, f"{NO_LOOK} {missed}, which the process that finished the study did not have")

    def _seen_lines(self) -> tuple[str, ...]:
        units = sorted(heard // self.block for heard in self._heard if heard)
        n = units[(len(units) - 1) // 2] if units else _ENOUGH  # a typical arm: one tiny pool is no sign
        if n >= _ENOUGH:
            return (_ON, *self._unseen())
        few = f"{FEW_SAMPLES} only a strong dependence or drift would show in {counted(n, 'sample')} of an arm"
        return (_ON, few)

    def _unseen(self) -> tuple[str, ...]:
        """Which drift of a live arm may have been missed. Of pools, all rows were looked at."""
        live = sorted(heard // self.block for arm, heard in enumerate(self._heard) if heard and arm not in self._pools)
        if not live:
            return ()
        n = live[(len(live) - 1) // 2]
        size = float(f"{_DRIFT / math.sqrt(n):.1g}")
        return (f"not seen by the watch: a drift by less than about {size:g} sd over {n:,} samples",)

    def assumptions(
        self, names: Sequence[Hashable], columns: Sequence[str] = (), types: Mapping[str, str] | None = None
    ) -> tuple[Assumption, ...]:
        """What the samples refute: copies, then the strongest first; all arms together before single arms.

        `types`: which columns hold categories and texts, as codes.
        """
        arms, log_joint = self._evidence()
        single = math.log(len(names)) - math.log(ALARM / 2)
        refuted = sorted((one for one in arms if one.log >= single), key=lambda one: -one.log)
        found = [Assumption(names[one.arm], one.what(columns), math.exp(one.log)) for one in refuted]
        if log_joint >= -math.log(ALARM / 2) and (not refuted or len(refuted) > max(1, len(names) / 2)):
            found.insert(0, Assumption(None, _common(refuted or arms), math.exp(log_joint)))
        return (*self._repeats(names, columns, types or {}), *found)

    def _repeats(
        self, names: Sequence[Hashable], columns: Sequence[str], types: Mapping[str, str]
    ) -> tuple[Assumption, ...]:
        """Arms whose numbers repeat bit for bit without a reason: a heuristic, so there is no betting ratio.

        Arms that share their inputs may give one value for one input, whenever it comes again.
        """
        if self._paired:
            return ()
        rows = self._rows()
        width = min((one.shape[1] for one in rows if len(one)), default=0)
        known = [columns[i] for i in _spread_columns(len(columns))] if len(columns) > _MOST_COLUMNS else columns
        called = known if len(known) == width else [""] * width
        failed = [i for i, name in enumerate(called) if name == "failed" or name.endswith(" missing")]
        kinds = [types.get(name, types.get(name.rpartition("[")[0], "number")) for name in called]
        numbers = [i for i, kind in enumerate(kinds) if kind == "number" and i not in failed and not self._texts]
        alike = [one if one.shape[1] == width else np.zeros((0, width)) for one in rows]
        usable = [one[np.isfinite(one).all(axis=1) & ~(one[:, failed] == 1.0).any(axis=1)] for one in alike]
        counts = repeating(usable, numbers)
        return tuple(
            Assumption(names[arm], f"{REPEATS} ({count:,} of {len(usable[arm]):,}: a seed, a cache?)", math.inf)
            for arm, count in counts.items()
        )

    def _rows(self) -> list[Array]:  # N of (m, d)
        rows = [(seen[0] if len(seen) == 1 else np.concatenate(seen)) if seen else _NONE for seen in self._seen]
        if self.block == 1:
            return rows
        rows = [
            one[: min(len(one), self._dense) // self.block * self.block] for one in rows
        ]  # later ones are thinned out
        return [one.reshape(-1, self.block, one.shape[1]).mean(axis=1) for one in rows]

    def _evidence(self) -> tuple[list[_Doubt], float]:
        """For each arm with samples, the strongest column, and all arms together.

        Each of C columns has an equal share (union bound): the columns of a sample may depend on each other.
        """
        rows = {arm: one for arm, one in enumerate(self._rows()) if len(one) > 1}
        n_columns = min((one.shape[1] for one in rows.values()), default=0)
        live = [kept // self.block for arm, kept in enumerate(self._kept) if arm not in self._pools]
        common = min(live, default=max(self._kept))  # beyond it, what was drawn depends on the samples
        if not n_columns:
            return [], 0.0
        orders = self._orders(rows, n_columns, common)
        share = math.log(n_columns)
        together = 0.0 if self._paired else max(0.0, max(order.log_together for order in orders) - share)
        logs = np.stack([order.log_evidence for order in orders]) - share  # (C, arms)
        best = logs.argmax(axis=0).tolist()
        doubts = [
            _Doubt(arm, max(0.0, float(logs[column, i])), bool(orders[column].dependent[i]), column, n_columns)
            for i, (arm, column) in enumerate(zip(rows, best, strict=True))
        ]
        return doubts, together

    def _orders(self, rows: Mapping[int, Array], n_columns: int, common: int) -> list[Order]:
        series = [[one[:, column] for one in rows.values()] for column in range(n_columns)]
        arms = list(rows)
        return orders_evidence(
            series, lambda some: rngs_of(self._seed, [(arms[i], column, 1) for column, i in some]), common
        )


@dataclass(frozen=True)
class _Doubt:
    """Log evidence against one arm, and where it comes from."""

    arm: int
    log: float
    dependent: bool
    column: int
    n_columns: int

    def what(self, columns: Sequence[str]) -> str:
        kind = DEPENDENT if self.dependent else DRIFT
        return f"{kind} (column {columns[self.column]})" if len(columns) == self.n_columns > 1 else kind


def _common(doubts: Sequence[_Doubt]) -> str:
    """The kind that most of the evidence is about."""
    dependent = sum(one.log if one.dependent else -one.log for one in doubts) > 0
    return DEPENDENT if dependent else f"{DRIFT} (machine load?)"


def watched_columns(rows: NDArray[Any]) -> Array:  # (n, d) -> (n, at most 10)
    """The columns that are looked at; texts become numbers."""
    if rows.shape[1] > _MOST_COLUMNS:
        rows = rows[:, _spread_columns(rows.shape[1])]
    if rows.dtype.kind in "biuf":
        return rows.astype(np.float64)
    # any fixed order of texts will do
    codes = [zlib.crc32(str(value).encode("utf-8", "surrogatepass")) for value in rows.ravel()]
    return np.asarray(codes, dtype=np.float64).reshape(rows.shape)


@lru_cache(maxsize=4)
def _spread_columns(n: int) -> Index:  # (10,)
    """Some of n columns, evenly spread."""
    return np.linspace(0, n - 1, _MOST_COLUMNS).astype(np.intp)
