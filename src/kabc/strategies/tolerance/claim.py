"""A claim: "each arm is within the tolerance of its group, and groups differ", fixed before the samples that prove it.

| symbol | here        | meaning                                                                                    |
|--------|-------------|--------------------------------------------------------------------------------------------|
| C      | `labels`    | the claimed groups; -1: arms that it is not about                                          |
| R_g    | `pools`     | arms of group g that answer for it: all of them, or some of many. Fixed with the claim     |
| z_i    |             | features of a sample of arm i, minus the mean over samples of the arms of R_g without i    |
| (i, h) | `across`    | arm i of one group is said to differ from the pool of group h, taken together              |
| k      | `number`    | the claim is the k-th one                                                                  |

If the claim is false, some arm i is farther than eps from its pool, or is the average of a pool that it is said to
differ from. That statement alone would have to be shown by luck. So every statement is tested at the full level,
without a union over arms (docs/theory.md, section 25).
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence.sameness import SameBets
from kabc.strategies.tolerance.pools import PoolRound, PoolWealth
from kabc.strategies.tolerance.ruler import Ruler

WHOLE = 12  # groups up to this size answer with all of their arms


class SameClaim:
    """The statements of one claim, and the evidence for them since it was made.

    `across` has an arm and a group in each row: the arm differs from the group, taken together.
    """

    def __init__(self, labels: Index, number: int, alpha: float, ruler: Ruler, across: Index) -> None:  # (N,), (S, 2)
        self.labels, self.number, self.alpha, self._ruler = labels, number, alpha, ruler
        self.across, self._differ = across, PoolWealth(len(across))
        self.proven_at: int | None = None  # samples of an arm when it was seen to be proven, if it had to wait
        self.same_at: int | None = None  # samples of an arm when all arms were proven to be near their groups
        self.pools = {group: pool_of(labels, group) for group in range(int(labels.max()) + 1)}
        sizes = np.bincount(labels[labels >= 0])
        self.about = np.flatnonzero((labels >= 0) & (sizes[labels] > 1))  # arms with a statement
        self._place = np.full(len(labels), -1, dtype=np.intp)
        self._place[self.about] = np.arange(len(self.about))
        self.margins = np.full(len(labels), np.inf)  # (N,), the smallest certified so far
        self._bets: SameBets | None = None
        if len(self.about):
            opponents = np.array([len(self.opponents(arm)) for arm in self.about.tolist()])
            self._bets = SameBets(
                len(self.about),
                ruler.n_features,
                ruler.sup,
                ruler.eps,
                alpha,
                ruler.covariance * (1 + 1 / float(np.median(opponents))),
            )

    @property
    def limit(self) -> float:
        """Log evidence that proves a statement."""
        return -math.log(self.alpha)

    def opponents(self, arm: int) -> Index:
        """The pool of this arm: the arms that answer for its group, without itself."""
        pool = self.pools[int(self.labels[arm])]
        return np.asarray(pool[pool != arm], dtype=np.intp)

    @property
    def open(self) -> Mask:  # (N,)
        """Arms whose statement is not proven yet."""
        found = np.zeros(len(self.labels), dtype=np.bool_)
        found[self.about] = self.margins[self.about] >= self._ruler.eps
        return found

    @property
    def same(self) -> bool:
        """Whether every arm is proven to be within the tolerance of its group."""
        return not self.open.any()

    @property
    def differ(self) -> Mask:  # (S,)
        """Which of `across` are proven."""
        return np.asarray(self._differ.best >= self.limit)

    @property
    def proven(self) -> bool:
        """Whether all that it says is proven."""
        return self.same and bool(self.differ.all())

    def wanted(self) -> Index:
        """Arms to draw: those with an open statement, and those that answer for the groups."""
        chosen = self.open
        asked = set(self.labels[chosen].tolist())
        for arm, group in self.across[~self.differ].tolist():
            chosen[arm] = True
            asked.add(group)
        for group in asked:
            chosen[self.pools[group]] = True
        return np.flatnonzero(chosen)

    def n_bets(self, arm: int) -> int:
        """Samples that were bet on for this arm since the claim was made."""
        return 0 if self._bets is None or self._place[arm] < 0 else int(self._bets.counts[self._place[arm]])

    def bet_on_differences(self, drawn_now: PoolRound) -> None:
        """Bet on a round with what was learned before it: arms against other groups."""
        drawn = np.isin(self.across[:, 0], drawn_now.lesson.batch.arms) & ~self.differ
        for group in np.unique(self.across[drawn, 1]).tolist():
            which = np.flatnonzero(drawn & (self.across[:, 1] == group))
            found = drawn_now.against(self.across[which, 0], self.pools[group])
            if found is not None:
                self._differ.bet(which, found)

    def bet(self, arms: Index, features: Array) -> None:  # (A,), (A, b, D)
        """Bet on a round: `features` of b samples of each of these arms."""
        if self._bets is None:
            return
        place = np.full(len(self.labels), -1, dtype=np.intp)
        place[arms] = np.arange(len(arms))
        still, which, made = self.open, [], []
        for pool in self.pools.values():
            if len(pool) < 2 or (place[pool] < 0).any():
                continue
            total = features[place[pool]].sum(axis=0)  # (b, D)
            group = int(self.labels[pool[0]])
            for arm in arms[(self.labels[arms] == group) & still[arms]].tolist():
                own = features[place[arm]]
                inside = arm in pool
                made.append(own - (total - own * inside) / (len(pool) - inside))
                which.append(self._place[arm])
        if which:
            self._bets.bet(np.array(which), np.stack(made))
            best = self._bets.best(self.limit, below=self._ruler.eps)
            self.margins[self.about] = np.minimum(self.margins[self.about], best)


def pool_of(labels: Index, group: int) -> Index:  # (N,)
    """The arms that answer for a group: all of a small one, about a square root of a large one."""
    members = np.flatnonzero(labels == group)
    return members if len(members) <= WHOLE else members[: WHOLE + math.isqrt(len(members) - WHOLE)]


def across_of(labels: Index, apart: Mask) -> Index:  # (N,), (N, N) -> (S, 2)
    """What a claim of these groups must show beside sameness: arms and the groups that they are not told apart from.

    Of two groups with pairs that are not told apart, the arms of the smaller one are compared with the larger one.
    """
    sizes = np.bincount(labels[labels >= 0])
    found = []
    for arm in np.flatnonzero(labels >= 0).tolist():
        own = int(labels[arm])
        open_groups = np.unique(labels[(labels >= 0) & (labels != own) & ~apart[arm]])
        found += [(arm, h) for h in open_groups.tolist() if (sizes[own], h) < (sizes[h], own)]
    return np.array(found, dtype=np.intp).reshape(-1, 2)
