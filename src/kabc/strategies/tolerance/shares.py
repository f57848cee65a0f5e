"""How the error probability is spent: differences, claims of sameness, margins. Proofs: docs/theory.md, section 25.

| symbol  | here          | meaning                                                                       |
|---------|---------------|-------------------------------------------------------------------------------|
| delta   | `delta`       | probability of any wrong statement, at any time                               |
| k       | `number`      | a claim is the k-th one; it starts afresh, and has the weight 1 / (k (k + 1)) |
| P       | `n_pairs`     | pairs of arms                                                                 |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DIFFERENT = 0.5  # part of delta for "these two arms differ"
CLAIMS = 0.4  # for "each arm is within the tolerance of its group"
SAME_WITHIN = 0.05  # for "this pair is within so much", all pairs together
APART = 0.05  # for "this pair is at least so far apart", all pairs together


@dataclass(frozen=True, slots=True)
class ToleranceShares:
    """How delta is divided. The parts sum to 1."""

    delta: float
    n_arms: int

    @property
    def different(self) -> float:
        """Error probability of all differences together."""
        return DIFFERENT * self.delta

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return math.comb(self.n_arms, 2)

    def claim_alpha(self, number: int) -> float:
        """Error probability of the k-th claim: no union over its arms, because all of them must be proven."""
        return CLAIMS * self.delta / (number * (number + 1))

    @property
    def same_limit(self) -> float:
        """Log evidence for a margin of one pair: a union over pairs."""
        return math.log(self.n_pairs / (SAME_WITHIN * self.delta))

    @property
    def apart_limit(self) -> float:
        """Log evidence for the distance of one pair: a union over pairs."""
        return math.log(self.n_pairs / (APART * self.delta))
