"""The error probability, counted: how often a strategy says what is not true."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from kabc.core.partitions import Partition
from kabc.strategies.base import Request, Strategy

_SURE = 0.999  # a strategy that is wrong with probability exactly delta passes with at least this one


def most_errors(runs: int, delta: float) -> int:
    """So many wrong runs are still likely enough at an error probability of delta."""
    from scipy.stats import binom

    return int(binom.ppf(_SURE, runs, delta))


def played(strategy: Strategy, samples: Callable[[Request, int], object], most: int) -> Strategy:
    """Run it until it stops or would take more samples than that."""
    told = 0
    for number in count():
        request = {} if strategy.stopped else strategy.ask()
        told += sum(request.values())
        if not request or told > most:
            return strategy
        strategy.tell(samples(request, number))  # type: ignore[arg-type]
    return strategy


def untruth(strategy: Strategy, truth: Partition) -> str:
    """What it claims that is not true; empty if there is nothing."""
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
