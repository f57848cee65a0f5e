"""Quantile KABC: which arms have the same p50 and p99, within a tolerance for each, proven, without K.

| step   | file                | what happens                                                                       |
|--------|---------------------|------------------------------------------------------------------------------------|
| rounds | `core/.../quantiles`| each quantile of each arm lies in an interval, at all times                        |
| pairs  | `quantile_pairs.py` | same: all quantiles are within their tolerances; different: some are not equal     |
| groups | here                | all pairs of a group are the same; of any two groups some arms differ              |

The verdict of a pair is what is shown first, and it stays; if both are shown in one round, "same". It stops when no
pair is open. All intervals hold together with probability 1 - delta. Proofs: docs/theory.md, section 24.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.quantiles import SIDES, QuantileBets
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.partitions.forced import forced_partition
from kabc.core.partitions.guesses import agreeing_partition
from kabc.core.tolerances import QuantileTolerance
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime import pace
from kabc.strategies.base import Request, Stepwise, arms_given, checked_samples
from kabc.strategies.tolerance import words
from kabc.strategies.tolerance.quantile_pairs import QuantilePairs, finite_after, slopes_of, verdicts_of
from kabc.strategies.tolerance.reading import by_quantiles, refuse_blocks

FIRST = 10  # samples of each arm in the first round
STALLED = 10  # it ends if no margin of an open pair moves while the samples grow so many times
_TINY = 0.5  # an arm that runs dry with less than this part of the median samples may be left out


class QuantileKABC(Stepwise):
    """Groups N arms so that all named quantiles of the arms of a group are proven to be close. K is found.

    Nothing is assumed about distributions; they may have atoms, and no mean. All values are kept, and each round sorts
    those of the arms that were drawn.

    Parameters
    ----------
    n_arms : int
        N, the number of arms.
    n_clusters : None
        K is found.
    delta : float
        Largest probability of a wrong certified statement, in (0, 1].
    tolerance : mapping, str or QuantileTolerance
        The largest difference of each quantile that does not matter: {"p50": "2%", "p99": 5}, "p50=2%, p99=5". Per cent
        of the smaller quantile, or in the unit of the column.
    columns : sequence of str, optional
        The name of the only column of a sample.
    block : 1
        Blocks are refused: a quantile speaks of single samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.strategies.tolerance import QuantileKABC
    >>> strategy = QuantileKABC(3, None, 0.05, tolerance={"p50": "50%"})
    >>> rng = np.random.default_rng(0)
    >>> while not strategy.stopped:
    ...     strategy.tell({arm: rng.lognormal(3.0 * (arm == 2), 0.5, n) for arm, n in strategy.ask().items()})
    >>> strategy.recommend()
    Partition(0 1 | 2, certified)
    """

    stops_by_itself = True
    n_clusters: int | None = None
    kernel: Kernel | None = None

    def __init__(
        self,
        n_arms: int,
        n_clusters: int | None,
        delta: float,
        *,
        tolerance: object,
        columns: Sequence[str] = (),
        block: int = 1,
    ) -> None:
        super().__init__(n_arms, delta)
        self.tolerance: QuantileTolerance = by_quantiles(tolerance, columns)
        refuse_blocks(self.tolerance, block)
        self.level = math.log(self.n_arms * len(self.tolerance.names) * SIDES / self.delta)
        self._bets = QuantileBets(self.n_arms, self.tolerance.probabilities)
        self._pairs: QuantilePairs | None = None
        self._same: Mask = np.eye(self.n_arms, dtype=np.bool_)
        self._told: Counts = np.zeros((self.n_arms, self.n_arms), dtype=np.int64)
        self._dry: Mask = np.zeros(self.n_arms, dtype=np.bool_)
        self._at_least = 1
        self._last_move = 0  # samples of an arm when a margin of an open pair last changed

    @property
    def n_groups_at_least(self) -> int:
        return self._at_least

    @property
    def columns(self) -> int | None:
        """The number of columns of a sample; None before the first."""
        return None if self._pairs is None else 1

    # ------------------------------------------------------------ rounds

    def _request(self) -> Request:
        if self._pairs is None:
            return dict.fromkeys(np.flatnonzero(~self._dry).tolist(), FIRST)
        arms = self._wanted()
        return dict.fromkeys(arms.tolist(), pace.block(int(self._bets.counts[arms].min())))

    def _open(self) -> Mask:  # (N, N)
        """Pairs without a verdict; those of arms that were left out do not count."""
        kept = ~self._left_out()
        return np.asarray(self._unknown() & kept[:, None] & kept)

    def _unknown(self) -> Mask:  # (N, N)
        return np.asarray(~self._same & (self._told == 0))

    def _left_out(self) -> Mask:  # (N,)
        """Arms that ran dry with few samples and open pairs: it goes on without them."""
        counts = self._bets.counts
        few = counts < max(1.0, _TINY * float(np.median(counts)))
        return np.asarray(self._dry & few & self._unknown().any(axis=1))

    def _wanted(self) -> Index:
        """Arms of open pairs that can be drawn both."""
        live = ~self._dry
        return np.flatnonzero((self._open() & live[:, None] & live).any(axis=1))

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, self.columns)
        if self._pairs is None:
            self.tolerance.check(np.concatenate(rows))
        assert self._asked is not None
        # Nothing above changed the state; nothing below can fail.
        for arm, points in zip(self._asked, rows, strict=True):
            self._bets.add(arm, points)
        self._take(rows)
        before, self._pairs = self._pairs, QuantilePairs.of(self._bets, self.tolerance, self.level)
        self._judge(self._pairs)
        self._conclude()
        n = int(self._bets.counts.max())
        if not self.stopped and self._stalls(before, self._pairs, n):
            self._status = "stalled"
        self._close_round(n, self._at_least)

    def _judge(self, pairs: QuantilePairs) -> None:
        """Verdicts of open pairs. They stay."""
        unknown = self._unknown()
        same = unknown & pairs.same()
        self._same |= same
        told = unknown & ~same & pairs.different()
        if told.any():
            self._told[told] = len(self._rounds) + 1
            self._at_least = max(self._at_least, forced_partition(self._told > 0, None).n_groups_at_least)

    def _conclude(self) -> None:
        if not self._open().any():
            some = np.count_nonzero(self._labels() >= 0) > 1
            self._status = "decided" if some else "exhausted"
        elif not len(self._wanted()):
            self._status = "exhausted"

    def _stalls(self, before: QuantilePairs | None, now: QuantilePairs, n: int) -> bool:
        """Whether open pairs cannot be settled: where a distribution is flat, a quantile is not one number."""
        arms = self._open().any(axis=1)
        if before is None or not np.array_equal(before.intervals[arms], now.intervals[arms]):
            self._last_move = n
        return n >= STALLED * max(self._last_move, finite_after(self.tolerance, self.level))

    # ------------------------------------------------------------ arms that run dry

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that are not drawn any more."""
        return frozenset(np.flatnonzero(self._dry).tolist())

    def set_aside(self, arms: Iterable[int]) -> None:
        """Draw these arms no more. What they gave counts; arms with few samples are left out if that is not enough."""
        given = arms_given(arms, self.n_arms)
        if not given or self.stopped:
            return
        self._asked = None
        self._dry[given] = True
        if np.count_nonzero(~self._dry) < 2 and self._pairs is None:
            self._status = "exhausted"
        elif self._pairs is not None:
            self._conclude()

    # ------------------------------------------------------------ what people see

    def _labels(self) -> Index:  # (N,)
        """As few groups as are found without a pair told apart inside; -1 for arms that were left out."""
        seen = self.evidence()
        labels = np.array(agreeing_partition(seen.block_strength, seen.told > 0, seen.compared).labels, dtype=np.intp)
        labels[self._left_out()] = -1
        return np.array(Partition.of(labels.tolist()).labels, dtype=np.intp)

    def recommend(self) -> Partition:
        if self._pairs is None:
            return Partition.of([0] * self.n_arms)
        return Partition.of(self._labels().tolist(), certified=self._status == "decided")

    def evidence(self) -> Evidence:
        """Estimated differences in units of the tolerance, and what they must exceed to be certain."""
        if self._pairs is None:
            return Evidence.none(self.n_arms)
        return Evidence.of_distances(self._told.copy(), self._bets.counts, *self._pairs.evidence())

    def verdicts(self) -> Verdicts | None:
        """What is proven of each pair; None before the first round."""
        if self._pairs is None:
            return None
        verdicts = np.where(self._same, SAME, np.where(self._told > 0, DIFFERENT, OPEN))
        between = self._between() if self._status == "decided" else ()
        return verdicts_of(self.tolerance, verdicts, self._pairs.margins(), between)

    def _between(self) -> tuple[int, ...]:
        """Arms that are proven to be the same as other arms of two groups, or look so up to the error of estimates."""
        assert self._pairs is not None
        labels = self._labels()
        near = (self._same | self._pairs.near()) & ~np.eye(self.n_arms, dtype=np.bool_) & (labels >= 0)
        return tuple(arm for arm in range(self.n_arms) if labels[arm] >= 0 and len(set(labels[near[arm]].tolist())) > 1)

    def _overlap(self) -> bool:
        """Whether arms of different groups are proven to be the same."""
        labels = self._labels()
        placed = labels >= 0
        return bool((self._same & (labels[:, None] != labels) & placed[:, None] & placed).any())

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes to decide; None: that cannot be told yet."""
        if self._pairs is None or (self.stopped and self._status != "exhausted"):
            return None
        total = self._pairs.forecast(self._open(), slopes_of(self._bets, self.tolerance))
        if not np.isfinite(total).all():
            return None
        counts = self._bets.counts
        return np.where(total > 0, np.maximum(total - counts, pace.GROWTH * counts), 0.0)

    def guarantee(self) -> Guarantee:
        chain = self._status == "decided" and self._overlap()
        return words.quantile_guarantee(
            self.delta, self.tolerance, self._status, level=self.level, n_arms=self.n_arms, chain=chain
        )
