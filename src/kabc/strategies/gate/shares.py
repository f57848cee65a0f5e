"""How the error probability is spent on one pair. Proof: docs/theory.md, section 26.

"They differ" can be wrong only if the two laws are equal, "they are closer than m" only if they are not. At most one
of the two is in danger, whatever the truth is. So both have the same share of delta, and it is counted once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kabc.core.evidence.quantiles import SIDES

APART = 0.2  # part of delta for "at least so far apart"
FINER = (1.0, 8.0)  # bets on sameness are tuned for the tolerance, and for an eighth of it
TUNED = (0.9, 0.1)  # parts of their error probability


@dataclass(frozen=True, slots=True)
class GateShares:
    """How delta is divided."""

    delta: float

    @property
    def different(self) -> float:
        """Error probability of "they differ"."""
        return (1 - APART) * self.delta

    @property
    def same_alpha(self) -> float:
        """Error probability of "closer than m", for all m and at all times together: the same part."""
        return self.different

    @property
    def same_limits(self) -> tuple[float, ...]:
        """Log evidence for a margin from above, of each of the bets."""
        return tuple(-math.log(part * self.same_alpha) for part in TUNED)

    @property
    def apart_limit(self) -> float:
        """Log evidence for a margin from below."""
        return -math.log(APART * self.delta)


@dataclass(frozen=True, slots=True)
class QuantileShares:
    """The same division of delta for quantiles: log evidence of a side of an interval, for each kind of statement."""

    delta: float
    n_quantiles: int

    @property
    def _n_sides(self) -> int:
        """Of all intervals of both arms."""
        return 2 * self.n_quantiles * SIDES

    @property
    def same_level(self) -> float:
        """For "all within the tolerance": false only by one quantile in one direction, that is by two sides."""
        return math.log(2 / GateShares(self.delta).same_alpha)

    @property
    def differ_level(self) -> float:
        """For "this quantile differs": every side may be the wrong one."""
        return math.log(self._n_sides / GateShares(self.delta).different)

    @property
    def margin_level(self) -> float:
        """For margins of each quantile, from above and from below."""
        return math.log(self._n_sides / (APART * self.delta))
