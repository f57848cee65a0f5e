"""KABC(delta, K): the paper's Algorithm 2 (arXiv 2601.07535), CLUSTER with doubling budgets until K components appear.

| symbol  | here                | meaning                                                                     |
|---------|---------------------|-----------------------------------------------------------------------------|
| k       | `Round.number`      | round                                                                       |
| delta_k | `Schedule.delta`    | error share of round k: delta / (4 k^2)                                     |
| n_k     | `Schedule.n`        | samples of each arm in round k: ceil(2^k log(8 (N^2 - N) / delta_k))        |
| C_k     | `Clustered`         | graph and components of round k (see cluster.py)                            |

The defaults are the published algorithm. The switches keep its guarantee (docs/theory.md, Tight variants).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.embeddings import FeatureSums, embed
from kabc.core.embeddings.means import Embedding
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.thresholds import (
    BoundedDifferences,
    Threshold,
    ThresholdName,
    Tightest,
    Union,
    make_threshold,
    pair_thresholds,
)
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.partitions import Partition, single_linkage
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee, Round
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, checked_sums, kernel_given
from kabc.strategies.cluster import Clustered, Comparisons, assumptions, comparisons_given, connect
from kabc.strategies.guesses import agreeing
from kabc.strategies.options import checked_options
from kabc.strategies.wording import main_claim

Spending = Literal["published", "full"]

_FORESEEN = 100  # rounds; more samples than that nobody forecasts


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rounds k = first, first + 1, ...: their error shares delta_k and budgets n_k."""

    n_arms: int
    total: float
    threshold: Threshold
    spending: Spending
    growth: float
    first: int

    def delta(self, k: int) -> float:
        """delta_k: sums to at most delta over the rounds."""
        if self.spending == "published":
            return self.total / (4 * k * k)
        return self.total / (k * k * _inverse_squares_from(self.first))

    def n(self, k: int) -> int:
        """n_k, in units of the threshold's own log term; a variance needs 2 samples."""
        return max(2, math.ceil(self.growth**k * self.threshold.log_term(self.n_arms, self.delta(k))))


def _inverse_squares_from(first: int) -> float:
    """Sum of 1/j^2 over j >= first: pi^2/6 for first = 1."""
    return math.pi**2 / 6 - math.fsum(1 / (j * j) for j in range(1, first))


