"""How the error probability is spent. Every constant that carries the guarantee is here.

| symbol  | here                    | meaning                                                                      |
|---------|-------------------------|------------------------------------------------------------------------------|
| delta   | `delta`                 | probability of any wrong statement, at any time                              |
| delta_p | `pairs`                 | part of delta for single pairs of the core                                   |
| delta_c | `claims`                | part of delta for claims of whole partitions of the core                     |
| M, s    | `n_core`, `stage`       | number of arms in the core; the core is widened at most once in each stage   |
| k       | `number`                | a claim is the k-th one                                                      |

Shares are probabilities. Limits are log thresholds that evidence must reach. Proofs: docs/theory.md, section 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CLAIMS = 0.85  # part of the core's share that goes to claims; the rest goes to pairs
FIRST = 2 / 3  # weight of the first claim: it is mostly right
HALVED = 4  # claims up to which the rest is halved each time: more are seldom made
CORE = 0.5  # part of delta for the core when there are arms outside; the rest is for these arms


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """How delta is divided among pairs of the core, claims about the core, and arms outside the core.

    Without K nothing is claimed, all arms are in the core, and pairs get all of delta.
    """

    delta: float
    n_arms: int
    n_clusters: int | None

    def core(self, n_core: int) -> float:
        """Error probability of all statements about the core (Proposition 12.3)."""
        return self.delta if n_core == self.n_arms else self.delta * CORE

    def pairs(self, n_core: int, stage: int) -> float:
        """Error probability of all pairs that enter the core in this stage, over all times (12.1, 12.2)."""
        only_stage = n_core == self.n_arms and stage == 1
        share = self.delta if only_stage else self.delta * CORE / 2**stage  # stages sum to the share of the core
        return share if self.n_clusters is None else share * (1 - CLAIMS)

    def claims(self, n_core: int) -> float:
        """Error probability of all claims together (Proposition 12.2)."""
        return 0.0 if self.n_clusters is None else CLAIMS * self.core(n_core)

    def outside(self, n_core: int) -> float:
        """Error probability of all arms outside the core together (12.3)."""
        return 0.0 if n_core == self.n_arms else self.delta * (1 - CORE)

    def pair_limit(self, n_core: int, stage: int) -> float:
        """Log evidence that tells a pair apart: a union over all pairs of the core (12.1, 12.2)."""
        return math.log(math.comb(n_core, 2) / self.pairs(n_core, stage))

    def claim_limit(self, number: int, n_core: int) -> float:
        """Log evidence that proves the k-th claim: claims have weights that sum to 1 (12.4)."""
        return math.log(1 / (self.claim_weight(number) * self.claims(n_core)))

    @staticmethod
    def claim_weight(number: int) -> float:
        """w_k: two thirds, then half of the rest up to the fourth; what is left is for all later ones (12.4)."""
        later = number - HALVED
        if number == 1:
            return FIRST
        return (1 - FIRST) * (2.0 ** (1 - number) if later <= 0 else 2.0 ** (1 - HALVED) / (later * (later + 1)))

    def outside_limit(self, n_core: int) -> float:
        """Log evidence that tells an outside arm and a representative apart: a union over the outside arms (12.3).

        At most one of the K representatives is in the group of an arm, so each arm counts once.
        """
        return math.log((self.n_arms - n_core) / self.outside(n_core))
