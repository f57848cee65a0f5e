"""ATBOC, LUCBBOC, BOC-Elim: Chandran, Reddy and Bhashyam, Online Clustering with Bandit Information, arXiv 2501.11421.

Peers of KABC for Gaussian arms with known covariance sigma^2 I that look for another partition: the single-linkage
clustering of the means into K groups. Arms of a group may differ, as long as it hangs together by distances smaller
than those between groups.

These are reconstructions: targets, shapes of the algorithms and the elimination rule's origin (MaxGapElim; Katariya,
Tripathy and Nowak, 2019) are the authors', thresholds and constants are ours, with proofs below. So costs need not be
the published ones.

| symbol       | here               | meaning                                                                        |
|--------------|--------------------|--------------------------------------------------------------------------------|
| M, K, d      | `n_arms`, ...      | arms, groups, columns of a sample                                              |
| N_m          | `counts`           | samples of arm m                                                               |
| mu_hat_m     | `means`     (M, d) | empirical mean of arm m, in units of sigma                                     |
| D_ij         | `distances` (M, M) | distances of the empirical means                                               |
| C            | `labels`           | SLINK_K(mu_hat): spanning tree of the D_ij without its K - 1 longest edges     |
| e = (a, b)   | `tree`             | edges that are left, within groups                                             |
| p = (i, j)   |                    | pairs of arms of different groups                                              |
| inner(w, mu) | `_alternative`     | cost of the nearest means with another single-linkage clustering, at weights w |
| beta         | `proven_threshold` | bound of sum of N_m ||mu_hat_m - mu_m||^2 / 2 for all times (boc.py)           |
| R_m          | `_radius`          | bound of ||mu_hat_m - mu_m|| for all times and arms: sqrt(2 beta / N_m) of one |

Why they are right. (1) C is the clustering of any means for which some spanning trees of its groups have only edges
shorter than all distances between groups. (2) ATBOC: where means lambda are clustered otherwise, the tree has an edge e
and there is a pair p with |lambda_a - lambda_b| >= |lambda_i - lambda_j|. Distances of arms change by no more than
these are moved, so sum of c_m |lambda_m - mu_m| >= D_p - D_e, c_m = 1, or 2 for an arm of both. By Cauchy's inequality
the cost is at least inner = min over e, p of (D_p - D_e)^2 / (2 sum of c_m^2 / w_m), exactly that in one dimension
where nothing is in the way. If it is above beta the true means are none of these lambda. (3) LUCBBOC: see (1), with
distances bounded by D_ij +- (R_i + R_j). (4) BOC-Elim: see (1), with gaps between intervals.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts
from kabc.core.errors import SampleError, SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, evidence_of_means, in_units
from kabc.strategies.peers.boc import compiled, proven_threshold, raised

Proportions = Literal["solved", "gradient"]

_NEAREST = 1e-10  # squared gap, of the largest one: below, it makes no difference to the shares
_MOST_STEPS = 300  # of the inner problem; it ends when it is within 1 %
_ACCURACY = 0.01


# ---------------------------------------------------------------- single linkage, and its nearest alternative


def _linkage(distances: Array, n_groups: int) -> tuple[Counts, Counts]:  # (M, M) -> (M,), (M - K, 2)
    """SLINK_K: labels, and the edges within groups of the minimum spanning tree (Prim)."""
    n_arms = len(distances)
    joins, parents, lengths = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), np.full(n_arms, np.inf)
    near, outside = np.full(n_arms, np.inf), np.ones(n_arms, np.bool_)
    arm = 0
    for step in range(n_arms):
        outside[arm] = False
        joins[step] = arm
        lengths[step] = near[arm]
        closest = -1
        for other in range(n_arms):
            if outside[other]:
                if distances[arm, other] < near[other] or near[other] == np.inf:
                    near[other] = distances[arm, other]
                    parents[other] = arm
                if closest < 0 or near[other] < near[closest]:
                    closest = other
        arm = closest
    cut = np.argsort(-lengths)[:n_groups]  # the first arm, which hangs from nothing, and the K - 1 longest edges
    starts = np.zeros(n_arms, np.bool_)
    for step in cut:
        starts[step] = True
    labels, tree = np.zeros(n_arms, np.int64), np.zeros((n_arms - n_groups, 2), np.int64)
    group, edge = 0, 0
    for step in range(n_arms):
        if starts[step]:
            labels[joins[step]] = group
            group += 1
        else:
            labels[joins[step]] = labels[parents[joins[step]]]
            tree[edge, 0], tree[edge, 1] = parents[joins[step]], joins[step]
            edge += 1
    return labels, tree


def _worst(  # (M, M), (M,), (M - K, 2), (M,) -> value, 4 arms, squared gap
    distances: Array, labels: Counts, tree: Counts, y: Array, floor: float
) -> tuple[float, int, int, int, int, float]:
    """The edge and the pair with the largest sum of c_m^2 y_m / (D_p - D_e)^2, y = 1/w; 0 where there are none."""
    n_arms = len(labels)
    value, a_, b_, i_, j_, gap_ = 0.0, 0, 0, 0, 0, 1.0
    for edge in range(len(tree)):
        a, b = tree[edge, 0], tree[edge, 1]
        for i in range(n_arms):
            for j in range(i + 1, n_arms):
                if labels[i] != labels[j]:
                    total = y[a] + y[b] + y[i] + y[j]
                    if a in (i, j):
                        total += 2 * y[a]  # c^2 = 4
                    if b in (i, j):
                        total += 2 * y[b]
                    gap = max(max(distances[i, j] - distances[a, b], 0.0) ** 2, floor)
                    if total > value * gap:
                        value = total / gap if gap > 0 else np.inf
                        a_, b_, i_, j_, gap_ = a, b, i, j, gap
    return value, a_, b_, i_, j_, gap_


def _alternative(distances: Array, labels: Counts, tree: Counts, w: Array) -> float:  # (M, M), (M,), (M - K, 2), (M,)
    """inner(w, mu_hat); infinite where there is no other partition."""
    value = _worst(distances, labels, tree, 1 / w, 0.0)[0]
    return 1 / (2 * value) if value > 0 else np.inf


def _shares(distances: Array, labels: Counts, tree: Counts) -> Array:  # (M, M), (M,), (M - K, 2) -> (M,)
    """w*: maximises inner over the simplex, to 1 %, by the Frank-Wolfe method on the dual.

    With A_cm = c_m^2 / (D_p - D_e)^2 for c = (e, p), min over w of max over c of sum of A_cm / w_m is the square of the
    largest sum of sqrt(s_m), s in the convex hull of the rows of A, and w is proportional to sqrt(s).
    """
    n_arms = len(labels)
    farthest = distances.max()
    s, y = np.zeros(n_arms), np.ones(n_arms)
    for step in range(_MOST_STEPS):
        value, a, b, i, j, gap = _worst(distances, labels, tree, y, _NEAREST * farthest**2)
        root = np.sqrt(s).sum()
        if value == 0 or farthest == 0 or (step > 0 and value <= (1 + _ACCURACY) * root**2):
            break
        row = np.zeros(n_arms)
        for arm in (a, b, i, j):
            row[arm] += 1
        s = s + (2 / (step + 2)) * (row**2 / gap - s)
        root = np.sqrt(s).sum()
        for arm in range(n_arms):
            y[arm] = root / math.sqrt(s[arm]) if s[arm] > 0 else np.inf
    weights: Array = np.sqrt(s) if s.any() else np.ones(n_arms)
    weights /= weights.sum()
    return weights


def _slope(distances: Array, labels: Counts, tree: Counts, w: Array) -> Array:  # ..., (M,) -> (M,)
    """Gradient of log inner at w."""
    _, a, b, i, j, _ = _worst(distances, labels, tree, 1 / w, _NEAREST * distances.max() ** 2)
    row = np.zeros(len(w))
    for arm in (a, b, i, j):
        row[arm] += 1
    slope: Array = row**2 / w**2 / (row**2 / w).sum()
    return slope


def _critical(  # (M, M), (M,), (M,) -> intra, its arms, inter, its arms
    distances: Array, labels: Counts, radii: Array
) -> tuple[float, int, int, float, int, int]:
    """The longest edge of the groups' spanning trees of upper bounds, and the shortest lower bound between groups."""
    n_arms = len(labels)
    intra, a, b, inter, i, j = -np.inf, -1, -1, np.inf, -1, -1
    near, parents, outside = np.full(n_arms, np.inf), np.full(n_arms, -1), np.ones(n_arms, np.bool_)
    for _ in range(n_arms):
        arm = -1
        for other in range(n_arms):  # one tree after the other: a new one begins where nothing is near
            if outside[other] and (arm < 0 or near[other] < near[arm]):
                arm = other
        outside[arm] = False
        if parents[arm] >= 0 and near[arm] > intra:
            intra, a, b = near[arm], parents[arm], arm
        for other in range(n_arms):
            reach = radii[arm] + radii[other]
            if labels[other] != labels[arm]:
                if distances[arm, other] - reach < inter:
                    inter, i, j = distances[arm, other] - reach, arm, other
            elif outside[other] and distances[arm, other] + reach < near[other]:
                near[other] = distances[arm, other] + reach
                parents[other] = arm
    return intra, a, b, inter, i, j


