"""How the error probability is spent on one pair. Proof: docs/theory.md, section 26.

"They differ" can be wrong only if the two laws are equal, "they are closer than m" only if they are not. At most one
of the two is in danger, whatever the truth is. So both have the same share of delta, and it is counted once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

APART = 0.2  # part of delta for "at least so far apart"


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
        """Error probability of "closer than m", for all m and at all times together."""
        return (1 - APART) * self.delta

    @property
    def same_limit(self) -> float:
        """Log evidence for a margin from above."""
        return -math.log(self.same_alpha)

    @property
    def apart_limit(self) -> float:
        """Log evidence for a margin from below."""
        return -math.log(APART * self.delta)
