"""What sameness costs: about how many samples of each arm prove that it is within a tolerance of its group.

An estimate from a pilot, no promise (benchmarks/tolerance_price.py shows how good it is).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.tolerances import Tolerance
from kabc.strategies.tolerance.claim import pool_of
from kabc.strategies.tolerance.ruler import Ruler, chosen_ruler
from kabc.strategies.tolerance.shares import ToleranceShares

PILOT, PILOT_OF_ARM = 120, 10  # samples of the pilot: in all, and of each arm at least
FEWEST_ROWS = 4  # of an arm, to say anything from a pilot of others
SLOWEST = 1.4  # samples until the slowest arm is proven, over those for one of them, about


def first_samples(n_arms: int) -> int:
    """Samples of each arm that the pilot of a run takes."""
    return max(PILOT_OF_ARM, math.ceil(PILOT / n_arms))


def samples_of_arms(
    pilot: Sequence[Array],
    tolerance: Tolerance,
    labels: Index,
    delta: float,
    block: int = 1,
    codes: Sequence[int] = (),
) -> Array:  # N arrays (n_i, block x d), (N,) -> (N,)
    """About how many samples of each arm a run takes if these are the groups, the pilot of the run included.

    An arm that is a group of its own must only be told apart from the others. `codes`: columns of categories.
    """
    n_groups = int(labels.max()) + 1
    # wrong claims come first where there are several groups, and the weight of a claim falls with its number
    limit = -math.log(ToleranceShares(delta, len(labels)).claim_alpha(n_groups))
    ruler = chosen_ruler(pilot, tolerance, log_inverse_alpha=limit, block=block, codes=codes)
    more = _until_apart(pilot, ruler, labels, delta) + until_proven(ruler, labels, limit)
    return np.asarray(np.ceil(first_samples(len(labels)) + more) * block)


def until_proven(ruler: Ruler, labels: Index, limit: float) -> Array:  # (N,) -> (N,)
    """About how many samples since a claim of these groups prove all of it; 0 for arms without a statement."""
    more = np.zeros(len(labels))
    sizes = np.bincount(labels[labels >= 0])
    for group in np.flatnonzero(sizes > 1).tolist():
        more[labels == group] = SLOWEST * ruler.needed(limit, len(pool_of(labels, group)) - 1)
    return more


def _until_apart(pilot: Sequence[Array], ruler: Ruler, labels: Index, delta: float) -> float:
    """About how many samples of each arm tell the two closest groups apart; 0 if there is one group.

    A bet on the direction of the difference gains d^2 / (2 v) a sample, where d is the distance and v the variance of
    the difference of two samples in that direction.
    """
    n_groups = int(labels.max()) + 1
    shares = ToleranceShares(delta, len(labels))
    features = [
        np.concatenate([ruler.of(rows) for rows, group in zip(pilot, labels.tolist(), strict=True) if group == g])
        for g in range(n_groups)
    ]
    most = 0.0
    for g in range(n_groups):
        for h in range(g):
            away = features[g].mean(axis=0) - features[h].mean(axis=0)
            square = float(away @ away)
            if square > 0:
                variance = 2 * float(away @ ruler.covariance @ away) / square
                most = max(most, 2 * variance * math.log(shares.n_pairs / shares.different) / square)
    return most
