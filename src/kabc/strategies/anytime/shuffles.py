"""Looks at the first samples of each arm: do the arms of a group differ more than after shuffling them?

| symbol | here        | meaning                                                                                       |
|--------|-------------|-----------------------------------------------------------------------------------------------|
| D      | `labels`    | the partition in doubt, of the arms that the run started with                                 |
| n_k    | `LOOKS`     | look k is at the first n_k samples of each of these arms that is not alone in its group       |
| T      |             | how much the arms of a group differ, over all groups and feature maps                         |
| p_k    | `p_values`  | part of the shuffled samples whose T is at least that of the samples, these included          |
| S_D    | `evidence`  | sum of g(p_k) / len(LOOKS) over the looks so far, with g(p) the mean of 1{p <= a} / a         |

If all arms of each group of D are the same, samples may be shuffled within groups. So each g(p_k) has mean at most 1,
and S_D, which never falls, ever reaches 20 with probability at most 5 % (docs/theory.md, section 17). Bets must first
learn what to bet on. A look compares all samples at once, so it sees more in short runs. Bets see more in long ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import FeatureMap, all_features
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.spreads import Spreads
from kabc.strategies.anytime.teaching import fitted_maps

LOOKS = (6, 8, 11, 15, 20, 27, 36, 48)  # samples of each arm
LEVELS = (1 / 64, 1 / 256, 1 / 1024)  # of p, each with the same share
ENOUGH = 100.0  # evidence after which no more looks are made
_STAGES = ((15, 3 / 8), (63, 1 / 16), (255, 1 / 32), (1023, 0.0))  # shuffles; more of them if p is at most this
_SHARPNESS = 0.9  # below 1: then no single p of a map decides alone
_TINIEST = 1e-26  # p of one feature map and group: about as far as the approximation goes
_ROUNDING = 1e-9


class Shuffles:
    """The looks at one fixed partition, each made once all arms have enough samples."""

    def __init__(
        self, arms: Index, groups: Index, maps: Sequence[FeatureMap] | None, block: int = 1
    ) -> None:  # (C,), (C,), -1: in no group
        self.groups = groups
        self.p_values: list[float] = []
        several = np.bincount(groups + 1)[groups + 1] > 1  # an arm alone cannot be shuffled with others
        order = np.argsort(groups, kind="stable")  # group after group
        order = order[several[order]]
        self._arms, self._groups = arms[order], groups[order]
        self._maps, self._block = maps, block
        self._able = bool((groups >= 0).all() and several.any())

    @property
    def arms(self) -> Index:
        """The arms that are looked at, ascending: those that are not alone in their group."""
        return np.sort(self._arms)

    @property
    def evidence(self) -> float:
        """S_D now."""
        return sum(graded(p) for p in self.p_values) / len(LOOKS)

    @property
    def next_look(self) -> int | None:
        """Samples of each arm at the next look; None if there is none."""
        done = len(self.p_values)
        return LOOKS[done] if self._able and done < len(LOOKS) else None

    def follow(self, batches: Sequence[Batch]) -> None:
        """Make all looks for which there are samples; `batches` are all rounds so far."""
        if self.next_look is None:
            return
        arms, counts = np.concatenate([b.arms for b in batches]), np.concatenate([b.counts for b in batches])
        held = np.bincount(arms, counts, minlength=int(self._arms.max()) + 1)
        fewest = min(int(held[self._arms].min()), LOOKS[-1])
        if self.next_look > fewest:
            return
        firsts = _firsts(np.concatenate([b.samples for b in batches]), np.repeat(arms, counts), self._arms, fewest)
        while self.next_look is not None and self.next_look <= fewest and self.evidence < ENOUGH:
            self.p_values.append(self._p_value(firsts[:, : self.next_look]))

    def _p_value(self, firsts: Array) -> float:  # (C, n, d)
        samples = firsts.reshape(-1, firsts.shape[2])
        maps = fitted_maps(_sorted(samples), self._maps, self._block)
        spreads = Spreads(all_features(maps, samples), self._groups, firsts.shape[1])
        rng = np.random.default_rng(firsts.shape[1])  # shuffles do not depend on the samples
        p = 1.0
        for shuffles, small in _STAGES:
            p = _rank(spreads, shuffles, rng)
            if p > small:
                break
        return p


def graded(p: float) -> float:
    """g(p). Its mean is at most 1 if P(p <= a) <= a for all a."""
    return sum(1 / level for level in LEVELS if p <= level) / len(LEVELS)


def _firsts(samples: Array, owners: Index, arms: Index, n: int) -> Array:  # (s, d), (s,), (C,) -> (C, n, d)
    """The first n samples of each arm."""
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], arms)
    return np.asarray(samples[order[starts[:, None] + np.arange(n)]])


def _sorted(samples: Array) -> Array:  # (n, d) -> (n, d)
    """Rows in an order that does not depend on how they are shuffled. What is fitted on them does not either."""
    found = samples[np.argsort(samples[:, 0])]
    if (found[1:, 0] > found[:-1, 0]).all():
        return np.asarray(found)
    return np.asarray(samples[np.lexsort(samples.T[::-1])])


def _rank(spreads: Spreads, shuffles: int, rng: np.random.Generator) -> float:
    """p: the rank of T of the samples among that many shuffles within groups, and the samples themselves."""
    groups = spreads.groups  # (C n,), of the samples
    orders = np.argsort(groups + rng.random((shuffles + 1, len(groups))), axis=1)  # groups follow each other
    orders[0] = np.arange(len(groups))
    spread = spreads.after(orders)  # (Q, shuffles + 1)
    centre, variance = spread.mean(axis=1, keepdims=True), spread.var(axis=1, keepdims=True)
    varied = (variance > 1e-20 * np.square(centre))[:, 0]
    if not varied.any():
        return 1.0
    spread, centre, variance = spread[varied], centre[varied], variance[varied]
    # Spreads of shuffled samples are about gamma distributed. This only puts maps and groups on one scale.
    from scipy.special import gammaincc  # loaded on first use

    tail = np.maximum(gammaincc(np.square(centre) / variance, spread * centre / variance), _TINIEST)
    total = np.power(tail, -_SHARPNESS).sum(axis=0)  # T
    return float(np.mean(total >= total[0] * (1 - _ROUNDING)))