class _Loops(NamedTuple):
    linkage: Callable[[Array, int], tuple[Counts, Counts]]
    alternative: Callable[[Array, Counts, Counts, Array], float]
    shares: Callable[[Array, Counts, Counts], Array]
    slope: Callable[[Array, Counts, Counts, Array], Array]
    critical: Callable[[Array, Counts, Array], tuple[float, int, int, float, int, int]]


@cache
def _loops() -> _Loops:
    """The functions above, compiled."""
    return _Loops(*compiled(_linkage, _alternative, _shares, _slope, _critical, using=(_worst,)))


# ---------------------------------------------------------------- what the three share


class _SingleLinkage(Stepwise):
    """Means and their distances, kept up to date sample by sample; when to stop and what to draw is for subclasses."""

    kernel = None
    one_blas_thread = True
    _name: str
    _most_columns: int | None = None

    def __init__(self, n_arms: int, n_clusters: int, delta: float, sigma: float) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.sigma = positive_number("sigma", sigma)
        # --- state: what the next step needs, and what people look at
        self._next = all_arms(self.n_arms, 1)
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._means: Array = np.zeros((self.n_arms, 0))
        self._distances = np.zeros((self.n_arms, self.n_arms))
        self._labels = np.zeros(self.n_arms, dtype=np.int64)

    @abstractmethod
    def _judge(self, told: list[int]) -> Request:
        """Labels, and what to draw next; nothing when it is decided. `told` are the arms with new samples."""

    @abstractmethod
    def _rules(self) -> tuple[str, ...]:
        """Sampling and stopping in words."""

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self.stopped else 1

    def _request(self) -> Request:
        return self._next

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, self._means.shape[1] if self._rounds else None)
        assert self._asked is not None
        self._expect_few_columns(rows[0].shape[1])
        points = np.concatenate(in_units(rows, self.sigma))
        # Nothing above changed the state; nothing below can fail.
        if not self._rounds:
            self._means = np.zeros((self.n_arms, points.shape[1]))
        told = list(self._asked)
        self._take(rows)
        for arm, point in zip(told, points, strict=True):  # rounds draw one sample of an arm
            self._counts[arm] += 1
            self._means[arm] += (point - self._means[arm]) / self._counts[arm]
        for arm in told:
            self._distances[arm] = np.sqrt(((self._means - self._means[arm]) ** 2).sum(axis=1))
            self._distances[:, arm] = self._distances[arm]
        self._next = self._judge(told)
        if not self._next:
            self._status = "decided"
        self._close_round(int(self._counts.max()), self.n_clusters if self.stopped else 1)

    def _expect_few_columns(self, d: int) -> None:
        if self._most_columns is not None and d > self._most_columns:
            raise SampleError(f"BOC-Elim compares numbers, and samples have {d} columns; use 'lucbboc' for vectors")

    def _radius(self, arm: int) -> float:
        """R_m: with probability 1 - delta all means are this near to the truth, at all times."""
        beta = proven_threshold(self._counts[arm : arm + 1], self._means.shape[1], self.delta / self.n_arms)
        return math.sqrt(2 * beta / self._counts[arm])

    def recommend(self) -> Partition:
        return Partition(tuple(self._labels.tolist()), certified=self.stopped)

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told = self._labels[:, None] != self._labels[None, :] if self.stopped else False
        told_in_round = np.where(told, len(self._rounds), np.zeros((self.n_arms, self.n_arms), dtype=np.int64))
        return evidence_of_means(told_in_round, self._counts.copy(), self.sigma * self._distances)

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"{self._name}(delta = {self.delta:g}, K = {self.n_clusters}), a reconstruction",
            claim=f"with probability at least {1 - self.delta:g} the partition is right when it stops.",
            assumptions=(
                f"samples are independent and Gaussian, with covariance sigma^2 I, sigma = {self.sigma:g}",
                f"groups are the single-linkage clustering of the means into {self.n_clusters}; arms of one may differ",
                "differences of distributions with equal means are not seen",
            ),
            rule=(
                "reconstructed from the abstract: thresholds and constants are not the authors', and proven here",
                "the first round draws one sample of each arm",
                *self._rules(),
            ),
        )


