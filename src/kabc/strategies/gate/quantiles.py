"""A gate for quantiles: is every named quantile of this arm within its tolerance of the reference?

| symbol | here          | meaning                                                                                |
|--------|---------------|----------------------------------------------------------------------------------------|
| 0, 1   |               | the reference, and the arm that is checked                                             |
| [L, U] | `intervals`   | of a quantile of an arm, at all times (docs/theory.md, section 24.1)                   |
| d      | `apart`       | estimated difference of a quantile, in units of its tolerance                          |

It ends as the gate of `strategy.py` does. Same: all quantiles are certified to be within their tolerances. Different:
one is certified to differ by its tolerance or more; or to differ, and its estimate is above the tolerance for long
enough. Each kind of statement has intervals of its own level (`shares.py`). Proofs: docs/theory.md, section 26.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Mask
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.quantiles import QuantileBets, quantile_margins
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.tolerances import QuantileTolerance
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime import pace
from kabc.strategies.base import checked_samples
from kabc.strategies.gate import words
from kabc.strategies.gate.base import CLEARLY, PATIENCE, TwoArms
from kabc.strategies.gate.shares import QuantileShares
from kabc.strategies.tolerance.quantile_pairs import QuantilePairs, finite_after, price, slopes_of, verdicts_of
from kabc.strategies.tolerance.quantiles import FIRST, STALLED
from kabc.strategies.tolerance.reading import by_quantiles, refuse_blocks

_FEWEST = 1  # samples of the first round, where there are few rows


class QuantileGate(TwoArms):
    """Arm 1 against arm 0, the reference: all named quantiles within their tolerances, or not.

    Parameters are those of `QuantileKABC`. There are two arms.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.strategies.gate import QuantileGate
    >>> gate = QuantileGate(2, None, 0.05, tolerance={"p50": "20%"})
    >>> rng = np.random.default_rng(0)
    >>> while not gate.stopped:
    ...     gate.tell({arm: rng.lognormal(0.05 * arm, 0.5, n) for arm, n in gate.ask().items()})
    >>> gate.verdict
    'same'
    """

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
        super().__init__(n_arms, n_clusters, delta)
        self.tolerance: QuantileTolerance = by_quantiles(tolerance, columns)
        refuse_blocks(self.tolerance, block)
        self.shares = QuantileShares(self.delta, len(self.tolerance.names))
        self._bets = QuantileBets(2, self.tolerance.probabilities)
        self._near: QuantilePairs | None = None  # intervals for "same"
        self._told = 0  # the round that told the two apart; 0: none
        self._last_move = 0  # samples of an arm when an interval last changed

    # ------------------------------------------------------------ rounds

    def _first(self) -> tuple[int, int]:
        return FIRST, _FEWEST

    def _next(self) -> int:
        return pace.block(self._n)

    @property
    def _n(self) -> int:
        return int(self._bets.counts[0])

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, None if self._near is None else 1)
        if self._near is None:
            self.tolerance.check(np.concatenate(rows))
        # Nothing above changed the state; nothing below can fail.
        for arm, points in enumerate(rows):
            self._bets.add(arm, points)
        self._take(rows)
        before, self._near = self._near, self._at(self.shares.same_level)
        self._told = self._told or (len(self._rounds) + 1) * int(self._differing().any())
        if self._settled():
            self._status = "decided"
        elif self._stalls(before, self._near):
            self._status = "stalled"
        self._close_round(self._n, self.n_groups_at_least)

    def _at(self, level: float) -> QuantilePairs:
        """The two arms, with intervals of this level."""
        return QuantilePairs.of(self._bets, self.tolerance, level)

    def _stalls(self, before: QuantilePairs | None, now: QuantilePairs) -> bool:
        """Whether it cannot be settled: where a distribution is flat, a quantile is not one number."""
        if before is None or not np.array_equal(before.intervals, now.intervals):
            self._last_move = self._n
        return self._n >= STALLED * max(self._last_move, finite_after(self.tolerance, self.shares.same_level))

    # ------------------------------------------------------------ what follows

    def _differing(self) -> Mask:  # (Q,)
        """Quantiles that are certified to differ, by however little."""
        low, high = np.moveaxis(self._at(self.shares.differ_level).intervals, 2, 0)  # (2, Q) each
        return np.asarray((low[1] > high[0]) | (low[0] > high[1]))

    def _beyond(self) -> Mask:  # (Q,)
        """Quantiles that are certified to differ by their tolerances or more."""
        intervals = self._at(self.shares.margin_level).intervals
        return quantile_margins(intervals, self.tolerance.ratios).apart_at_least[:, 0, 1] >= self.tolerance.limits

    @property
    def differ(self) -> bool:
        return self._told > 0

    @property
    def verdict(self) -> str:
        if self._near is None:
            return OPEN
        if self._near.same()[0, 1]:
            return SAME
        seem = self._near.apart()[:, 0, 1] >= 1
        return DIFFERENT if (self._beyond() | (self._differing() & seem)).any() else OPEN

    def _settled(self) -> bool:
        """Whether more samples are not worth their price."""
        verdict, near = self.verdict, self._near
        if near is None or verdict != DIFFERENT:
            return verdict == SAME
        waited = self._n / price(self.tolerance, near.level, self._slopes()).max()
        clear = (self._differing() & (near.real(CLEARLY)[:, 0, 1] >= 1)).any()
        return bool(self._beyond().any() or waited >= PATIENCE or (waited >= 1 and clear))

    def _slopes(self) -> Array:  # (2, Q)
        return slopes_of(self._bets, self.tolerance)

    @property
    def forecast(self) -> Array | None:  # (2,)
        """About how many more samples of each arm certify that they are the same; None if they seem not to be."""
        if self._near is None or (self.stopped and self._status != "exhausted"):
            return None
        total = float(self._near.same_after(self._slopes())[:, 0, 1].max())
        return np.full(2, max(total - self._n, pace.GROWTH * self._n)) if np.isfinite(total) else None

    # ------------------------------------------------------------ what people see

    def evidence(self) -> Evidence:
        """Estimated differences in units of the tolerance, and what they must exceed to be certain."""
        if self._near is None:
            return Evidence.none(2)
        told = self._told * (1 - np.eye(2, dtype=np.int64))
        return Evidence.of_distances(told, self._bets.counts, *self._at(self.shares.differ_level).evidence())

    def verdicts(self) -> Verdicts | None:
        """What is proven; None before the first round."""
        if self._near is None:
            return None
        return verdicts_of(
            self.tolerance,
            np.where(np.eye(2, dtype=np.bool_), SAME, self.verdict),
            self._at(self.shares.margin_level).margins(also=self._near),
        )

    def guarantee(self) -> Guarantee:
        return words.quantile_guarantee(self.shares, self.tolerance)
