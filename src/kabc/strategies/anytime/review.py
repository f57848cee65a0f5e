"""The first phase: guess the partition of the core, claim the guess once it wins, collect evidence for the claim.

| symbol | here     | meaning                                                                                    |
|--------|----------|--------------------------------------------------------------------------------------------|
|        | `guess`  | groups of the core as the best expert sees them now, -1 outside                            |
| C      | `claim`  | an earlier guess that is being proven                                                      |
|        | `won`    | log factors of late, each arm of the core against each group of the guess, (C, K)          |
| G_e    | `won_by` | the same by experts, since the arm joined its group of the guess, (C, K, E)                |
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.evidence.blocks import Block
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.claims import Claim, renamed
from kabc.strategies.anytime.shares import ErrorShares
from kabc.strategies.anytime.wealth import mixed

_WON = 0.95  # part of the bets on a guess that must have won lately, before it is claimed
_ODDS = 0.6  # the largest odds against a guess that is claimed
_CLAIM_GROWTH = 1.25  # samples at a claim over those at the claim before


class Review:
    """The guess, the claim, and what makes one the other."""

    def __init__(self, shares: ErrorShares, core: Index | None = None) -> None:  # (C,)
        core = np.arange(shares.n_arms) if core is None else core
        self.guess: Index | None = None  # (N,)
        self.claim: Claim | None = None
        self.doubted = False  # the partition of the core was settled, but one of its groups looks like two
        self.n_claims = 0
        self._held = 1.0  # by a bettor against wrong claims: at least (12.4)
        self._shares = shares
        self._n_groups = shares.n_clusters or 0
        self._stood: tuple[Claim, Index, bool] | None = None  # what `stands` found for this claim and this guess
        self._core = np.sort(core)
        self._won: Array = np.zeros((len(core), self._n_groups))
        self._won_by: Array = np.zeros((len(core), self._n_groups, 0))

    @property
    def stands(self) -> bool:
        """Whether the claim is still what the samples look like."""
        if self.claim is None or self.guess is None:
            return False
        if self._stood is None or self._stood[0] is not self.claim or self._stood[1] is not self.guess:
            # The claim may have arms that ran dry once everything about them was shown. The guess does not have them.
            agrees = bool(((self.claim.labels == self.guess) | (self.guess < 0)).all())
            self._stood = self.claim, self.guess, agrees
        return self._stood[2]

    @property
    def trusted(self) -> Claim | None:
        """The claim to work for: it stands, and no group of it looks like two."""
        return self.claim if self.stands and not self.doubted else None

    def bet(self, block: Block, batch: Batch, held: Counts, common: Array, pairs: Array) -> None:
        """Bet each sampled arm against each other group, of the guess and of the claim; nothing without a guess.

        `held` (A,) are the samples of the arms before the round, `pairs` (A, A) the log factors of their pairs.
        """
        if self.guess is None:
            return
        arms = batch.arms
        if self._won_by.shape[-1] != block.n_experts:
            self._won_by = np.zeros((*self._won_by.shape[:2], block.n_experts))
        rows = np.searchsorted(self._core, arms)
        log_factors = block.joins(self.guess[arms], self._n_groups)
        joins = mixed(log_factors, self._won_by[rows] + common)
        if self.claim is not None:
            others = self.claim.labels[arms]
            claimed = joins if self.stands else mixed(block.joins(others, self._n_groups), common)
            self.claim.bet(arms, claimed, pairs)
        self._won[rows] = self._won[rows] * (held / (held + batch.base))[:, None] + joins  # forgets as samples double
        self._won_by[rows] += log_factors

    def revise(
        self,
        guess: Index,
        core: Index,
        n_samples: int,
        n_core: int | None = None,
        *,
        odds: float = 0.0,
        provable: bool = True,
    ) -> None:  # (N,), (C,)
        """Take over a new guess; claim it if it differs from the claim, bets on it have won lately and it is likely.

        `core` are the arms whose bets count, `n_core` is the size of the whole core, `odds` those against the guess.
        A guess that is not `provable`, because arms that ran dry would have to be drawn, is not claimed.
        """
        if self.guess is not None:
            guess = renamed(guess, self.guess, self._n_groups)
            moved = (guess != self.guess)[self._core]
            if moved.any():
                self._won[moved] = self._won_by[moved] = 0.0
        self.guess = guess
        if self.claim is not None and (self.stands or n_samples < _CLAIM_GROWTH * self.claim.n_samples):
            return
        foreign = guess[core, None] != np.arange(self._n_groups)
        won = self._won[np.searchsorted(self._core, core)][foreign] > 0
        if provable and odds <= _ODDS and won.mean() >= _WON:
            self._give_up()
            self.n_claims += 1
            self.claim = Claim(guess, self._shares.claim_limit(self._held, n_core or len(core)), n_samples)

    def _give_up(self) -> None:
        """End the bets on the claim; what is left of them can be bet on the next one."""
        if self.claim is not None:
            self._held = self._shares.held_after(self._held, self.claim.worth)
            self.claim = None

    def set_aside(self, dry: Mask, told_apart: Mask) -> None:  # (N,), (A, A)
        """Go on without arms that cannot be drawn any more. A claim that still needs them is given up.

        `told_apart` are pairs of the arms of the claim.
        """
        if self.claim is not None and self.claim.needs(dry, told_apart):
            self._give_up()
        if self.guess is not None:
            claimed = np.zeros_like(dry) if self.claim is None else self.claim.labels >= 0
            self.guess = np.where(dry & ~claimed, -1, self.guess)

    def restart(self, core: Index) -> None:  # (C,)
        """The core was widened: guess anew. What earlier claims have lost stays lost."""
        wider = np.sort(core)
        rows, won, won_by = np.searchsorted(wider, self._core), self._won, self._won_by
        self._core = wider
        self._won, self._won_by = (np.zeros((len(core), *books.shape[1:])) for books in (won, won_by))
        self._won[rows], self._won_by[rows] = won, won_by
        self._give_up()
        self.guess = None
