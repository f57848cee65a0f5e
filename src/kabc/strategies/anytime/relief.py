"""When arms run dry: what is still asked, who takes over from a representative, and who waits in vain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.anytime.representatives import Representatives
from kabc.strategies.anytime.wealth import Wealth


def asked_about(core: Index, dry: Mask, apart: Mask, claim: Claim | None) -> Index:  # (C,), (N,), (N, C') -> arms
    """Arms of the core whose partition is looked for: those that can be drawn, and dry ones that are known enough.

    A dry arm is known enough if the claim needs no more samples of it, or if it is told apart from all arms that can be
    drawn: then no other arm would stand for its group.
    """
    if not dry[core].any():
        return core
    alone = apart[core][:, np.flatnonzero(~dry[core])].all(axis=1)
    claimed = np.zeros_like(alone) if claim is None else claim.labels[core] >= 0
    return core[~dry[core] | alone | claimed]


def starved(learning: Learning, gains: Array, core: Index, asked: Index, n_groups: int) -> bool:  # (E,), (C,)
    """Whether one of the groups of the core seems to have none of the arms that are asked about: a heuristic."""
    seen = learning.guess(gains, core[learning.counts[core] > 0], n_groups)
    return seen is not None and len(np.unique(seen[0][asked])) < n_groups


def relieved(
    core: Index,  # (C,)
    columns: tuple[int, ...],
    wealth: Wealth,
    standing: Representatives,
    counts: Counts,  # (N,)
    patience: float,
) -> tuple[Assignment, Representatives, Wealth]:
    """The groups of all arms, after other arms took the place of representatives that ran dry.

    Arms that wait for a group without a representative are set aside: at once if nothing else can be learned about
    them, otherwise when they have so many samples (`patience`).
    """
    found = Assignment.of(core, columns, wealth.apart, standing)
    if found.contradicted or found.represented.all():
        return found, standing, wealth
    for group, arm in standing.successors(found.labels, counts).items():
        compared = arm in wealth.compared
        wealth = wealth.represented_by(arm, standing.arms[group])
        standing = standing.succeeded(group, arm, compared)
    found = Assignment.of(core, columns, wealth.apart, standing)
    dry = standing.dry.copy()
    dry[_in_vain(found, counts, patience)] = True
    standing = replace(standing, dry=dry)
    return Assignment.of(core, columns, wealth.apart, standing), standing, wealth


def _in_vain(found: Assignment, counts: Counts, patience: float) -> Index:  # (N,) -> arms
    """Arms that may be in a group without a representative, and that have waited long enough."""
    rows = found.undecided
    waits = (found.may_belong[rows] & ~found.represented).any(axis=1)
    helped = (found.may_belong[rows] & found.represented).any(axis=1)
    return np.asarray(rows[waits & (~helped | (counts[rows] >= patience))])
