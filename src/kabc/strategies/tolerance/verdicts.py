"""From margins, pairs told apart and a proven claim to verdicts."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Mask
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.tolerances import Equivalents, Tolerance
from kabc.strategies.tolerance.claim import SameClaim
from kabc.strategies.tolerance.margins import PairMargins
from kabc.strategies.tolerance.ruler import Ruler


def verdicts_of(
    ruler: Ruler, of: Equivalents, tolerance: Tolerance, margins: PairMargins, apart: Mask, proven: SameClaim | None
) -> Verdicts:  # (N, N)
    """What is proven of each pair."""
    above, below = margins.same_within(), margins.apart_at_least()
    found = np.where(apart | (below > 0), DIFFERENT, np.where(above < ruler.eps, SAME, OPEN))
    if proven is not None:
        labels = proven.labels
        found[(labels[:, None] == labels) & (labels >= 0)] = SAME
        above = np.minimum(above, _through_pools(proven, ruler.eps))
    np.fill_diagonal(found, SAME)
    return Verdicts(
        tolerance=tolerance.words,
        unit=of.unit,
        eps=ruler.eps,
        equivalents=tuple(one.words for one in of.columns),
        verdicts=found,
        same_within=of.in_units(above),
        apart_at_least=of.in_units(below),
        same_distance=above,
        apart_distance=below,
    )


def _through_pools(claim: SameClaim, eps: float) -> Array:  # -> (N, N)
    """Bounds for pairs of one group: each arm is within eps of its pool, so two arms are within the sum."""
    labels = claim.labels
    reach = np.full(len(labels), np.inf)  # from the mean of all arms that answer for the group
    for pool in claim.pools.values():
        members = np.flatnonzero(labels == labels[pool[0]])
        inside = np.isin(members, pool)
        reach[members] = np.where(inside, eps * (len(pool) - 1) / len(pool), eps)
    together = (labels[:, None] == labels) & (labels >= 0)
    return np.where(together, reach[:, None] + reach, np.inf)