class KABC(Stepwise):
    """Kernel Active Bandit Clustering: groups N arms by distribution, wrong with probability at most delta.

    Round k draws n_k samples of every arm and tells pairs apart whose distance exceeds the threshold. It stops when
    the other pairs form exactly K components. With more than K components the published algorithm goes on.

    Parameters
    ----------
    n_arms : int
        N, the number of arms.
    n_clusters : int
        K, the number of groups.
    delta : float
        Largest probability of a wrong answer, in (0, 1].
    kernel : Kernel
        Fixed before the first sample that is tested.
    keep_samples : bool, default False
        Test all samples drawn so far, not only those of the round. This halves the budget.
    union : str, default "pairs"
        "pairs" as published, or "arms": a union bound over N events instead of N^2 - N.
    spending : str, default "published"
        "published" spends delta/(4 k^2) in round k, 41 % of delta in all. "full" has the same shape, scaled to spend
        all of delta over the rounds that are tested.
    growth : float, default 2.0
        Budgets grow by this factor from round to round.
    skip_hopeless : bool, default False
        Leave out the first rounds, whose threshold no distance could exceed.
    first_round : int, default 1
        The first k.
    threshold : str, default "variance-aware"
        "variance-aware" as published. "kernel-uniform": the one without variances of the Discussion, in its provable
        form. "bounded-differences": one test per pair without variances, which needs independent arms. "tightest": the
        smaller of the first and the last, at half the error share each.
    refute : bool, default False
        Stop as "contradicted" when more than K components appear. The published algorithm goes on.
    comparisons : str, default "all"
        "all" pairs, or "representatives": the same components from fewer distances.

    Notes
    -----
    `KABC.tight` switches everything on. Cost of a round: see `kabc.Cluster`.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> strategy = kabc.KABC(n_arms=3, n_clusters=2, delta=0.1, kernel=kabc.Gaussian(bandwidth=1.0))
    >>> rng = np.random.default_rng(0)
    >>> while not strategy.stopped:
    ...     strategy.tell({arm: rng.normal(6.0 * (arm == 2), 1.0, n) for arm, n in strategy.ask().items()})
    >>> strategy.recommend()
    Partition(0 1 | 2, certified)
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        kernel: Kernel,
        *,
        keep_samples: bool = False,
        union: Union = "pairs",
        spending: Spending = "published",
        growth: float = 2.0,
        skip_hopeless: bool = False,
        first_round: int = 1,
        threshold: ThresholdName = "variance-aware",
        refute: bool = False,
        comparisons: Comparisons = "all",
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.kernel = kernel_given(kernel)
        self.keep_samples = bool(keep_samples)
        self.refute = bool(refute)
        if spending not in get_args(Spending):
            raise SettingsError(f"spending must be 'published' or 'full', got {spending!r}")
        self.schedule = Schedule(
            self.n_arms,
            self.delta,
            make_threshold(threshold, union),
            spending,
            positive_number("growth", growth, above=1.0),
            whole_number("first_round", first_round, 1),
        )
        if skip_hopeless:
            self.schedule = self._without_hopeless_rounds(self.schedule)
        self._comparisons = comparisons_given(comparisons)
        # --- state: what the next step needs, and what people look at
        self._round = self.schedule.first
        self._embedding = embed(self.kernel, self.n_arms)
        self._columns: int | None = None
        self._evidence = Evidence.none(self.n_arms)
        self._components = Partition((0,) * self.n_arms)
        self._at_least = 1
        self._n_distances = 0

    @classmethod
    def tight(cls, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, **settings: Any) -> KABC:
        """KABC with every improvement that keeps the proof; single ones can be overridden."""
        checked_options("kabc-tight", cls, settings, needs_kernel=True)
        improved: dict[str, Any] = {
            "keep_samples": True,
            "union": "arms",
            "spending": "full",
            "growth": 1.25,
            "skip_hopeless": True,
            "threshold": "tightest",
            "refute": True,
        }
        return cls(n_arms, n_clusters, delta, kernel, **(improved | settings))

    def _without_hopeless_rounds(self, schedule: Schedule) -> Schedule:
        """Start at the first round whose threshold, at zero variance, is below the largest possible distance."""
        largest = math.sqrt(2 * (self.kernel.supremum - self.kernel.infimum))
        while True:
            k = schedule.first
            radii = schedule.threshold.radii(schedule.n(k), np.zeros(self.n_arms), self.kernel, schedule.delta(k))
            if float(pair_thresholds(radii[:, :2])[0, 1]) < largest:
                return schedule
            schedule = replace(schedule, first=k + 1)

    @property
    def n_distances(self) -> int:
        """Distances computed so far, over all rounds. All pairs are N (N - 1) / 2 in each."""
        return self._n_distances

    @property
    def n_groups_at_least(self) -> int:
        return self._at_least

    def _request(self) -> Request:
        held = int(self._embedding.counts[0]) if self.keep_samples else 0
        return all_arms(self.n_arms, self.schedule.n(self._round) - held)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, self._columns)
        self._test(self._held().extended(rows), sum(map(len, rows)), rows[0].shape[1])

    @property
    def sums_of(self) -> FiniteKernel | None:
        """The kernel, if sums of its features are all that is needed of samples (`tell_sums`)."""
        return self.kernel if isinstance(self.kernel, FiniteKernel) else None

    def tell_sums(self, sums: FeatureSums) -> None:
        """A round whose samples were summed elsewhere: the same as `tell` with these samples."""
        checked_sums(sums, self._asked, self.kernel, self._columns)
        held = self._held()
        assert isinstance(held, FeatureSums)
        self._test(held + sums, int(sums.counts.sum()), sums.columns)

    def _held(self) -> Embedding:
        """What the samples of a round are added to: nothing as published, or all samples so far."""
        return self._embedding if self.keep_samples else embed(self.kernel, self.n_arms)

    def _test(self, embedding: Embedding, n_new: int, columns: int | None) -> None:
        k, delta_k = self._round, self.schedule.delta(self._round)
        seen = connect(embedding, self.schedule.threshold, self.kernel, delta_k, self._comparisons)

        # Nothing above changed the state; nothing below can fail.
        self._book(n_new)
        self._columns = columns
        if self.keep_samples:
            self._embedding = embedding
        self._components = seen.partition
        self._at_least = max(self._at_least, seen.partition.n_groups)
        self._evidence = _following(self._evidence, seen, k)
        self._n_distances += seen.n_distances
        n = int(seen.evidence.counts[0])
        self._rounds.append(Round(k, delta_k, n, self._n_samples, seen.partition.n_groups))
        self._advance(seen.partition.n_groups)

    def _advance(self, n_groups: int) -> None:
        if n_groups == self.n_clusters:  # |C_k| = K: stop and return C_k
            self._status = "decided"
        elif n_groups > self.n_clusters and self.refute:
            self._status = "contradicted"
        else:
            tested = self.schedule.n(self._round)
            self._round += 1
            while self.keep_samples and self.schedule.n(self._round) <= tested:
                self._round += 1  # slow growth may round up to the same budget: nothing new to test

    def recommend(self) -> Partition:
        return Partition(self._components.labels, certified=self._status == "decided")

    def evidence(self) -> Evidence:
        return self._evidence

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes to decide; None: that cannot be told."""
        return None if self.stopped or not self._rounds else self._foreseen()

    def _foreseen(self) -> Array | None:  # (N,)
        """Samples up to the round whose threshold lies under the distance of the closest groups, as it looks now."""
        guess = self._components
        if self._evidence.all_compared:
            guess = single_linkage(_relative(self._evidence), self.n_clusters)
        groups = agreeing(guess, self._evidence, self._at_least, self.n_clusters)  # components may be fewer than K
        pair = _closest(self._evidence, groups.labels)
        if pair is None:
            return None
        (i, j), distance = pair
        held = int(self._evidence.counts[0]) if self.keep_samples else 0
        more = 0
        for k in range(self._round, self._round + _FORESEEN):
            n, delta_k = self.schedule.n(k), self.schedule.delta(k)
            more = n - held if self.keep_samples else more + n
            radii = self.schedule.threshold.radii(n, self._evidence.variances, self.kernel, delta_k)
            if float(pair_thresholds(radii[:, [i, j]])[0, 1]) < distance:
                return np.full(self.n_arms, float(more))
        return None

    def guarantee(self) -> Guarantee:
        first, growth = self.schedule.first, self.schedule.growth
        bounds = self.schedule.threshold
        independent = isinstance(bounds, BoundedDifferences | Tightest)
        spent = (
            "delta/(4 k^2)" if self.schedule.spending == "published" else f"delta k^-2 / sum over j >= {first} of j^-2"
        )
        refuted = " or more than K, which refutes K" if self.refute else ""
        return Guarantee(
            strategy=f"KABC(delta = {self.delta:g}, K = {self.n_clusters})",
            claim=main_claim(self.status, self.n_clusters, self.delta),
            assumptions=assumptions(self.kernel, independent),
            rule=(
                f"round k = {first}, {first + 1}, ... tests n_k = ceil({growth:g}^k L) samples of each arm, "
                + ("all drawn so far, " if self.keep_samples else "fresh ones, ")
                + f"with delta_k = {spent}",
                bounds.describe(self.n_arms),
                f"stops when the pairs not told apart form exactly K connected components{refuted}",
            ),
        )