# ---------------------------------------------------------------- ATBOC


class ATBOC(_SingleLinkage):
    """Average Tracking Bandit Online Clustering, reconstructed: single linkage of the means, wrong at most with delta.

    After the first round one sample of one arm a round: an arm with fewer than sqrt(t/M) samples, or the one furthest
    behind the average of the best proportions so far.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    proportions : "solved" in every round, or "gradient": one step uphill a round, as in EBC of the same authors
        (arXiv 2601.09162), with a step of ours.
    sigma : known standard deviation of every coordinate; an upper bound where it is not known.

    Time of a round is O(N^3), a hundred times over where proportions are solved; memory is O(N (N + d)).
    """

    _name = "ATBOC"

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        proportions: Proportions = "solved",
        sigma: float = 1.0,
    ) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        if proportions not in get_args(Proportions):
            raise SettingsError(f"proportions must be 'solved' or 'gradient', got {proportions!r}")
        self.proportions = proportions
        self._shares: Array = np.full(self.n_arms, 1 / self.n_arms)  # w
        self._sum_of_shares = np.zeros(self.n_arms)

    def _judge(self, told: list[int]) -> Request:
        loops = _loops()
        self._labels, tree = loops.linkage(self._distances, self.n_clusters)
        beta = proven_threshold(self._counts, self._means.shape[1], self.delta)
        if loops.alternative(self._distances, self._labels, tree, self._counts.astype(np.float64)) > beta:
            return {}
        if self.proportions == "solved":
            self._shares = loops.shares(self._distances, self._labels, tree)
        else:
            slope = loops.slope(self._distances, self._labels, tree, self._shares)
            step = 1 / math.sqrt(len(self._rounds) + 1)
            least = 0.01 / self.n_arms  # a share of 0 has no slope
            self._shares = raised(self._shares + step * slope / float(np.linalg.norm(slope)), least)
        self._sum_of_shares += self._shares
        fewest = int(self._counts.argmin())
        if self._counts[fewest] < math.sqrt(self._n_samples / self.n_arms):
            return {fewest: 1}
        average = self._sum_of_shares / (len(self._rounds) + 1)
        return {int((self._counts - self._n_samples * average).argmin()): 1}

    def _rules(self) -> tuple[str, ...]:
        return (
            (
                "every other one draws one arm: one with fewer than sqrt(t/N) samples, or else the one furthest behind "
                f"the average of the best proportions so far ({self.proportions})"
            ),
            "stops when min over tree edges e and pairs p of (D_p - D_e)^2 / (2 sum of c_m^2 / N_m) is above beta",
            "beta = sum over m of 2 d ln(4 + ln N_m) + N d Psi(ln(1/delta) / (N d))",
        )


