"""BOC, Bandit Online Clustering: Yang, Zhong and Tan, Optimal Clustering with Bandit Feedback, JMLR 25(186), 2024.

A peer of KABC for Gaussian arms with known covariance sigma^2 I. It groups only by means, with one sample per round.

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

allocation.py and solver.py have the lower bound and the best proportions, estimate.py has the estimate and the
statistic, thresholds.py the thresholds, and loops.py the functions that numba compiles. Proof: docs/theory.md, section
16.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.samples import as_points
from kabc.core.settings import positive_number, whole_number
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, evidence_of_means, in_units
from kabc.strategies.peers.boc.allocation import raised
from kabc.strategies.peers.boc.loops import Loops, compiled_loops
from kabc.strategies.peers.boc.thresholds import heuristic_threshold, proven_threshold
from kabc.strategies.wording import exactly, wrong_at_most

ThresholdName = Literal["proven", "heuristic"]
Sampling = Literal["tracking", "uniform", "oracle"]
Exploration = Literal["sqrt", "linear"]
_T = TypeVar("_T", bound=str)


class BOC(Stepwise):
    """Bandit Online Clustering: groups N Gaussian arms by their means, wrong with probability at most delta.

    The first round draws one sample of each arm. Every later round draws one sample of one arm. It stops as soon as the
    samples favour the estimated partition over every other one by more than the threshold.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    threshold : "proven", or "heuristic": far smaller, used in the paper's tables, without any guarantee.
    sampling : "tracking": the arm furthest behind the best proportions for the current estimate. "uniform": one arm
        after the other. "oracle": tracking for `oracle_means`, a comparison that needs to know the truth.
    exploration : exploration of tracking. "sqrt": an arm with too few samples, about sqrt(t), goes first. "linear":
        proportions are at least r^2/(2 N) instead, where r is `distance_ratio`.
    sigma : known standard deviation of every coordinate, or an upper bound.
    distance_ratio : r, a known lower bound of the smallest over the largest distance of two group means.
    oracle_means : the true means, (N, d), equal within groups.

    Time of a round is O(N K d) with one or two steps of Lloyd's algorithm, and 15 steps of size K^3. Memory is O(N d).
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
        # --- state: what the next step needs, and what users can read
        self._next = all_arms(self.n_arms, 1)
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._means: Array = np.zeros((self.n_arms, 0))
        self._labels = np.zeros(self.n_arms, dtype=np.int64)
        self._centres: Array = np.zeros((self.n_clusters, 0))
        self._oracle: Array | None = None  # (M,) lambda* of the truth
        self._statistic = 0.0

    def _least_proportion(self, ratio: float | None) -> float:
        """The smallest lambda of linear exploration: r^2/(2 M) is a lower bound of lambda*."""
        if self.exploration == "sqrt":
            if ratio is not None:
                raise SettingsError(f"distance_ratio is for exploration='linear', got {ratio!r}; leave it out")
            return 0.0
        if self.sampling != "tracking":
            raise SettingsError(f"exploration='linear' is for sampling='tracking', got sampling={self.sampling!r}")
        if ratio is None or positive_number("distance_ratio", ratio) > 1:
            raise SettingsError(
                "exploration='linear' needs distance_ratio, a lower bound in (0, 1] of the smallest over the largest "
                f"distance of two group means, got {ratio!r}; use exploration='sqrt' if none is known"
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

    def _plan(self, loops: Loops) -> None:
        """The next arm, and the estimate (c, U) that judges the round after it."""
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

    def _proportions(self, loops: Loops) -> Array:  # (M,)
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
        loops = compiled_loops()
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

    # ------------------------------------------------------------ what users see

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
                wrong_at_most(self.delta, exactly(self.n_clusters), self.stopped)
                if proven
                else f"Nothing is proven: the threshold is a heuristic. An error in {percent(self.delta)} of runs is "
                "its aim."
            ),
            assumptions=(
                f"samples are independent and Gaussian, with covariance sigma^2 I, sigma = {self.sigma:g}",
                f"{exactly(self.n_clusters)}; arms of a group have equal means",
                "arms with equal means are one group; other differences of distributions are not seen",
            ),
            rule=(
                "the first round draws one sample of each arm, every later round one sample of one arm",
                self._sampling_rule(),
                "estimate by K-means-Maximin; Z_1 is its misfit, Z_2 the cost of the nearest other partition",
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
