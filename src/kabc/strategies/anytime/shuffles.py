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
from itertools import pairwise
from typing import Any

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import FeatureMap, all_features
from kabc.core.scores.whitening import whitenings
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.learning import fitted_maps

LOOKS = (6, 8, 11, 15, 20, 27, 36, 48)  # samples of each arm
LEVELS = (1 / 64, 1 / 256, 1 / 1024)  # of p, each with the same share
ENOUGH = 100.0  # evidence after which no more looks are made
_STAGES = ((15, 3 / 8), (63, 1 / 16), (255, 1 / 32), (1023, 0.0))  # shuffles; more of them if p is at most this
_RIDGE = 0.1
_SHARPNESS = 0.9  # below 1: then no single p of a map decides alone
_TINIEST = 1e-26  # p of one feature map and group: about as far as the approximation goes
_AT_ONCE = 1 << 22  # numbers in memory
_FEW = 64  # samples of a group; of fewer, products take less time than means
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
        held = np.zeros(int(self._arms.max()) + 1, dtype=np.int64)
        for batch in batches:
            inside = batch.arms < len(held)
            held[batch.arms[inside]] += batch.counts[inside]
        fewest = int(held[self._arms].min())
        while self.next_look is not None and self.next_look <= fewest and self.evidence < ENOUGH:
            self.p_values.append(self._p_value(batches, self.next_look))

    def _p_value(self, batches: Sequence[Batch], n: int) -> float:
        samples, groups = _firsts(batches, self._arms, n), np.repeat(self._groups, n)
        maps = fitted_maps(_sorted(samples), self._maps, self._block)
        points = [_whitened(features, groups) for features in all_features(maps, samples)]
        rng = np.random.default_rng(n)  # shuffles do not depend on the samples
        p = 1.0
        for shuffles, small in _STAGES:
            p = _rank(points, groups, n, shuffles, rng)
            if p > small:
                break
        return p


def graded(p: float) -> float:
    """g(p). Its mean is at most 1 if P(p <= a) <= a for all a."""
    return sum(1 / level for level in LEVELS if p <= level) / len(LEVELS)


def _firsts(batches: Sequence[Batch], arms: Index, n: int) -> Array:  # (C,) -> (C n, d)
    """The first n samples of each arm, arm after arm."""
    samples, owners = np.concatenate([b.samples for b in batches]), np.concatenate([b.owners for b in batches])
    return np.asarray(samples[np.concatenate([np.flatnonzero(owners == arm)[:n] for arm in arms])])


def _sorted(samples: Array) -> Array:  # (n, d) -> (n, d)
    """Rows in an order that does not depend on how they are shuffled. What is fitted on them does not either."""
    return np.asarray(samples[np.lexsort(samples.T[::-1])])


def _whitened(features: Array, groups: Index) -> Array:  # (n, D), (n,) -> (n, D)
    """Features measured from the mean of their group, in units of the spread within groups."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))  # groups follow each other
    sizes = np.diff(starts, append=len(groups))
    centred = features - np.repeat(np.add.reduceat(features, starts) / sizes[:, None], sizes, axis=0)
    (whitening,) = whitenings(centred.T @ centred / len(centred), [_RIDGE], 0.0)  # no difference
    return whitening.whitened(centred)


def _rank(points: Sequence[Array], groups: Index, n: int, shuffles: int, rng: np.random.Generator) -> float:
    """p: the rank of T of the samples among that many shuffles within groups, and the samples themselves."""
    orders = np.argsort(groups + rng.random((shuffles + 1, len(groups))), axis=1)  # groups follow each other
    orders[0] = np.arange(len(groups))
    spread = _spreads(points, groups[::n], n, orders)  # (Q, shuffles + 1)
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


def _spreads(points: Sequence[Array], groups: Index, n: int, orders: Index) -> Array:  # M of (C n, D), (C,), (B, C n)
    """The largest variance along a line of the means of a group's arms: (G M, B), for each group of several arms."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()  # groups follow each other
    inside = [slice(*ends) for ends in pairwise([*starts, len(groups)]) if ends[1] - ends[0] > 1]
    few = [arms for arms in inside if n * (arms.stop - arms.start) <= _FEW]
    many = [arms for arms in inside if arms not in few]
    at_once = max(1, _AT_ONCE // max(one.size for one in points))
    parts = [orders[start : start + at_once] for start in range(0, len(orders), at_once)]
    found = [np.concatenate([_spread_of_few(points, arms, part, n) for part in parts], axis=1) for arms in few]
    if many:
        found.append(np.concatenate([_spread(points, many, _averages(part, n), len(groups)) for part in parts], axis=1))
    return np.concatenate(found)


def _spread_of_few(points: Sequence[Array], arms: slice, orders: Index, n: int) -> Array:  # (B, C n) -> (M, B)
    """The same for one group with few samples: from the products of its samples, of all maps at once."""
    own, n_arms = slice(n * arms.start, n * arms.stop), arms.stop - arms.start
    products = np.concatenate([one[own] @ one[own].T for one in points], axis=1)  # (m n, M m n)
    whose = np.empty((len(orders), n * n_arms), dtype=np.intp)  # the arm that has each sample
    np.put_along_axis(whose, orders[:, own] - own.start, np.arange(n * n_arms)[None] // n, axis=1)
    taken = (whose[:, None] == np.arange(n_arms)[:, None]) / n  # (B, m, m n), takes the means
    with_all = (taken.reshape(-1, n * n_arms) @ products).reshape(len(orders), n_arms * len(points), -1)
    tables = (with_all @ taken.transpose(0, 2, 1)).reshape(len(orders), n_arms, len(points), n_arms)
    return _largest(tables.transpose(2, 0, 1, 3))


def _spread(points: Sequence[Array], inside: Sequence[slice], averages: Any, n_arms: int) -> Array:
    found = []
    for one in points:
        means = (averages @ one).reshape(-1, n_arms, one.shape[1])  # (B, C, D)
        for arms in inside:
            some = means[:, arms]
            found.append(_largest(some @ some.transpose(0, 2, 1)))
    return np.array(found)


def _largest(tables: Array) -> Array:  # (..., m, m) -> (...)
    """The largest eigenvalue of products of points whose sum is 0.

    One eigenvalue is 0. Those of three others follow from the traces of the first three powers of the table.
    """
    if tables.shape[-1] > 4:
        return np.asarray(np.linalg.eigvalsh(tables)[..., -1])
    first = np.trace(tables, axis1=-2, axis2=-1) / 3
    second = np.square(tables).sum(axis=(-2, -1))
    third = (tables @ tables * tables).sum(axis=(-2, -1))
    spread = np.sqrt(np.maximum(second / 3 - np.square(first), 0.0) / 2)
    skew = third - 3 * first * second + 6 * first**3
    angle = np.divide(skew, 6 * spread**3, out=np.ones_like(skew), where=spread > _ROUNDING * first)
    return np.asarray(first + 2 * spread * np.cos(np.arccos(np.clip(angle, -1.0, 1.0)) / 3))


def _averages(orders: Index, n: int) -> Any:  # (B, C n) -> (B C, C n), sparse
    """A table that takes the mean of every n points that follow each other, in each order."""
    from scipy.sparse import csr_array  # loaded on first use

    each = np.arange(0, orders.size + 1, n)
    return csr_array((np.full(orders.size, 1 / n), orders.ravel(), each), shape=(len(each) - 1, orders.shape[1]))