def _closest(evidence: Evidence, labels: Sequence[int]) -> tuple[tuple[int, int], float] | None:
    """The pair of different groups that is hardest to tell apart, and its distance without bias; None if it has none.

    E ||mu_hat_i - mu_hat_j||^2 = ||mu_i - mu_j||^2 + (V_i + V_j) / n.
    """
    groups, bias, compared = np.asarray(labels), evidence.variances / evidence.counts, evidence.compared
    squared = evidence.values**2 - bias[:, None] - bias[compared]
    across = (groups[:, None] != groups[compared]) & ~np.isnan(squared)
    if not across.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(across, squared / evidence.limits**2, np.inf)
    i, j = np.unravel_index(int(relative.argmin()), relative.shape)
    return ((int(i), int(compared[j])), math.sqrt(squared[i, j])) if squared[i, j] > 0 else None


def _following(before: Evidence, seen: Clustered, k: int) -> Evidence:
    """The evidence after round k: pairs told apart stay told apart, also with representatives of earlier rounds."""
    earlier = before.compared[(before.told > 0).any(axis=0)]
    compared = np.union1d(seen.evidence.compared, earlier).astype(np.intp)
    now, told, labels = seen.evidence.against(compared), before.against(compared).told, np.array(seen.partition.labels)
    apart = (now.told > 0) | (labels[:, None] != labels[compared])  # arms of two components are told apart
    return replace(now, told=np.where(told > 0, told, k * apart))


def _relative(evidence: Evidence) -> np.ndarray[Any, np.dtype[np.float64]]:  # (N, N)
    """Distances in units of their thresholds. Where none was computed: 0 inside a component, infinity between two."""
    unknown = np.where(evidence.told_apart, np.inf, 0.0)
    return np.where(np.isnan(evidence.strength), unknown, evidence.strength)