# ---------------------------------------------------------------- LUCBBOC


class LUCBBOC(_SingleLinkage):
    """Lower and Upper Confidence Bound based Bandit Online Clustering, reconstructed.

    After the first round two samples a round: of the less sampled arm of the pair between groups with the smallest
    lower bound, and of the tree edge within a group with the largest upper bound. It stops when the first is larger.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    sigma : known standard deviation of every coordinate; an upper bound where it is not known.

    Time of a round is O(N^2 + N d), memory O(N (N + d)).
    """

    _name = "LUCBBOC"

    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, sigma: float = 1.0) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        self._radii = np.full(self.n_arms, np.inf)

    def _judge(self, told: list[int]) -> Request:
        loops = _loops()
        self._labels, _ = loops.linkage(self._distances, self.n_clusters)
        for arm in told:
            self._radii[arm] = self._radius(arm)
        intra, a, b, inter, i, j = loops.critical(self._distances, self._labels, self._radii)
        if inter > intra:
            return {}
        return dict.fromkeys((self._less_sampled(i, j), self._less_sampled(a, b)), 1)

    def _less_sampled(self, i: int, j: int) -> int:
        return i if self._counts[i] <= self._counts[j] else j

    def _rules(self) -> tuple[str, ...]:
        return (
            "every other one draws the less sampled arm of the closest pair between groups, by lower bounds",
            "and the less sampled one of the longest tree edge within groups, by upper bounds",
            "stops when the lower bound of the first is above the upper bound of the second",
            "distances are within R_i + R_j, R_m^2 = 2 (2 d ln(4 + ln N_m) + d Psi(ln(N/delta) / d)) / N_m",
        )


