"""What a run knows after a round, for whoever listens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kabc.core.errors import ProtocolError
from kabc.core.evidence.pairs import Evidence
from kabc.results.forecast import more_samples
from kabc.strategies.answers import Round
from kabc.strategies.base import SetsAside, Strategy


@dataclass(frozen=True)
class Snapshot:
    """A run after one of its rounds.

    The fields cost nothing. The properties look at the strategy when they are first asked for, and are then kept. Ask
    while the snapshot is handed over: once the strategy is told more, a first look is refused.

    Attributes
    ----------
    round : Round
        What the strategy says of the round: number, error share, samples of an arm, groups seen.
    number : int
        The rounds of this run, counted from 1. A strategy that was run before has more.
    n_samples : int
        All samples drawn so far, those of a pilot too.
    spent : float
        Price of these samples.
    seconds : float
        Since the run began.
    """

    round: Round
    number: int
    n_samples: int
    spent: float
    seconds: float
    strategy: Strategy = field(repr=False, compare=False)
    n_told: int = field(repr=False)  # samples that the strategy was told

    @property
    def n_arms(self) -> int:
        """N."""
        return self.strategy.n_arms

    @property
    def n_pairs(self) -> int:
        """The number of all pairs of arms."""
        return math.comb(self.n_arms, 2)

    @cached_property
    def n_groups_at_least(self) -> int:
        """Certified lower bound on the number of groups."""
        return self._now().n_groups_at_least

    @cached_property
    def evidence(self) -> Evidence:
        """What speaks against each pair being the same."""
        return self._now().evidence()

    @cached_property
    def labels(self) -> tuple[int, ...]:  # (N,)
        """The groups as they would be if the run ended now: certified or a guess."""
        return self._now().recommend().labels

    @cached_property
    def n_told_apart(self) -> int:
        """Pairs told apart, certified."""
        return self.evidence.n_told_apart

    @cached_property
    def n_open(self) -> int | None:
        """Arms not yet told apart from a member of every other group, nor set aside; None if K is not known."""
        strategy = self._now()
        if strategy.n_clusters is None:
            return None
        aside = strategy.arms_set_aside if isinstance(strategy, SetsAside) else ()
        n_aside = sum(self.labels[arm] < 0 for arm in aside)
        return self.n_arms - n_aside - decided_arms(self.evidence, self.labels)

    @cached_property
    def forecast(self) -> int | None:
        """About how many samples are left, an estimate; None if nothing is left, or that cannot be told yet."""
        more = more_samples(self._now())
        return None if more is None else int(more.sum())

    def _now(self) -> Strategy:
        if self.strategy.n_samples != self.n_told:
            raise ProtocolError(
                f"the snapshot of round {self.round.number} is out of date: the strategy was told more samples; look "
                "at a snapshot in the call that hands it over"
            )
        return self.strategy


Listener = Callable[[Snapshot], None]


def decided_arms(evidence: Evidence, labels: tuple[int, ...]) -> int:
    """Arms that are told apart from a member of every other group."""
    groups = np.asarray(labels)
    belongs = groups[:, None] == np.arange(groups.max() + 1)  # (N, G)
    against = evidence.told_apart_from(belongs)
    decided = (against | belongs).all(axis=1) & (groups >= 0)  # -1: set aside, or without a sample
    return int(np.count_nonzero(decided)) if belongs.shape[1] > 1 else 0
