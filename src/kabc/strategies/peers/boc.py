"""BOC, Bandit Online Clustering: Yang, Zhong and Tan, Optimal Clustering with Bandit Feedback, JMLR 25(186), 2024.

A peer of KABC for Gaussian arms with known covariance sigma^2 I: it groups by means alone, one sample a round.

| symbol        | here                  | meaning                                                                      |
|---------------|-----------------------|------------------------------------------------------------------------------|
| M, K, d       | `n_arms`, `n_clusters`| arms, groups, columns of a sample                                            |
| t, N_m        | `n_samples`, `counts` | samples so far, of arm m                                                     |
| mu_hat_m      | `means`    (M, d)     | empirical mean of arm m, in units of sigma                                   |
| c, U          | `labels`, `centres`   | estimate: group of each arm, mu(k) of each group; from K-means-Maximin       |
| n(k)          | `sizes`    (K,)       | arms of group k                                                              |
| D*(c, U)      | `hardness`            | 2 min over w of max of (n(k)/w(k) + 1/w(k')) / ||mu(k) - mu(k')||^2          |
| w*, lambda*_m | `shares`              | its solution, and w*(c_m) / n(c_m): the best proportions of samples          |
| Z_1, Z_2, Z   | `statistic`           | misfit, cost of the nearest alternative, and the statistic of stopping       |
| beta, Psi     | `proven_threshold`    | what Z must reach, uniformly in time, for any sampling rule and any estimate |
| beta~         | `heuristic_threshold` | what the paper's tables use: ln((1 + ln t)^d / delta), without a proof       |

The paper's order: lower bound, estimate, stopping statistic, thresholds, algorithm. Compiled functions are plain Python
here; numba takes them at the first round, and keeps what it compiled on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.samples import as_points
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, evidence_of_means, in_units

ThresholdName = Literal["proven", "heuristic"]
Sampling = Literal["tracking", "uniform", "oracle"]
Exploration = Literal["sqrt", "linear"]
_T = TypeVar("_T", bound=str)

_NEAREST = 1e-10  # squared distance of two centres, of the largest one: below, it makes no difference to the shares
_NEWTON_STEPS = 100  # about 15 are taken, 30 at most in thousands of random instances
_LLOYD_STEPS = 1_000  # of Lloyd's algorithm, which only rounding could keep from ending sooner


# ---------------------------------------------------------------- lower bound: D*, w*, lambda*


def optimal_shares(centres: ArrayLike, sizes: ArrayLike) -> Array:  # (K, d), (K,) -> (K,)
    """w*: the share of the samples that each group should get."""
    points = as_points(centres)
    labels = np.repeat(np.arange(len(points)), np.asarray(sizes))
    shares: Array = np.bincount(labels, _loops().proportions(labels, points), len(points))  # type: ignore[assignment]
    return shares


def hardness(centres: ArrayLike, sizes: ArrayLike) -> float:  # (K, d), (K,)
    """D*: samples needed, in units of ln(1/delta), as delta goes to 0; 0 where there is nothing to find out."""
    n, w, gaps = np.asarray(sizes), optimal_shares(centres, sizes), _gaps(as_points(centres))
    pairs = [(a, b) for a in range(len(n)) for b in range(len(n)) if _can_move(n, a, b, bool(n.sum() > len(n)))]
    return max((float(2 * (n[a] / w[a] + 1 / w[b]) / gaps[a, b]) for a, b in pairs), default=0.0)


def _can_move(sizes: Counts, a: int, b: int, spare: bool) -> bool:  # (K,)
    """Whether a partition into K groups is left when an arm of group a moves to group b.

    The paper asks for n(a) > 1. That leaves out two groups of one arm each: they may be joined where another group has
    arms to spare, because splitting that one costs nothing. Without this case the rule is not delta-PAC: with means 0,
    0, 10, 10.01 and K = 3 it was wrong in 92 of 200 runs at delta = 0.1. Where at most one group is a single arm, as
    in all instances of the paper, nothing changes.
    """
    return a != b and (sizes[a] > 1 or (sizes[a] == 1 and sizes[b] == 1 and spare))


def _gaps(centres: Array) -> Array:  # (K, d) -> (K, K)
    """||mu(k) - mu(k')||^2."""
    k = len(centres)
    out = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            out[a, b] = _squared_distance(centres, a, centres, b)
    return out


def _squared_distance(x: Array, i: int, y: Array, j: int) -> float:
    total = 0.0
    for column in range(x.shape[1]):
        total += (x[i, column] - y[j, column]) ** 2
    return total


def _optimal_shares(gaps: Array, sizes: Counts, spare: bool) -> Array:  # (K, K), (K,) -> (K,)
    """w* by an interior point method, to 1e-11.

    The problem does not change if w is scaled: minimise sum of w subject to n(k)/w(k) + 1/w(k') <= gap(k, k') where an
    arm of k can move to k'. In y = 1/w constraints are linear and the objective, sum of 1/y, is convex. Slacks s and
    multipliers z follow the central path z s = mu. Each step is Newton's for y and z at once, except that the
    second derivative 2/y^3 is taken as 2 sqrt(A'z) / y^2: the same at the solution, where A'z = 1/y^2, but 1/y far
    below its place is then found in one step, where Newton would take one for every factor of 1.5.
    """
    n_constraints, y, s, z = _start(gaps, sizes, spare)
    if n_constraints == 0:
        return _shares(y)
    step = 0.0
    for _ in range(_NEWTON_STEPS):
        gap, total, worst, multiplied = _progress(y, s, z, sizes)
        if gap <= 1e-12 * total and worst <= 1e-10:
            break
        # a full step may aim further; not beyond what rounding lets the slacks tell
        mu = max((0.1 if step < 0.9 else 0.01) * gap, 3e-13 * total) / n_constraints
        move = _newton_step(y, s, z, sizes, mu, multiplied)
        step = _follow(y, s, z, sizes, mu, move)
    return _shares(y)


def _start(gaps: Array, sizes: Counts, spare: bool) -> tuple[int, Array, Array, Array]:  # -> n, (K,), (K, K), (K, K)
    """Number of constraints, y that fulfils them, slacks, multipliers; every arm alike where nothing is to be found."""
    n_groups, n_constraints, farthest, total = len(sizes), 0, 0.0, 0.0
    y, s, z = np.full(n_groups, np.inf), np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            farthest = max(farthest, gaps[a, b])
    for a in range(n_groups):
        for b in range(n_groups):
            if _can_move(sizes, a, b, spare) and sizes[b] > 0 and 0 < farthest < np.inf:
                n_constraints += 1
                s[a, b] = max(gaps[a, b], _NEAREST * farthest)
                y[a] = min(y[a], s[a, b] / (2.1 * sizes[a]))  # nearly half of each constraint for each side
                y[b] = min(y[b], s[a, b] / 2.1)
    for a in range(n_groups):
        if n_constraints == 0 and sizes[a] > 0:
            y[a] = 1 / sizes[a]
        total += 1 / y[a]
    for a in range(n_groups):
        for b in range(n_groups):
            if s[a, b] > 0:
                s[a, b] -= sizes[a] * y[a] + y[b]
                z[a, b] = total / (n_constraints * s[a, b])
    return n_constraints, y, s, z


def _shares(y: Array) -> Array:  # (K,) -> (K,)
    """w = 1/y, scaled to sum 1."""
    total = 0.0
    for a in range(len(y)):
        total += 1 / y[a]
    out = np.zeros(len(y))
    for a in range(len(y)):
        out[a] = 1 / (y[a] * total)
    return out


def _progress(y: Array, s: Array, z: Array, sizes: Counts) -> tuple[float, float, float, Array]:  # ..., (K,)
    """Duality gap, objective, largest violation of A'z = 1/y^2, and A'z."""
    gap, total, worst, multiplied = 0.0, 0.0, 0.0, np.zeros(len(y))
    for a in range(len(y)):
        total += 1 / y[a]
        for b in range(len(y)):
            gap += z[a, b] * s[a, b]
            multiplied[a] += sizes[a] * z[a, b]
            multiplied[b] += z[a, b]
    for a in range(len(y)):
        if y[a] < np.inf:
            worst = max(worst, abs(multiplied[a] * y[a] ** 2 - 1))
    return gap, total, worst, multiplied


def _newton_step(y: Array, s: Array, z: Array, sizes: Counts, mu: float, multiplied: Array) -> Array:  # -> (K,)
    """Change of y towards z s = mu: the Newton system with s and z eliminated, of size K."""
    hessian, move = np.zeros((len(y), len(y))), np.zeros(len(y))
    for a in range(len(y)):
        move[a] = 1 / y[a] ** 2
        hessian[a, a] = 2 * math.sqrt(multiplied[a]) / y[a] ** 2 if y[a] < np.inf else 1.0  # no arms: stays
    for a in range(len(y)):
        for b in range(len(y)):
            if s[a, b] > 0:
                stiffness, pull = z[a, b] / s[a, b], mu / s[a, b]
                hessian[a, a] += sizes[a] ** 2 * stiffness
                hessian[b, b] += stiffness
                hessian[a, b] += sizes[a] * stiffness
                hessian[b, a] += sizes[a] * stiffness
                move[a] -= sizes[a] * pull
                move[b] -= pull
    _solve(hessian, move)
    return move


def _solve(matrix: Array, right: Array) -> None:  # (K, K), (K,)
    """Solve in place by Cholesky's decomposition."""
    n = len(right)
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(max(value, 1e-300)) if i == j else value / matrix[j, j]
    for i in range(n):
        for j in range(i):
            right[i] -= matrix[i, j] * right[j]
        right[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[j, i] * right[j]
        right[i] /= matrix[i, i]


def _follow(y: Array, s: Array, z: Array, sizes: Counts, mu: float, move: Array) -> float:
    """Go as far along the step as everything stays positive; the part of it that was gone."""
    step = 1.0
    ds, dz = np.zeros((len(y), len(y))), np.zeros((len(y), len(y)))
    for a in range(len(y)):
        if move[a] < -0.7 * y[a]:
            step = min(step, -0.7 * y[a] / move[a])
        for b in range(len(y)):
            if s[a, b] > 0:
                ds[a, b] = -(sizes[a] * move[a] + move[b])
                dz[a, b] = (mu - z[a, b] * (s[a, b] + ds[a, b])) / s[a, b]
                if ds[a, b] < 0:
                    step = min(step, -0.99 * s[a, b] / ds[a, b])
                if dz[a, b] < 0:
                    step = min(step, -0.99 * z[a, b] / dz[a, b])
    for a in range(len(y)):
        y[a] += step * move[a]
        for b in range(len(y)):
            s[a, b] += step * ds[a, b]
            z[a, b] += step * dz[a, b]
    return step


def _proportions(labels: Counts, centres: Array) -> Array:  # (M,), (K, d) -> (M,)
    """lambda*_m = w*(c_m) / n(c_m)."""
    sizes = np.zeros(len(centres), dtype=np.int64)
    for arm in range(len(labels)):
        sizes[labels[arm]] += 1
    shares = _optimal_shares(_gaps(centres), sizes, len(labels) > len(centres))
    out = np.empty(len(labels))
    for arm in range(len(labels)):
        out[arm] = shares[labels[arm]] / sizes[labels[arm]]
    return out


def raised(proportions: Array, floor: float) -> Array:  # (M,) -> (M,)
    """The nearest proportions that are nowhere below the floor (Euclidean projection)."""
    excess = np.sort(proportions - floor)[::-1]
    surplus = (np.cumsum(excess) - (1 - len(excess) * floor)) / np.arange(1, len(excess) + 1)
    nearest: Array = np.maximum(proportions - floor - surplus[np.flatnonzero(excess > surplus)[-1]], 0.0) + floor
    return nearest


# ---------------------------------------------------------------- estimate: K-means-Maximin


def _k_means_maximin(means: Array, counts: Counts, n_groups: int) -> tuple[Counts, Array]:  # (M, d) -> (M,), (K, d)
    """Farthest-first centres, then Lloyd's algorithm with arms weighted by their counts."""
    n_arms, d = means.shape
    centres, nearest = np.zeros((n_groups, d)), np.full(n_arms, np.inf)
    chosen = 0  # the first centre is arbitrary in the paper
    for group in range(n_groups):
        for column in range(d):
            centres[group, column] = means[chosen, column]
        for arm in range(n_arms):
            nearest[arm] = min(nearest[arm], _squared_distance(means, arm, centres, group))
        for arm in range(n_arms):
            chosen = arm if nearest[arm] > nearest[chosen] else chosen
    labels = np.full(n_arms, -1, dtype=np.int64)
    for _ in range(_LLOYD_STEPS):
        if not _assigned(means, centres, labels):
            break
        sums, weights = np.zeros((n_groups, d)), np.zeros(n_groups)
        for arm in range(n_arms):
            weights[labels[arm]] += counts[arm]
            for column in range(d):
                sums[labels[arm], column] += counts[arm] * means[arm, column]
        for group in range(n_groups):
            for column in range(d):
                if weights[group] > 0:  # a centre that lost all its arms stays where it was
                    centres[group, column] = sums[group, column] / weights[group]
    return labels, centres


def _assigned(means: Array, centres: Array, labels: Counts) -> bool:  # (M, d), (K, d), (M,)
    """Move every arm to its nearest centre; whether any moved."""
    moved = False
    for arm in range(len(labels)):
        best, group = np.inf, 0
        for k in range(len(centres)):
            distance = _squared_distance(means, arm, centres, k)
            if distance < best:
                best, group = distance, k
        moved = moved or labels[arm] != group
        labels[arm] = group
    return moved


# ---------------------------------------------------------------- stopping statistic: Z


def _statistic(means: Array, counts: Counts, labels: Counts, centres: Array) -> float:  # (M, d), (M,), (M,), (K, d)
    """Z = (max(0, sqrt Z_2 - sqrt Z_1))^2 / 2; infinite where there is no alternative, 0 where a group is empty."""
    n_groups = len(centres)
    sizes, weights = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups)  # n(k), W(k)
    least = np.full(n_groups, np.inf)  # a(k)
    z_1 = 0.0
    for arm in range(len(labels)):
        group = labels[arm]
        sizes[group] += 1
        weights[group] += counts[arm]
        least[group] = min(least[group], counts[arm])
        z_1 += counts[arm] * _squared_distance(means, arm, centres, group)
    z_2 = np.inf
    for a in range(n_groups):
        for b in range(n_groups):
            if _can_move(sizes, a, b, len(labels) > n_groups):  # no other alternative is cheaper
                cost = least[a] * weights[b] / (least[a] + weights[b])
                z_2 = min(z_2, cost * _squared_distance(centres, a, centres, b))
    return max(0.0, math.sqrt(z_2) - math.sqrt(z_1)) ** 2 / 2


# ---------------------------------------------------------------- thresholds: beta, beta~


def proven_threshold(counts: Counts, d: int, delta: float) -> float:  # (M,)
    """beta(delta, t) = sum over m of 2 d ln(4 + ln N_m) + M d Psi(ln(1/delta) / (M d))."""
    size = len(counts) * d
    return 2 * d * float(np.log(4 + np.log(counts)).sum()) + size * _psi(-math.log(delta) / size)


def heuristic_threshold(t: int, d: int, delta: float) -> float:
    """beta~(delta, t) = ln((1 + ln t)^d / delta): nothing is proven about it."""
    return d * math.log1p(math.log(t)) - math.log(delta)


@lru_cache(maxsize=1024)
def _psi(x: float) -> float:
    """Psi(x): the minimum over h in [1/2, 1]; any h gives a valid threshold, so the search need not be exact."""
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def bound(h: float) -> float:
        return float(2 - 2 * math.log(4 * h) + math.log(zeta(2 * h)) / h - math.log(1 - h) / (2 * h) + x / h)

    return float(minimize_scalar(bound, bounds=(0.5, 1.0), method="bounded", options={"xatol": 1e-10}).fun)


# ---------------------------------------------------------------- compiled


class _Loops(NamedTuple):
    proportions: Callable[[Counts, Array], Array]
    k_means: Callable[[Array, Counts, int], tuple[Counts, Array]]
    statistic: Callable[[Array, Counts, Counts, Array], float]


@cache
def _loops() -> _Loops:
    """The functions above, compiled."""
    solver = (_gaps, _can_move, _optimal_shares, _start, _progress, _newton_step, _solve, _follow, _shares)
    return _Loops(*compiled(_proportions, _k_means_maximin, _statistic, using=(*solver, _squared_distance, _assigned)))


def compiled(*functions: Callable[..., Any], using: Sequence[Callable[..., Any]]) -> list[Any]:
    """The functions, and those that they use, compiled; numba is imported here: it takes longer than all the rest."""
    import numba
    from numba.extending import register_jitable

    how: dict[str, Any] = {"error_model": "numpy"}  # a division by 0 is infinite, never an exception
    for helper in using:
        register_jitable(**how)(helper)
    done: list[Any] = []
    for function in functions:
        try:
            done.append(numba.njit(cache=True, **how)(function))
        except RuntimeError:  # no place for a cache
            done.append(numba.njit(**how)(function))
    return done


# ---------------------------------------------------------------- algorithm


class BOC(Stepwise):
    """Bandit Online Clustering: groups N Gaussian arms by their means, wrong with probability at most delta.

    The first round is one sample of each arm, every other round one sample of one arm. It stops as soon as the samples
    speak for the estimated partition, against every other one, by more than the threshold.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    threshold : "proven", or "heuristic": far smaller, used in the paper's tables, without any guarantee.
    sampling : "tracking" of the best proportions for the current estimate; "uniform", one arm after the other;
        "oracle", tracking of the best proportions for `oracle_means`, a yardstick that needs to know the truth.
    exploration : of tracking. "sqrt": an arm with too few samples, about sqrt(t), goes first; "linear": proportions
        are at least r^2/(2 N) instead, where r is `distance_ratio`.
    sigma : known standard deviation of every coordinate; an upper bound where it is not known.
    distance_ratio : r, a known lower bound of the smallest over the largest distance of two group means.
    oracle_means : the true means, (N, d), equal within groups.

    Time of a round is O(N K d) with a step or two of Lloyd's algorithm and 15 steps of size K^3; memory is O(N d).
    """

    kernel = None
    one_blas_thread = True

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        threshold: ThresholdName = "proven",
        sampling: Sampling = "tracking",
        exploration: Exploration = "sqrt",
        sigma: float = 1.0,
        distance_ratio: float | None = None,
        oracle_means: ArrayLike | None = None,
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.threshold = _one_of("threshold", threshold, get_args(ThresholdName))
        self.sampling = _one_of("sampling", sampling, get_args(Sampling))
        self.exploration = _one_of("exploration", exploration, get_args(Exploration))
        self.sigma = positive_number("sigma", sigma)
        self._floor = self._least_proportion(distance_ratio)
        self._truth = self._true_groups(oracle_means)
        # --- state: what the next step needs, and what people look at
        self._next = all_arms(self.n_arms, 1)
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._means: Array = np.zeros((self.n_arms, 0))
        self._labels = np.zeros(self.n_arms, dtype=np.int64)
        self._centres: Array = np.zeros((self.n_clusters, 0))
        self._oracle: Array | None = None  # (M,) lambda* of the truth
        self._statistic = 0.0

    def _least_proportion(self, ratio: float | None) -> float:
        """The floor under lambda of linear exploration: r^2/(2 M) bounds lambda* from below."""
        if self.exploration == "sqrt":
            if ratio is not None:
                raise SettingsError(f"distance_ratio is for exploration='linear', got {ratio!r}; leave it out")
            return 0.0
        if self.sampling != "tracking":
            raise SettingsError(f"exploration='linear' is for sampling='tracking', got sampling={self.sampling!r}")
        if ratio is None or positive_number("distance_ratio", ratio) > 1:
            raise SettingsError(
                "exploration='linear' needs distance_ratio, a lower bound in (0, 1] of the smallest over the largest "
                f"distance of two group means, got {ratio!r}; use exploration='sqrt' where none is known"
            )
        return float(ratio) ** 2 / (2 * self.n_arms)

    def _true_groups(self, means: ArrayLike | None) -> tuple[Counts, Array] | None:  # (M,), (K, d)
        if (means is None) == (self.sampling == "oracle"):
            raise SettingsError(
                f"sampling={self.sampling!r} with oracle_means={means!r}: "
                "the true means (N, d) are needed for sampling='oracle', and for nothing else"
            )
        if means is None:
            return None
        points = as_points(means)
        partition = Partition.of(map(tuple, points.tolist()))
        if partition.n_arms != self.n_arms or partition.n_groups != self.n_clusters:
            raise SettingsError(
                f"oracle_means must be {self.n_arms} rows, {self.n_clusters} different ones, "
                f"got {partition.n_arms} rows, {partition.n_groups} different ones"
            )
        return np.array(partition.labels), points[[group[0] for group in partition.groups]]

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self.recommend().certified else 1

    @property
    def statistic(self) -> float:
        """Z of the latest round."""
        return self._statistic

    def _request(self) -> Request:
        return self._next

    def _plan(self, loops: _Loops) -> None:
        """The next arm, and the estimate (c, U) that the round after it is judged by."""
        fewest = int(self._counts.argmin())
        explores = self.sampling != "uniform" and self.exploration == "sqrt"
        if explores and self._counts[fewest] <= max(math.sqrt(self._n_samples) - self.n_arms / 2, 0.0):
            self._next = {fewest: 1}  # forced exploration keeps the old estimate
            return
        self._labels, self._centres = loops.k_means(self._means, self._counts, self.n_clusters)
        if self.sampling == "uniform":
            self._next = {fewest: 1}
        else:
            behind = self._n_samples * self._proportions(loops) - self._counts
            self._next = {int(behind.argmax()): 1}  # D-tracking

    def _proportions(self, loops: _Loops) -> Array:  # (M,)
        if self._truth is not None:
            if self._oracle is None:
                self._oracle = loops.proportions(*self._truth)
            return self._oracle
        proportions = loops.proportions(self._labels, self._centres)
        return raised(proportions, self._floor) if self._floor else proportions

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        columns = self._means.shape[1] if self._rounds else None
        if columns is None and self._truth is not None:
            columns = self._truth[1].shape[1]
        rows = checked_samples(samples, self._asked, None, columns)
        assert self._asked is not None
        points = np.concatenate(in_units(rows, self.sigma))
        loops = _loops()
        # Nothing above changed the state; nothing below can fail.
        if not self._rounds:
            self._means = np.zeros((self.n_arms, points.shape[1]))
        for arm, point in zip(self._asked, points, strict=True):
            self._counts[arm] += 1
            self._means[arm] += (point - self._means[arm]) / self._counts[arm]
        self._take(rows)
        if self._rounds:  # the first round has no earlier estimate to judge
            self._statistic = loops.statistic(self._means, self._counts, self._labels, self._centres)
            if self._statistic >= self._beta():
                self._status = "decided"
        self._close_round(int(self._counts.max()), self.n_clusters if self.stopped else 1)
        if not self.stopped:
            self._plan(loops)

    def _beta(self) -> float:
        d = self._means.shape[1]
        if self.threshold == "heuristic":
            return heuristic_threshold(self._n_samples, d, self.delta)
        return proven_threshold(self._counts, d, self.delta)

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        return Partition(tuple(self._labels.tolist()), certified=self.stopped and self.threshold == "proven")

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told = self._labels[:, None] != self._labels[None, :] if self.stopped else False
        squares = sum((column[:, None] - column[None, :]) ** 2 for column in self._means.T)
        told_in_round = np.where(told, len(self._rounds), np.zeros((self.n_arms, self.n_arms), dtype=np.int64))
        return evidence_of_means(told_in_round, self._counts.copy(), self.sigma * np.sqrt(squares))

    def guarantee(self) -> Guarantee:
        proven = self.threshold == "proven"
        return Guarantee(
            strategy=f"BOC(delta = {self.delta:g}, K = {self.n_clusters}, {self.threshold} threshold)",
            claim=(
                f"with probability at least {1 - self.delta:g} the partition is right when it stops."
                if proven
                else "nothing is proven: the threshold is a heuristic, and delta only a wish."
            ),
            assumptions=(
                f"samples are independent and Gaussian, with covariance sigma^2 I, sigma = {self.sigma:g}",
                f"there are exactly {self.n_clusters} groups of arms with equal means",
                "arms with equal means are one group: other differences of distributions are not seen",
            ),
            rule=(
                "the first round draws one sample of each arm, every other round one of one arm",
                self._sampling_rule(),
                "estimate by K-means-Maximin, its misfit Z_1, the nearest other partition at a cost of Z_2",
                "Z = max(0, sqrt(Z_2) - sqrt(Z_1))^2 / 2",
                "stops when Z reaches "
                + (
                    "beta = sum over m of 2 d ln(4 + ln N_m) + N d Psi(ln(1/delta) / (N d))"
                    if proven
                    else "ln((1 + ln t)^d / delta)"
                ),
            ),
        )

    def _sampling_rule(self) -> str:
        if self.sampling == "uniform":
            return "the arm with the fewest samples is next"
        if self.sampling == "oracle":
            return "the arm furthest behind the best proportions for the true means is next"
        rule = "the arm furthest behind the best proportions for the estimate is next, "
        if self.exploration == "linear":
            return rule + f"proportions of at least {self._floor:.3g}"
        return rule + "after any arm with at most sqrt(t) - N/2 samples"


def _one_of(name: str, value: _T, allowed: tuple[str, ...]) -> _T:
    if value not in allowed:
        raise SettingsError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value
