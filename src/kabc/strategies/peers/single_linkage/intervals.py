"""Gaps between numbers that are only known to lie in intervals [low, high]."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Counts


def largest_splits(low: Array, high: Array, n_groups: int) -> tuple[Counts, Array]:  # (M,), (M,) -> (M,), (K - 1,)
    """Labels from left to right, cut at the K - 1 widest gaps between intervals, and the widths of these gaps."""
    order = np.argsort(low, kind="stable")
    gaps = low[order[1:]] - np.maximum.accumulate(high[order])[:-1]  # negative where intervals overlap
    cut = np.sort(np.argsort(-gaps, kind="stable")[: n_groups - 1])
    labels = np.zeros(len(low), dtype=np.int64)
    labels[order[1:]] = np.isin(np.arange(len(gaps)), cut).cumsum()
    return labels, gaps[cut]


def gaps_within(low: Array, high: Array, labels: Counts) -> Array:  # (M,), (M,), (M,) -> (M,)
    """Upper bounds of the larger of the two gaps beside each arm, to arms of its own group."""
    within = np.zeros(len(low))
    for group in range(int(labels.max()) + 1):
        members = labels == group
        sides = right_gaps(low[members], high[members]), right_gaps(-high[members], -low[members])
        within[members] = np.maximum(*sides)
    return within


def right_gaps(low: Array, high: Array) -> Array:  # (M,), (M,) -> (M,)
    """Upper bounds of the distance of each number to the next one above it, given an interval for each.

    Let arm a be at x. If intervals of other arms lie above x, the next arm is at most at the smallest of their upper
    ends. If none does, it is at most at the largest upper end of all. It is enough to try x at lower ends of intervals.
    """
    n_arms = len(low)
    if n_arms == 1:
        return np.zeros(1)
    others = ~np.eye(n_arms, dtype=np.bool_)
    ends = np.where(others, high, -np.inf).max(axis=1)  # (M,) largest upper end of another arm
    above = np.where(low[None, :] > low[:, None], high[None, :], np.inf)  # (M, M) upper ends above low[j]
    nearest = above.min(axis=1)  # (M,)
    holder = above.argmin(axis=1)
    second = np.where(np.arange(n_arms)[None, :] == holder[:, None], np.inf, above).min(axis=1)
    # (M, M): how far up the next one can be when arm a is at low[j]
    next_end = np.where(np.arange(n_arms)[:, None] == holder[None, :], second[None, :], nearest[None, :])
    next_end = np.where(np.isinf(next_end), ends[:, None], next_end)
    possible = (low[None, :] >= low[:, None]) & (low[None, :] <= high[:, None])
    gaps: Array = np.where(possible, next_end - low[None, :], 0.0).max(axis=1)
    return np.maximum(gaps, 0.0)
