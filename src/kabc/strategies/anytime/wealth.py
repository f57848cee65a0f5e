"""Wealth: the evidence against each pair, bet by bet, and what each expert has won on it.

| symbol | here     | meaning                                                                         |
|--------|----------|---------------------------------------------------------------------------------|
| E_ij   | `log`    | log evidence against the pair now, (N, C): all arms against the arms of the core |
|        | `best`   | the largest log evidence so far                                                 |
|        | `limits` | log thresholds (docs/theory.md, section 12)                                     |
| G_e    | `gains`  | log wealth of each expert on each pair of the core, (C, C, E)                   |
|        | `far`    | the same for arms outside, (N, R, E): with the R arms that they are compared with |
|        | `shown`  | sums of `far` over pairs that look different, and how many these are, (N, E + 1) |

If two arms are the same, their evidence is a supermartingale (docs/theory.md, Theorem 11.3). No block has more columns
than the core has arms, and `far` has one for each group: memory grows with N, not with its square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.evidence.blocks import Block
from kabc.core.evidence.pairs import Evidence

_SHARE = 0.05  # part of the experts' weights that is dealt out evenly in each round


def mixed(log_factors: Array, gains: Array) -> Array:  # (..., E), (..., E) -> (...)
    """One bet of all experts; each has a weight by what it has won before.

    This is `betting.mixed_factor` with the weights of `betting.fixed_share`, with few passes over large arrays.
    """
    weights = np.exp(gains - gains.max(axis=-1, keepdims=True))
    weights *= (1 - _SHARE) / weights.sum(axis=-1, keepdims=True)
    weights += _SHARE / gains.shape[-1]  # they sum to 1, and were fixed before the round
    top = log_factors.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.einsum("...e,...e->...", weights, np.exp(log_factors - top))))


def _shown(gains: Array) -> Array:  # (A, R, E) -> (A, E + 1)
    """What experts have won on the pairs of each arm that look different, and the number of these pairs."""
    different = (gains.max(axis=-1, initial=0.0) > 0.5 * math.log(gains.shape[-1])).astype(np.float64)
    won = (different[:, None] @ gains)[:, 0]
    return np.concatenate([won, different.sum(axis=1, keepdims=True)], axis=1)


@lru_cache(maxsize=64)
def _couples(n: int) -> tuple[Index, Index]:
    """All pairs of n places: the first ones, and the second ones."""
    return np.triu_indices(n, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """Sampled arms outside and the arms of the core that they are compared with: their places, and where they stand."""

    others: Index  # (O,), places of the arms outside among the sampled arms
    partners: Index  # (P,), places of the arms of the core
    rows: Index  # (O,), rows of the books
    columns: Index  # (P,), columns of the books
    slots: Index  # (P,), columns of `far`


def bet_outside(block: Block, where: Outside, gains: Array, common: Array) -> tuple[Array, Array]:
    """Log factors (O, P) of these pairs, and what experts have won on them after this bet (O, P, E).

    `gains` (O, P, E) on these pairs, and `common` (E,), were won before.
    """
    log_factors = block.pairs(where.partners, where.others[:, None])
    return mixed(log_factors, gains + common), gains + log_factors


@dataclass(slots=True, eq=False)
class Wealth:
    """The books of all pairs. `widened` makes new books; all other changes are made in place."""

    compared: Index  # (C,), the arms of the core
    log: Array  # (N, C)
    best: Array  # (N, C)
    limits: Array  # (N, C)
    told: Counts  # (N, C), the round that told a pair apart, 0 where none has
    gains: Array  # (C, C, E)
    asked: Index  # (R,), columns that arms outside are compared with
    far: Array | None = None  # (N, R, E), once an arm outside has bet
    shown: Array | None = None  # (N, E + 1), of `far`: a round changes only the rows of its arms
    claimed: Mask | None = None  # (N, C), pairs told apart by a claim alone
    unclaimed: tuple[Array, Array] | None = None  # best and limits of these pairs before the claim
    n_core: int = 0  # columns when the claim was proven
    _common: Array | None = None  # (E,), what `common_gains` found since the last bet

    @classmethod
    def none(cls, n_arms: int) -> Wealth:
        """Before any arm is compared."""
        empty = np.zeros((n_arms, 0))
        nobody = np.zeros(0, dtype=np.intp)
        return cls(nobody, empty, empty, empty, empty.astype(np.int64), np.zeros((0, 0, 0)), nobody)

    def widened(self, compared: Index, limit: float) -> Wealth:  # (C',)
        """The same books with more arms compared, which come after the earlier ones; new pairs get this limit."""
        before = len(self.compared)
        more = (0, len(compared) - before)
        wide = ((0, 0), more)
        limits = np.pad(self.limits, wide, constant_values=limit)
        newcomers = compared[before:]
        limits[newcomers] = np.maximum(limits[newcomers], limit)  # their rows in earlier columns
        books = (np.pad(self.log, wide), np.pad(self.best, wide), limits, np.pad(self.told, wide))
        return Wealth(compared, *books, np.pad(self.gains, (more, more, (0, 0))), np.arange(len(compared)))

    # ------------------------------------------------------------ experts

    def common_gains(self, n_experts: int) -> Array:  # (E,)
        """What experts have won on average on the pairs that look different: whom to trust on all pairs."""
        if not n_experts or self.n_experts != n_experts:
            return np.zeros(n_experts)  # no bet yet
        if self._common is None:
            (total,) = _shown(self.gains.reshape(1, -1, n_experts))
            if self.shown is not None:
                total += self.shown.sum(axis=0)
            self._common = total[:-1] / max(total[-1], 1)
        return self._common

    @property
    def n_experts(self) -> int:
        """The number of experts that have bet; 0 before the first bet."""
        return int(self.gains.shape[-1])

    @property
    def best_expert(self) -> int:
        """The expert that has won most; the first one before any bet."""
        return int(self.common_gains(self.n_experts).argmax()) if self.n_experts else 0

    # ------------------------------------------------------------ bets

    def bet(self, arms: Index, block: Block, common: Array) -> Array:  # (A,), (E,) -> (P, P)
        """Multiply the evidence of all sampled arms with the sampled arms of the core.

        Returns the log factors of the P sampled arms of the core with each other, in the order of `arms`.
        """
        self.begin(block.n_experts)
        columns, partners = self._sampled(arms)
        if len(partners) < len(arms):
            where = self.outside(arms)
            self.note(where, *bet_outside(block, where, self.far_gains(where), common))
        if not len(partners):
            return np.zeros((0, 0))
        return self._bet_in_core(arms, columns, partners, block, common)

    def begin(self, n_experts: int) -> None:
        """Where there are other experts than before, nobody has won anything yet."""
        if self.n_experts != n_experts:
            self.gains, self.far, self.shown = np.zeros((*self.gains.shape[:2], n_experts)), None, None
            self._common = None

    def _bet_in_core(
        self, arms: Index, columns: Index, partners: Index, block: Block, common: Array
    ) -> Array:  # (A,), (P,), (P,), (E,) -> (P, P)
        order = partners if len(partners) == len(arms) else partners.argsort().argsort()  # of the partners among them
        first, second = _couples(len(partners))  # a pair has one evidence: each is bet once and noted both ways
        block = block if len(partners) == len(arms) else block.of(np.sort(partners))
        log_factors = block.pairs(order[second], order[first])  # (P (P - 1) / 2, E)
        own, other = (columns[first], columns[second]), (columns[second], columns[first])
        at, back = ((self.compared[row], column) for row, column in (own, other))
        gains = self.gains[own]
        factors = mixed(log_factors, gains + common)
        self.gains[own] = self.gains[other] = gains + log_factors
        self.log[at] = self.log[back] = log = self.log[at] + factors
        self.best[at] = self.best[back] = np.maximum(self.best[at], log)
        self._common = None
        square = np.zeros((len(order), len(order)))
        square[order[first], order[second]] = square[order[second], order[first]] = factors
        return square

    def outside(self, arms: Index) -> Outside:  # (A,)
        """The bets of sampled arms outside with those of the sampled arms of the core that they are compared with."""
        columns, partners = self._sampled(arms)
        slot = np.full(len(self.compared), -1, dtype=np.intp)
        slot[self.asked] = np.arange(len(self.asked))
        others, answer = np.setdiff1d(np.arange(len(arms)), partners), slot[columns] >= 0
        return Outside(others, partners[answer], arms[others], columns[answer], slot[columns[answer]])

    def far_gains(self, where: Outside) -> Array:  # (O, P, E)
        """What experts have won on these pairs so far."""
        if self.far is None:
            self.far = np.zeros((len(self.log), len(self.asked), self.n_experts))
            self.shown = np.zeros((len(self.log), self.n_experts + 1))
        return np.asarray(self.far[np.ix_(where.rows, where.slots)])

    def note(self, where: Outside, factors: Array, gains: Array) -> None:  # (O, P), (O, P, E)
        """Multiply the evidence of these pairs; `gains` are what experts have won on them by now."""
        assert self.far is not None
        assert self.shown is not None
        self._common = None
        at = np.ix_(where.rows, where.columns)
        self.log[at] += factors
        self.far[np.ix_(where.rows, where.slots)] = gains
        self.shown[where.rows] = _shown(self.far[where.rows])
        self.best[at] = np.maximum(self.best[at], self.log[at])

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
            self.asked, self.far, self.shown = np.array(representatives, dtype=np.intp), None, None
            self._common = None

    # ------------------------------------------------------------ representatives that run dry

    def represented_by(self, arm: int, before: int) -> Wealth:
        """The books when `arm` represents the group that arm `before` represented.

        Evidence of outside arms is against the group: it goes on where it was (docs/theory.md, section 18).
        """
        books = self if arm in self.compared else self._with_column(arm)
        (new,), (old,) = (np.flatnonzero(books.compared == one) for one in (arm, before))
        outside = np.setdiff1d(np.arange(len(books.log)), books.compared)
        for block in (books.log, books.best, books.limits, books.told):
            block[outside, new] = block[outside, old]
        books.asked = np.where(books.asked == old, new, books.asked)  # what experts have won stays where it is
        return books

    def _with_column(self, arm: int) -> Wealth:
        """The same books, with an arm from outside among the compared ones."""
        wide = ((0, 0), (0, 1))
        blocks = (
            np.pad(self.log, wide),
            np.pad(self.best, wide),
            np.pad(self.limits, wide, constant_values=np.inf),
            np.pad(self.told, wide),
        )
        for block in blocks:
            block[self.compared, -1] = block[arm, :-1]  # a pair has one evidence
        gains = np.pad(self.gains, ((0, 1), (0, 1), (0, 0)))
        if self.far is not None:
            gains[self.asked, -1] = gains[-1, self.asked] = self.far[arm]
        claimed = None if self.claimed is None else np.pad(self.claimed, wide)
        compared = np.append(self.compared, arm)
        far = self.far, self.shown
        return Wealth(compared, *blocks, gains, self.asked, *far, claimed, self.unclaimed, self.n_core)

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
        """Pairs told apart, with a row and a column for every arm: where all arms are in the core."""
        square = np.zeros((len(self.log), len(self.log)), dtype=np.bool_)
        square[:, self.compared] = self.told > 0
        return square | square.T

    def apart_among(self, arms: Index) -> Mask:  # (A,) -> (A, A)
        """Pairs told apart among some arms of the core."""
        column = np.zeros(len(self.log), dtype=np.intp)
        column[self.compared] = np.arange(len(self.compared))
        square = self.told[arms[:, None], column[arms]] > 0
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
