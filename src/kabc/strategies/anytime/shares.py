"""How the error probability is spent. Every constant that carries the guarantee is here.

| symbol  | here                    | meaning                                                                      |
|---------|-------------------------|------------------------------------------------------------------------------|
| delta   | `delta`                 | probability of any wrong statement, at any time                              |
| delta_p | `pairs`                 | part of delta for single pairs of the core                                   |
| delta_c | `claims`                | part of delta for claims of whole partitions of the core                     |
| M, s    | `n_core`, `stage`       | number of arms in the core; the core is widened at most once in each stage   |
| v       | `held`                  | what a bettor against a wrong claim still has, of 1 at first: at least       |

Shares are probabilities. Limits are log thresholds that evidence must reach. Proofs: docs/theory.md, section 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CLAIMS = 0.92  # part of the core's share that goes to claims; the rest goes to pairs
STAKE = 2 / 3  # part of what a bettor has that goes on a claim: it is mostly right
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

    def claim_limit(self, held: float, n_core: int) -> float:
        """Log evidence that proves a claim on which `STAKE` of what is held is bet (12.4)."""
        return math.log(1 / (STAKE * held * self.claims(n_core)))

    @staticmethod
    def held_after(held: float, worth: float) -> float:
        """What is held once a claim is given up, whose bets are worth at least so much of what they began with.

        Nothing was bet where the claim is right. So it is never more than before.
        """
        return held * (1 - STAKE + STAKE * min(worth, 1.0))

    def outside_limit(self, n_core: int) -> float:
        """Log evidence that tells an outside arm and a representative apart: a union over the outside arms (12.3).

        At most one of the K representatives is in the group of an arm, so each arm counts once.
        """
        return math.log((self.n_arms - n_core) / self.outside(n_core))
