"""Evidence that two arms are different, for each pair of arms.

Most strategies compare all arms with all arms. With many arms, `anytime` compares all N arms with only C of them. So
evidence is stored in blocks of shape (N, C). It is expanded to (N, N) on request, but not if that would fill the
memory: `among` gives the evidence of some arms, and `told_apart_from` that of arms against groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.errors import SettingsError
from kabc.core.words import in_short

MOST_ARMS = 10_000  # whose pairs are made into one matrix: 800 MB of numbers


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence that the arms of each pair are different, after the latest round. NaN means unknown.

    Make one with `of_bets`, `of_distances` or `none`. Row i and column c of a block are about arm i and arm
    `compared[c]`. The properties of shape (N, N) are made from the blocks on each call. With more than 10,000 arms they
    are refused: ask for some arms, `evidence.among(arms).told_apart`.

    Attributes
    ----------
    by_bets : True for a strategy that bets: its values are log evidence. False: they are distances.
    counts : samples of each arm behind these figures.
    compared : the arms that all arms were compared with, one for each column.
    told : number of the first round that told the pair apart, 0 if none has.
    values : the largest log evidence so far, or the distance of the mean embeddings (eq. empdist).
    limits : what the value must reach (bets) or exceed (distances, eq. threshold).
    variances : empirical variances of the arms (eq. empvar), if the strategy knows them.
    measured : distances in addition to log evidence, for a strategy that bets and knows both.

    Examples
    --------
    >>> import kabc
    >>> arms = [lambda n, rng, mean=mean: rng.normal(mean, 1.0, n) for mean in (0, 0, 9)]
    >>> evidence = kabc.cluster(arms, n_clusters=2, seed=0, progress=False).evidence
    >>> evidence.told_apart.tolist()
    [[False, False, True], [False, False, True], [True, True, False]]
    >>> evidence.n_told_apart
    2
    >>> evidence.among([0, 2]).told_apart.tolist()
    [[False, True], [True, False]]
    """

    by_bets: bool
    counts: Counts  # (N,)
    compared: Index  # (C,)
    told: Counts  # (N, C)
    values: Array  # (N, C)
    limits: Array  # (N, C)
    variances: Array  # (N,)
    measured: Array | None = None  # (N, C)

    @classmethod
    def of_bets(
        cls,
        told_in_round: Counts,  # (N, C)
        counts: Counts,  # (N,)
        log_evidence: Array,  # (N, C)
        log_threshold: Array,  # (N, C)
        compared: Index | None = None,  # (C,)
    ) -> Self:
        """Evidence of a strategy that bets; `compared` may be left out if all arms are compared with all."""
        compared = np.arange(len(counts)) if compared is None else compared
        unknown = np.full(len(counts), np.nan)
        return cls(True, counts, compared, told_in_round, log_evidence, log_threshold, unknown)

    @classmethod
    def of_distances(
        cls,
        told_in_round: Counts,  # (N, N)
        counts: Counts,  # (N,)
        distances: Array,  # (N, N)
        thresholds: Array | None = None,  # (N, N)
        variances: Array | None = None,  # (N,)
    ) -> Self:
        """Evidence of a strategy that measures distances of all pairs."""
        limits = np.full(distances.shape, np.nan) if thresholds is None else thresholds
        spread = np.full(len(counts), np.nan) if variances is None else variances
        return cls(False, counts, np.arange(len(counts)), told_in_round, distances, limits, spread)

    @classmethod
    def none(cls, n_arms: int, *, by_bets: bool = False) -> Self:
        """Before the first round: no pair was compared."""
        empty = np.zeros((n_arms, 0))
        counts, compared = np.zeros(n_arms, dtype=np.int64), np.zeros(0, dtype=np.intp)
        return cls(by_bets, counts, compared, empty.astype(np.int64), empty, empty, np.full(n_arms, np.nan))

    @property
    def n_arms(self) -> int:
        """The number of arms, N."""
        return len(self.counts)

    def dense(self) -> Self:
        """The same evidence with a row and a column for every arm: C = N, in the order of the arms."""
        self._small_enough(self.values)
        return self.against(np.arange(self.n_arms))

    def against(self, compared: Index) -> Self:  # (C',)
        """The same evidence with columns for these arms. A pair that was not compared has told 0 and limit infinity."""
        if np.array_equal(compared, self.compared):
            return self
        return type(self)(
            self.by_bets,
            self.counts,
            compared,
            self._columns(self.told, compared, 0),
            self._columns(self.values, compared, np.nan),
            self._columns(self.limits, compared, np.inf),
            self.variances,
            None if self.measured is None else self._columns(self.measured, compared, np.nan),
        )

    def among(self, arms: Sequence[int] | Index) -> Self:  # (A,)
        """The evidence of some arms with each other, in this order. It needs no memory for the others."""
        chosen = np.asarray(arms, dtype=np.intp)
        if chosen.ndim != 1 or not ((chosen >= 0) & (chosen < self.n_arms)).all():
            raise SettingsError(f"arms must be numbers from 0 to {self.n_arms - 1}, got {in_short(map(str, arms))}")
        if len(np.unique(chosen)) < len(chosen):
            raise SettingsError(f"each arm can be asked for once, got {in_short(map(str, arms))}")
        place = np.full(self.n_arms, -1, dtype=np.intp)
        place[chosen] = np.arange(len(chosen))
        columns = np.flatnonzero(place[self.compared] >= 0)
        block = np.ix_(chosen, columns)
        return type(self)(
            self.by_bets,
            self.counts[chosen],
            place[self.compared[columns]],
            self.told[block],
            self.values[block],
            self.limits[block],
            self.variances[chosen],
            None if self.measured is None else self.measured[block],
        )

    def told_apart_with(self, arm: int) -> Mask:  # (N,)
        """The arms that this one is told apart from."""
        found = np.zeros(self.n_arms, dtype=np.bool_)
        found[self.compared] = self.told[arm] > 0
        column = np.flatnonzero(self.compared == arm)
        return found | (self.told[:, column] > 0).any(axis=1)

    def told_apart_from(self, members: Mask) -> Mask:  # (N, G) -> (N, G)
        """Whether each arm is told apart from an arm of each group; `members` says who is in which. Time N C G."""
        apart, known = self.told > 0, members.astype(np.float32)
        found = apart.astype(np.float32) @ known[self.compared] > 0
        found[self.compared] |= apart.T.astype(np.float32) @ known > 0  # arms of the core against all others
        return np.asarray(found)

    def _spread(self, block: NDArray[Any], empty: float) -> NDArray[Any]:  # (N, C) -> (N, N)
        if self.all_compared:
            return block
        self._small_enough(block)
        return all_pairs(block, self.compared, empty)

    def _small_enough(self, block: NDArray[Any]) -> None:
        if self.n_arms > MOST_ARMS and not self.all_compared:
            size = self.n_arms**2 * block.dtype.itemsize / 1e9
            raise SettingsError(
                f"evidence of all pairs of {self.n_arms:,} arms would take {size:,.1f} GB; ask for some arms, e.g. "
                "evidence.among([0, 7]).told_apart, or use the blocks: told, values and limits"
            )

    def _columns(self, block: NDArray[Any], compared: Index, empty: float) -> NDArray[Any]:  # (N, C), (C',) -> (N, C')
        return _with_columns(block, self.compared, compared, empty)

    @property
    def all_compared(self) -> bool:
        """Whether the blocks are (N, N) already, in the order of the arms."""
        return np.array_equal(self.compared, np.arange(self.n_arms))

    # ------------------------------------------------------------ blocks, (N, C)

    @property
    def block_strength(self) -> Array:  # (N, C)
        """Values in units of their limits. A pair above 1 is told apart. NaN if there is no value yet."""
        return strength(self.values, self.limits)

    @property
    def n_told_apart(self) -> int:
        """The number of pairs told apart; a pair counts once."""
        apart = self.told > 0
        twice = np.count_nonzero(apart[self.compared])  # both arms are compared ones: two entries for one pair
        return int(np.count_nonzero(apart) - twice // 2)

    # ------------------------------------------------------------ all pairs, (N, N)

    @property
    def told_in_round(self) -> Counts:  # (N, N)
        """Number of the first round that told each pair apart, 0 if none has."""
        return self._spread(self.told, 0)

    @property
    def told_apart(self) -> Mask:  # (N, N)
        """Certified pairs: their evidence reached its threshold, in this round or an earlier one."""
        return self.told_in_round > 0

    @property
    def strength(self) -> Array:  # (N, N)
        """Evidence of each pair in units of its threshold. A pair above 1 is told apart. NaN if there is none yet."""
        return self._spread(self.block_strength, np.nan)

    @property
    def distances(self) -> Array:  # (N, N)
        """Distances of the mean embeddings, NaN if they were never computed."""
        known = self.measured if self.by_bets else self.values
        return self._unknown() if known is None else self._spread(known, np.nan)

    @property
    def thresholds(self) -> Array:  # (N, N)
        """What the distance of a pair must exceed; NaN for strategies that bet."""
        return self._spread(self.limits, np.inf) if not self.by_bets else self._unknown()

    @property
    def log_evidence(self) -> Array:  # (N, N)
        """The largest log evidence so far; NaN for pairs never compared, and for strategies that do not bet."""
        return self._spread(self.values, np.nan) if self.by_bets else self._unknown()

    @property
    def log_threshold(self) -> Array:  # (N, N)
        """What the log evidence of a pair must reach; NaN for strategies that do not bet."""
        return self._spread(self.limits, np.inf) if self.by_bets else self._unknown()

    def _unknown(self) -> Array:  # (N, N), of one number
        return np.broadcast_to(np.nan, (self.n_arms, self.n_arms))

    # ------------------------------------------------------------ equality

    def __eq__(self, other: object) -> bool:
        """Equal numbers, NaN included."""
        if not isinstance(other, Evidence):
            return NotImplemented
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    __hash__ = None  # type: ignore[assignment]  # arrays can be changed, so evidence cannot be a key


def strength(values: Array, limits: Array) -> Array:
    """Values in units of their limits."""
    with np.errstate(invalid="ignore"):  # N = 2, delta = 1: a limit of log 1 = 0
        return np.asarray(values / limits)


def all_pairs(block: NDArray[Any], compared: Index, empty: float) -> NDArray[Any]:  # (N, C), (C,) -> (N, N)
    """A block with a column for every arm, in their order; `empty` for pairs that were not compared."""
    return _with_columns(block, compared, np.arange(len(block)), empty)


def _with_columns(block: NDArray[Any], own: Index, wanted: Index, empty: float) -> NDArray[Any]:
    """A block (N, C) with other columns (N, C'): those that it has, and the other side of pairs of which it has one."""
    place = np.full(len(block), -1, dtype=np.intp)
    place[own] = np.arange(len(own))
    there = place[wanted]
    if len(own) == len(block):  # every arm has a column
        return block.take(there, axis=1)
    out = np.full((len(block), len(wanted)), empty, dtype=block.dtype)
    out[own] = block[wanted].T
    here = np.flatnonzero(there >= 0)
    out[:, here] = block[:, there[here]]
    return out


def _same(mine: object, theirs: object) -> bool:
    if not isinstance(mine, np.ndarray) or not isinstance(theirs, np.ndarray):
        return mine is theirs
    return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f" == theirs.dtype.kind)