# ---------------------------------------------------------------- BOC-Elim


class BOCElim(_SingleLinkage):
    """Bandit Online Clustering by elimination, reconstructed: for samples that are single numbers.

    Every round is one sample of each arm that may still lie beside a gap of which it is open whether it is one of the
    K - 1 largest.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    sigma : known standard deviation; an upper bound where it is not known.

    Time of a round is O(N^2).
    """

    _name = "BOC-Elim"
    _most_columns = 1

    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, sigma: float = 1.0) -> None:
        super().__init__(n_arms, n_clusters, delta, sigma)
        self._low, self._high = np.full(self.n_arms, -np.inf), np.full(self.n_arms, np.inf)

    def _judge(self, told: list[int]) -> Request:
        for arm in told:  # intervals only shrink
            mean, radius = float(self._means[arm, 0]), self._radius(arm)
            self._low[arm] = max(self._low[arm], mean - radius)
            self._high[arm] = min(self._high[arm], mean + radius)
        self._labels, between = _largest_splits(self._low, self._high, self.n_clusters)
        within = _gaps_within(self._low, self._high, self._labels)
        if self.n_clusters in (1, self.n_arms) or within.max() < between.min():
            return {}
        active = within >= between.min()
        # a gap that is larger than any within a group is one of the K - 1 largest: its size does not matter any more
        for k in np.flatnonzero(between <= within.max()).tolist():
            left, right = self._labels == k, self._labels == k + 1
            active |= left & (self._high >= self._low[left].max())  # may be the last before the gap
            active |= right & (self._low <= self._high[right].min())
        return dict.fromkeys(np.flatnonzero(active).tolist(), 1)

    def _rules(self) -> tuple[str, ...]:
        return (
            "every other one draws each arm that may lie beside a gap of which it is open if it is one of the largest",
            "stops when no gap within a group can be as large as the smallest between groups",
            "means are within R_m, R_m^2 = 2 (2 ln(4 + ln N_m) + Psi(ln(N/delta))) / N_m",
        )


def _largest_splits(low: Array, high: Array, n_groups: int) -> tuple[Counts, Array]:  # (M,), (M,) -> (M,), (K - 1,)
    """Labels, from left to right, by the K - 1 places where intervals are furthest apart, and how far that is."""
    order = np.argsort(low, kind="stable")
    gaps = low[order[1:]] - np.maximum.accumulate(high[order])[:-1]  # negative where intervals overlap
    cut = np.sort(np.argsort(-gaps, kind="stable")[: n_groups - 1])
    labels = np.zeros(len(low), dtype=np.int64)
    labels[order[1:]] = np.isin(np.arange(len(gaps)), cut).cumsum()
    return labels, gaps[cut]


def _gaps_within(low: Array, high: Array, labels: Counts) -> Array:  # (M,), (M,), (M,) -> (M,)
    """Upper bounds of the larger of the two gaps beside each arm, to arms of its own group."""
    within = np.zeros(len(low))
    for group in range(int(labels.max()) + 1):
        members = labels == group
        sides = _right_gaps(low[members], high[members]), _right_gaps(-high[members], -low[members])
        within[members] = np.maximum(*sides)
    return within


def _right_gaps(low: Array, high: Array) -> Array:  # (M,), (M,) -> (M,)
    """Upper bounds of the distance of each number to the next one above it, given an interval for each.

    With arm a at x, arms whose interval lies above x can be no nearer than the least of their upper ends; where there
    is none, the next one is at most the largest upper end. x need only be tried at lower ends of intervals.
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
