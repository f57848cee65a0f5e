"""How many more samples it takes, if log evidence grows on as it did. An estimate, no promise.

| symbol | here     | meaning                                                                                  |
|--------|----------|------------------------------------------------------------------------------------------|
| F_ih   | `joined` | log evidence against "arm i belongs to group h", since the claim was made (`claims.py`)  |
| r_gh   | `rates`  | growth of F_ih per sample of arm i, for all arms i of group g together                   |

Arms of one group have the same distribution, so their evidence grows at the same rate. One arm alone shows its rate
badly: the noise of its evidence is as large as the evidence. So rates are pooled by groups.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.wealth import Wealth


class Foresight:
    """Forecasts from one round alone. It remembers what each arm had when the claim was made."""

    def __init__(self) -> None:
        self._claimed: tuple[Claim, Counts] | None = None  # the claim that is forecast, and the samples it began with

    def of(
        self, found: Assignment | None, review: Review, core: Core, wealth: Wealth, counts: Counts
    ) -> Array | None:  # (N,) -> (N,)
        """More samples of each arm; None before there is a claim about all arms to prove."""
        if found is not None:
            outside = np.setdiff1d(np.arange(len(counts)), core.arms)
            at = [int(np.flatnonzero(wealth.compared == arm)[0]) for arm in found.representatives]
            return of_assignment(found, outside, counts, wealth.log[:, at], wealth.limits[:, at])
        claim = review.claim
        if claim is not None and (self._claimed is None or self._claimed[0] is not claim):
            self._claimed = claim, counts.copy()
        if review.trusted is None or self._claimed is None or core.size < len(core.order):
            return None
        return of_claim(review.trusted, counts - self._claimed[1], wealth.apart_among(review.trusted.arms))


def of_claim(claim: Claim, since: Counts, told_apart: Mask) -> Array | None:  # (N,), (A, A) -> (N,)
    """More samples of each arm until the claim is proven; `since` counts its samples since the claim was made.

    None if an open question has not moved towards its answer.
    """
    labels, counts = claim.labels[claim.arms], since[claim.arms]
    joins, pairs = claim.open_joins(told_apart), claim.open_pairs(told_apart)
    shared = np.minimum(counts[:, None], counts)
    against = np.broadcast_to(counts[:, None], joins.shape)
    groups = np.arange(claim.n_groups)
    by_join = _missing(claim.joined, against, claim.limit, joins, labels, groups)
    by_pair = _missing(claim.paired, shared, claim.limit / 2, pairs, labels, labels)
    if by_join is None or by_pair is None:
        return None
    missing = np.maximum(by_join.max(axis=1), np.maximum(by_pair.max(axis=1), by_pair.max(axis=0)))
    more = np.zeros(len(claim.labels))
    more[claim.arms] = _with_partners(missing, by_join, joins, labels)
    return np.ceil(more)


def _missing(
    evidence: Array, counts: Counts, limit: float, still_open: Mask, rows: Index, columns: Index
) -> Array | None:
    """Samples that each open question takes; 0 where it is answered. Rates are pooled by groups of rows and columns."""
    if not still_open.any():
        return np.zeros(evidence.shape)
    gained, drawn = _pooled(evidence, rows, columns), _pooled(counts.astype(np.float64), rows, columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (gained / drawn)[rows[:, None], columns]
        if not (rates[still_open] > 0).all():  # NaN without samples
            return None
        return np.where(still_open, np.maximum((limit - evidence) / rates, 1.0), 0.0)


def _pooled(values: Array, rows: Index, columns: Index) -> Array:  # (A, B), (A,), (B,) -> (G, H)
    """Sums over groups of rows and of columns."""
    in_row, in_column = (np.arange(int(one.max()) + 1)[:, None] == one for one in (rows, columns))
    return np.asarray(in_row.astype(np.float64) @ values @ in_column.T.astype(np.float64))


def _with_partners(missing: Array, by_join: Array, joins: Mask, labels: Index) -> Array:  # (C,), (C, K), (C, K), (C,)
    """The same, with the arms of other groups that an open question is asked against (`Claim.wanted`)."""
    more = missing.copy()
    for group in np.flatnonzero(joins.any(axis=0)).tolist():
        members = np.flatnonzero(labels == group)
        enough = math.isqrt(max(0, int(np.count_nonzero(joins[:, group])) - 1)) + 1
        busiest = members[np.argsort(-missing[members], kind="stable")[:enough]]
        more[busiest] = np.maximum(more[busiest], by_join[:, group].max())
    return more


def of_assignment(
    found: Assignment, outside: Index, counts: Counts, evidence: Array, limits: Array
) -> Array | None:  # (O,), (N,), (N, K), (N, K) -> (N,)
    """More samples of each arm until all arms outside the core have their group.

    `evidence` is that of each arm against the representatives. None before these arms have samples.
    """
    rates = _outside_rates(found, outside, counts, evidence)
    waiting = found.undecided
    if rates is None or not len(waiting):
        return None
    likely = _likely(found, evidence)[waiting]
    asked = found.may_belong[waiting] & (np.arange(len(found.columns)) != likely[:, None])
    speed = rates[likely]
    if not (speed[asked] > 0).all():
        return None
    missing = np.where(asked, np.maximum((limits[waiting] - evidence[waiting]) / np.where(asked, speed, 1.0), 1.0), 0.0)
    more = np.zeros(len(counts))
    more[waiting] = np.ceil(missing.max(axis=1))
    more[list(found.representatives)] += math.ceil(_answers(found, more[waiting]))
    return more


def _likely(found: Assignment, evidence: Array) -> Index:  # (N, K) -> (N,)
    """The group of each arm, or the one that least speaks against."""
    best = np.where(found.may_belong, evidence, np.inf).argmin(axis=1)
    return np.where(found.labels >= 0, found.labels, best)


def _outside_rates(found: Assignment, outside: Index, counts: Counts, evidence: Array) -> Array | None:  # -> (K, K)
    """Evidence per sample of an arm of each group against each representative; for a group without samples the mean."""
    n_groups = len(found.columns)
    sampled = outside[counts[outside] > 0]
    if not len(sampled):
        return None
    member = _likely(found, evidence)[sampled][:, None] == np.arange(n_groups)  # (S, K)
    drawn = member.T.astype(np.float64) @ counts[sampled]
    gained = member.T.astype(np.float64) @ evidence[sampled]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = gained / drawn[:, None]
    foreign = ~np.eye(n_groups, dtype=np.bool_)
    usual = gained[foreign].sum() / (drawn.sum() * (n_groups - 1))
    return np.asarray(np.where(drawn[:, None] > 0, rates, usual), dtype=np.float64)


def _answers(found: Assignment, missing: Array) -> float:  # (U,)
    """Samples of a representative while one arm after the other gets its group."""
    steps = np.diff(np.sort(missing), prepend=0.0)
    waiting = range(len(missing), 0, -1)
    return float(sum(step * found.partners(n) for step, n in zip(steps.tolist(), waiting, strict=True)))
