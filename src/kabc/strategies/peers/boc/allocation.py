"""The best distribution of samples over the arms: the lower bound of the paper, and its solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.samples import as_points
from kabc.strategies.peers.boc.loops import compiled_loops
from kabc.strategies.peers.boc.solver import can_move, squared_gaps


def optimal_shares(centres: ArrayLike, sizes: ArrayLike) -> Array:  # (K, d), (K,) -> (K,)
    """w*: the share of the samples that each group should get."""
    points = as_points(centres)
    labels = np.repeat(np.arange(len(points)), np.asarray(sizes))
    of_arms = compiled_loops().proportions(labels, points)
    shares: Array = np.bincount(labels, of_arms, len(points))  # type: ignore[assignment]
    return shares


def hardness(centres: ArrayLike, sizes: ArrayLike) -> float:  # (K, d), (K,)
    """D*: samples needed, in units of ln(1/delta), as delta goes to 0. It is 0 if there is only one partition."""
    n, w, gaps = np.asarray(sizes), optimal_shares(centres, sizes), squared_gaps(as_points(centres))
    pairs = [(a, b) for a in range(len(n)) for b in range(len(n)) if can_move(n, a, b, bool(n.sum() > len(n)))]
    return max((float(2 * (n[a] / w[a] + 1 / w[b]) / gaps[a, b]) for a, b in pairs), default=0.0)


def raised(proportions: Array, floor: float) -> Array:  # (M,) -> (M,)
    """The nearest proportions that are all at least the floor (Euclidean projection)."""
    excess = np.sort(proportions - floor)[::-1]
    surplus = (np.cumsum(excess) - (1 - len(excess) * floor)) / np.arange(1, len(excess) + 1)
    nearest: Array = np.maximum(proportions - floor - surplus[np.flatnonzero(excess > surplus)[-1]], 0.0) + floor
    return nearest
