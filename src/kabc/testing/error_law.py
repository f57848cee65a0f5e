"""Counts how often a strategy claims something false, to check its error probability."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from kabc.core.partitions import Partition
from kabc.strategies.base import Request, Strategy

_SURE = 0.999  # a strategy that is wrong with probability exactly delta passes with at least this probability


def most_errors(runs: int, delta: float) -> int:
    """The largest number of wrong runs that is still plausible at an error probability of delta."""
    from scipy.stats import binom

    return int(binom.ppf(_SURE, runs, delta))


def played(strategy: Strategy, samples: Callable[[Request, int], object], most: int) -> Strategy:
    """Run the strategy until it stops or would take more than `most` samples."""
    told = 0
    for number in count():
        request = {} if strategy.stopped else strategy.ask()
        told += sum(request.values())
        if not request or told > most:
            return strategy
        strategy.tell(samples(request, number))  # type: ignore[arg-type]
    return strategy


def untruth(strategy: Strategy, truth: Partition) -> str:
    """The first false claim of the strategy, in words. Empty if there is none."""
    labels = truth.labels
    told = strategy.evidence().told_in_round > 0
    for i in range(len(labels)):
        for j in range(i):
            if told[i, j] and labels[i] == labels[j]:
                return f"it told arms {j} and {i} apart, which are equal"
    if strategy.n_groups_at_least > truth.n_groups:
        return f"it claims at least {strategy.n_groups_at_least} groups, but there are {truth.n_groups}"
    found = strategy.recommend()
    if found.certified and not found.matches(truth):
        return f"it certified the groups {found.labels}, but they are {labels}"
    return ""
