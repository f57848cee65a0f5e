"""The state of a run: the books of both phases, and the arms to draw next.

Samples change it as `inference.py` says. The two phases, and the files that hold their parts, are described in
`strategy.py`.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.partitions.forced import Forced
from kabc.strategies.answers import Status
from kabc.strategies.anytime import pace, screening
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.check import KCheck
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.anytime.relief import asked_about
from kabc.strategies.anytime.representatives import Representatives
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.shares import ErrorShares
from kabc.strategies.anytime.stalling import Stalling
from kabc.strategies.anytime.wealth import Wealth
from kabc.strategies.base import Request

FEWEST = 32  # samples of an arm, that count as held before the first one runs dry


class State:
    """The books of a run. Samples and counts are those of blocks, where samples are blocks."""

    def __init__(
        self,
        n_clusters: int | None,
        delta: float,
        order: Index,  # (N,)
        learning: Learning,
        check: KCheck | None,
        stalling: Stalling | None,
    ) -> None:
        self.n_arms, self.n_clusters, self.delta = len(order), n_clusters, delta
        self.learning, self.check, self.stalling = learning, check, stalling
        self.status: Status | None = None
        self.assignment: Assignment | None = None  # the second phase, once the partition of the core is settled
        self.standing: Representatives | None = None  # of the second phase
        self.at_least = 1  # certified lower bound on the number of groups
        # groups in the core, when it was last looked outside
        self.groups_found: Index = np.full(self.n_arms, -1, dtype=np.intp)
        self.met: tuple[int, ...] = ()  # an arm of each of these groups, pairwise told apart
        self.dry: Mask = np.zeros(self.n_arms, dtype=np.bool_)  # arms that cannot be drawn any more
        self.search: screening.Search | None = None  # of arms that stood out
        self.look: screening.Look | None = None  # for arms outside that fit into no group
        self.held_before = FEWEST  # the most samples of an arm when the last one was set aside
        self._last_forced: tuple[list[int], Mask, Forced] | None = None  # known places, pairs told apart, what follows
        self._begin(order)

    def _begin(self, order: Index) -> None:
        """Before the first sample: the books of these arms."""
        self.shares = ErrorShares(self.delta, len(order), self.n_clusters)
        self.core = Core.first(order, self.n_clusters)
        self.wealth = self._opened(Wealth.none(self.n_arms))
        self.review = Review(self.shares, self.core.arms)
        self.learning.begin(self.core.arms, self.n_clusters)
        if self.check is not None:
            self.check.start(self.core.arms, self.core.order)

    def _opened(self, wealth: Wealth) -> Wealth:
        """The books with the arms of this stage's core."""
        return wealth.widened(self.core.arms, self.shares.pair_limit(self.core.size, self.core.stage))

    # ------------------------------------------------------------ what to draw

    def request(self, more: Array | None = None) -> Request:  # (N,)
        """What to draw next; `more`: about how many more samples of each arm it takes, if that can be told."""
        counts = self.learning.counts
        if self.assignment is not None and not self.assignment.decided:
            wanted = self.assignment.request(counts)
            return dict.fromkeys(wanted, min(wanted.values())) if self.learning.paired else wanted
        if self.check is not None and not self.review.doubted:
            in_doubt = self.check.request(counts, self.dry)
            if in_doubt:
                return in_doubt
        if self.look is not None:
            return {arm: self.look.samples - int(counts[arm]) for arm in np.sort(self._not_looked_at).tolist()}
        arms = self._core_arms()
        most = 0.0 if more is None else float(more[arms].max())
        return dict.fromkeys(arms.tolist(), pace.core_block(int(counts[arms].min()), most or math.inf))

    @property
    def _outside(self) -> Index:
        """Arms outside the core that can be drawn."""
        arms = self.core.order[self.core.size :]
        return arms[~self.dry[arms]]

    @property
    def _not_looked_at(self) -> Index:
        """Arms that have too few samples for the look."""
        if self.look is None:
            return self._outside[:0]
        arms = self.look.arms[~self.dry[self.look.arms]]
        return arms[self.learning.counts[arms] < self.look.samples]

    def _core_arms(self) -> Index:
        """Arms of the core to sample next: those that the claim needs, all where there is no claim to trust."""
        if self.search is not None and not self.dry[self.search.arms].any():
            return np.sort(self.search.wanted(self.wealth.apart_among(self.search.arms)))
        trusted = self.review.trusted
        wanted = None if trusted is None else trusted.wanted(self._apart(trusted), self.dry)
        return np.sort(self.live) if wanted is None or not len(wanted) else wanted

    def _apart(self, claim: Claim | None) -> Mask:  # -> (A, A)
        """Pairs told apart among the arms of a claim."""
        return self.wealth.apart_among(self.core.arms[:0] if claim is None else claim.arms)

    @property
    def live(self) -> Index:
        """Arms of the core that can be drawn."""
        arms = self.core.arms
        return arms[~self.dry[arms]]

    @property
    def in_core(self) -> Mask:  # (N,)
        """Whether each arm is one of the core."""
        inside = np.zeros(self.n_arms, dtype=np.bool_)
        inside[self.core.arms] = True
        return inside

    @property
    def asked_about(self) -> Index:
        """Arms of the core whose partition is looked for."""
        arms = self.core.arms
        return asked_about(arms, self.dry, self.wealth.apart, self.review.claim) if self.dry[arms].any() else arms
