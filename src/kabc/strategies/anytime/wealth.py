"""Wealth: the evidence against each pair, bet by bet, and what each expert has won on it.

| symbol | here     | meaning                                                                         |
|--------|----------|---------------------------------------------------------------------------------|
| E_ij   | `log`    | log evidence against the pair now, (N, C): all arms against the arms of the core |
|        | `best`   | the largest log evidence so far                                                 |
|        | `limits` | log thresholds (docs/theory.md, section 12)                                     |
| G_e    | `gains`  | log wealth of each expert on each pair, (N, C, E)                               |

If two arms are the same, their evidence is a supermartingale (docs/theory.md, Theorem 11.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.evidence import betting
from kabc.core.evidence.blocks import Block
from kabc.core.evidence.pairs import Evidence

_SHARE = 0.05  # part of the experts' weights that is dealt out evenly in each round


def mixed(log_factors: Array, gains: Array) -> Array:  # (..., E), (..., E) -> (...)
    """One bet of all experts; each has a weight by what it has won before."""
    return betting.mixed_factor(log_factors, betting.fixed_share(gains, _SHARE))


@dataclass(slots=True, eq=False)
class Wealth:
    """The books of all pairs. `widened` makes new books; all other changes are made in place."""

    compared: Index  # (C,), the arms of the core
    log: Array  # (N, C)
    best: Array  # (N, C)
    limits: Array  # (N, C)
    told: Counts  # (N, C), the round that told a pair apart, 0 where none has
    gains: Array  # (N, C, E)
    claimed: Mask | None = None  # (N, C), pairs told apart by a claim alone
    unclaimed: tuple[Array, Array] | None = None  # best and limits of these pairs before the claim
    n_core: int = 0  # columns when the claim was proven

    @classmethod
    def none(cls, n_arms: int) -> Wealth:
        """Before any arm is compared."""
        empty = np.zeros((n_arms, 0))
        return cls(np.zeros(0, dtype=np.intp), empty, empty, empty, empty.astype(np.int64), np.zeros((n_arms, 0, 0)))

    def widened(self, compared: Index, limit: float) -> Wealth:  # (C',)
        """The same books with more arms compared, which come after the earlier ones; new pairs get this limit."""
        before = len(self.compared)
        wide = ((0, 0), (0, len(compared) - before))
        limits = np.pad(self.limits, wide, constant_values=limit)
        newcomers = compared[before:]
        limits[newcomers] = np.maximum(limits[newcomers], limit)  # their rows in earlier columns
        books = (np.pad(self.log, wide), np.pad(self.best, wide), limits, np.pad(self.told, wide))
        return Wealth(compared, *books, np.pad(self.gains, (*wide, (0, 0))))

    # ------------------------------------------------------------ experts

    def common_gains(self, n_experts: int) -> Array:  # (E,)
        """What experts have won on average on the pairs that look different: whom to trust on all pairs."""
        if self.gains.shape[-1] != n_experts:
            return np.zeros(n_experts)  # no bet yet
        different = self.gains.max(axis=-1, initial=0.0) > 0.5 * math.log(n_experts)
        return self.gains[different].mean(axis=0) if different.any() else np.zeros(n_experts)

    @property
    def n_experts(self) -> int:
        """The number of experts that have bet; 0 before the first bet."""
        return int(self.gains.shape[-1])

    @property
    def best_expert(self) -> int:
        """The expert that has won most; the first one before any bet."""
        return int(self.common_gains(self.n_experts).argmax()) if self.n_experts else 0

    # ------------------------------------------------------------ bets

    def bet(self, arms: Index, blocks: Sequence[Block], common: Array) -> Array:  # (A,), E of them, (E,) -> (A, P)
        """Multiply the evidence of all sampled arms with the sampled arms of the core; returns the log factors.

        Columns of the answer are the P sampled arms of the core, in the order of `arms`.
        """
        columns, partners = self._sampled(arms)
        log_factors = np.stack([block.pairs(partners) for block in blocks], axis=-1)  # (A, P, E)
        log_factors[partners, np.arange(len(partners))] = 0.0  # an arm is not compared with itself
        if self.n_experts != len(blocks):
            self.gains = np.zeros((*self.gains.shape[:2], len(blocks)))
        at = np.ix_(arms, columns)
        factors = mixed(log_factors, self.gains[at] + common)
        self.log[at] += factors
        self.gains[at] += log_factors
        np.maximum(self.best, self.log, out=self.best)
        return factors[:, partners.argsort()]

    def _sampled(self, arms: Index) -> tuple[Index, Index]:  # (A,) -> (P,), (P,)
        """Columns of the sampled arms of the core, and the places of these arms among the sampled ones."""
        place = np.full(len(self.log), -1, dtype=np.intp)
        place[arms] = np.arange(len(arms))
        columns = np.flatnonzero(place[self.compared] >= 0)
        return columns, place[self.compared[columns]]

    # ------------------------------------------------------------ decisions

    def tell_apart(self, number: int) -> None:
        """Note all pairs whose evidence has reached its limit by this round."""
        reached = self.best >= self.limits
        core = self.compared
        reached[core, np.arange(len(core))] = False  # N = 2, delta = 1: the threshold is 1, which every arm has
        reached[core] |= reached[core].T  # equal up to rounding: a pair has one answer
        self.told[reached & (self.told == 0)] = number

    def accept(self, labels: Index, limit: float, number: int) -> None:  # (N,)
        """Tell apart all pairs of the core that a proven claim has in different groups, at the limit of the claim."""
        core = self.compared
        new = np.zeros(self.told.shape, dtype=np.bool_)
        placed = labels[core] >= 0  # the claim is not about arms that were set aside
        new[core] = (labels[core, None] != labels[core]) & placed[:, None] & placed & (self.told[core] == 0)
        self.claimed, self.unclaimed = new, (self.best[new], self.limits[new])
        self.n_core = len(core)
        self.told[new] = number
        self.limits[new] = limit
        self.best[new] = np.maximum(self.best[new], limit)

    def limit_outside(self, representatives: Sequence[int], limit: float) -> None:
        """Compare arms outside the core with these columns only, at this limit."""
        outside = np.setdiff1d(np.arange(len(self.log)), self.compared)
        if len(outside):
            self.limits[outside] = np.inf
            self.limits[outside[:, None], list(representatives)] = limit

    # ------------------------------------------------------------ representatives that run dry

    def represented_by(self, arm: int, before: int) -> Wealth:
        """The books when `arm` represents the group that arm `before` represented.

        Evidence of outside arms is against the group: it goes on where it was (docs/theory.md, section 18).
        """
        books = self if arm in self.compared else self._with_column(arm)
        (new,), (old,) = (np.flatnonzero(books.compared == one) for one in (arm, before))
        outside = np.setdiff1d(np.arange(len(books.log)), books.compared)
        for block in (books.log, books.best, books.limits, books.told, books.gains):
            block[outside, new] = block[outside, old]
        return books

    def _with_column(self, arm: int) -> Wealth:
        """The same books, with an arm from outside among the compared ones."""
        wide = ((0, 0), (0, 1))
        blocks = (
            np.pad(self.log, wide),
            np.pad(self.best, wide),
            np.pad(self.limits, wide, constant_values=np.inf),
            np.pad(self.told, wide),
            np.pad(self.gains, (*wide, (0, 0))),
        )
        for block in blocks:
            block[self.compared, -1] = block[arm, :-1]  # a pair has one evidence
        claimed = None if self.claimed is None else np.pad(self.claimed, wide)
        return Wealth(np.append(self.compared, arm), *blocks, claimed, self.unclaimed, self.n_core)

    # ------------------------------------------------------------ what was told apart

    @property
    def apart(self) -> Mask:  # (N, C)
        """Pairs told apart, all arms with those of the core."""
        return self.told > 0

    @property
    def apart_in_core(self) -> Mask:  # (C, C)
        """Pairs of the core that are told apart."""
        return self.told[self.compared] > 0

    def all_apart(self) -> Mask:  # (N, N)
        """Pairs told apart, with a row and a column for every arm."""
        square = np.zeros((len(self.log), len(self.log)), dtype=np.bool_)
        square[:, self.compared] = self.told > 0
        return square | square.T

    def evidence(self, counts: Counts, *, copied: bool = True, claim_holds: bool = True) -> Evidence:  # (N,)
        """A copy for others to look at; or the books themselves, to be read at once.

        Where a claim was refuted, it is always a copy with only what is proven without the claim.
        """
        if not claim_holds and self.claimed is not None:
            return self._without_claim(counts)
        blocks = (self.told, counts, self.best, self.limits, self.compared)
        return Evidence.of_bets(*(block.copy() for block in blocks) if copied else blocks)

    def _without_claim(self, counts: Counts) -> Evidence:  # (N,)
        assert self.claimed is not None
        assert self.unclaimed is not None
        told, best, limits = self.told.copy(), self.best.copy(), self.limits.copy()
        told[self.claimed] = 0
        best[self.claimed], limits[self.claimed] = self.unclaimed
        outside = np.setdiff1d(np.arange(len(told)), self.compared[: self.n_core])
        # Their limit takes for granted that representatives differ (12.3), which the claim has shown.
        told[outside], limits[outside] = 0, np.inf
        told[:, self.n_core :], limits[:, self.n_core :] = 0, np.inf
        return Evidence.of_bets(told, counts.copy(), best, limits, compared=self.compared.copy())
