"""CLUSTER(n, delta'): the paper's Algorithm 1, clustering with a fixed budget of N n samples.

| symbol    | here                 | meaning                                                       |
|-----------|----------------------|---------------------------------------------------------------|
| n         | `n`                  | samples of each arm                                           |
| delta'    | `delta`              | probability of any false split                                |
| E         | not `told_apart`     | edges: pairs whose distance is at most their threshold        |
| C         | `partition`          | connected components                                          |
| s_*, s_0  | `separation`         | signal-to-noise ratio (eq. SNR), or a lower bound of it       |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.embeddings import FeatureSums, embed
from kabc.core.embeddings.means import Embedding
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.thresholds import (
    Threshold,
    ThresholdName,
    Union,
    VarianceAware,
    make_threshold,
    pair_thresholds,
)
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.partitions import Partition, components
from kabc.core.partitions.guesses import MOST_LINKED
from kabc.core.partitions.leaders import leader_components
from kabc.core.settings import arms_number, error_probability, positive_number, whole_number
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, checked_sums, kernel_given
from kabc.strategies.wording import pairs_claim

Comparisons = Literal["all", "representatives"]

# A squared distance errs by about 1e-7 of the kernel's supremum, so a distance near 0 by the square root of that.
_DISTANCE_ERROR = 3.2e-4


@dataclass(frozen=True, slots=True)
class Clustered:
    """What one call of CLUSTER sees: the evidence of its own samples alone, and the components."""

    evidence: Evidence
    partition: Partition
    n_distances: int  # computed


def connect(
    embedding: Embedding, threshold: Threshold, kernel: Kernel, delta: float, comparisons: Comparisons
) -> Clustered:
    """Lines 2-14 of Algorithm 1: statistics, thresholds, graph, connected components.

    With representatives and more than `MOST_LINKED` arms, the evidence is that of all arms against the representatives:
    nothing of size (N, N) is made.
    """
    variances = embedding.variances()  # eq. empvar
    n = int(embedding.counts.min())
    radii = threshold.radii(n, variances, kernel, delta)  # eq. threshold
    if comparisons == "representatives":
        slack = 3 * _DISTANCE_ERROR * math.sqrt(kernel.supremum)
        found = leader_components(
            lambda rows, cols: np.sqrt(embedding.squared_distances(rows, cols)),
            radii,
            slack,
            pairs=len(variances) <= MOST_LINKED,
        )
        compared, distances, told_apart = found.compared, found.distances, found.told_apart
        partition, n_distances = found.partition, found.n_distances
    else:
        compared = np.arange(len(variances))
        distances = np.sqrt(embedding.squared_distances())  # eq. empdist
        told_apart = distances > pair_thresholds(radii)  # an edge when the distance is at most the threshold
        partition, n_distances = components(~told_apart), math.comb(len(variances), 2)
    limits = pair_thresholds(radii, compared)
    told = told_apart.astype(np.int64)
    return Clustered(
        Evidence(False, embedding.counts, compared, told, distances, limits, variances), partition, n_distances
    )


def comparisons_given(value: object) -> Comparisons:
    """How pairs are compared: all of them, or arms with representatives only, as far as that is enough."""
    if value not in get_args(Comparisons):
        raise SettingsError(f"comparisons must be 'all' or 'representatives', got {value!r}")
    return value  # type: ignore[return-value]


class Cluster(Stepwise):
    """CLUSTER: draw n samples of every arm once, connect what is not told apart, return the components.

    With probability at least 1 - delta no two arms of one group are separated. Whether all groups are separated
    depends on n. So without a declared separation the partition is a guess that may be too coarse: other arms may link
    two that are told apart. Only the pairs told apart are certified. `Cluster.for_separation` chooses n so that the
    partition is certified, given s_*.

    Parameters
    ----------
    n_arms : int
        N, the number of arms.
    n : int
        Samples of each arm, at least 2.
    delta : float
        Largest probability that any two arms of one group are separated.
    kernel : Kernel
        Fixed before the samples are drawn.
    threshold, union : str
        See `kabc.KABC`.
    comparisons : str, default "all"
        "all" pairs, or "representatives": the same partition from fewer distances, for many arms or costly distances.
        Distances that were not needed are NaN in the evidence. With more than 2,000 arms the evidence has columns for
        the representatives only.

    Notes
    -----
    Cost: N(N+1)/2 blocks of n^2 kernel values (exact kernels) or N n D (kernels with features). Memory: O(N^2). With
    representatives and clear groups: about K N blocks, and memory O(K N) and for the sums O(N D).

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> strategy = kabc.Cluster(n_arms=3, n=400, delta=0.1, kernel=kabc.Gaussian(bandwidth=1.0))
    >>> rng = np.random.default_rng(0)
    >>> strategy.tell({arm: rng.normal(6.0 * (arm == 2), 1.0, n) for arm, n in strategy.ask().items()})
    >>> strategy.recommend(), strategy.n_groups_at_least  # the partition is a guess, the number is certified
    (Partition(0 1 | 2), 2)
    """

    def __init__(
        self,
        n_arms: int,
        n: int,
        delta: float,
        kernel: Kernel,
        *,
        threshold: ThresholdName = "variance-aware",
        union: Union = "pairs",
        comparisons: Comparisons = "all",
    ) -> None:
        super().__init__(n_arms, delta)
        self.n = whole_number("n", n, 2)
        self.kernel = kernel_given(kernel)
        self.n_clusters: int | None = None
        self.separation: float | None = None
        self._threshold = make_threshold(threshold, union)
        self._comparisons = comparisons_given(comparisons)
        self._seen: Clustered | None = None

    @classmethod
    def for_separation(
        cls,
        n_arms: int,
        separation: float,
        delta: float,
        kernel: Kernel,
        *,
        union: Union = "pairs",
        comparisons: Comparisons = "all",
    ) -> Cluster:
        """CLUSTER with n = ceil(128 / s^2 L): non-adaptive with s = s_*, or K unknown with a lower bound s_0 of s_*.

        Its partition is certified for every instance whose s_* is at least `separation`.
        """
        s = positive_number("separation", separation)
        log_term = VarianceAware(union).log_term(arms_number(n_arms), error_probability(delta))
        n = max(2, math.ceil(128 / s**2 * log_term))
        strategy = cls(n_arms, n, delta, kernel, union=union, comparisons=comparisons)
        strategy.separation = s
        return strategy

    @property
    def n_distances(self) -> int:
        """Distances computed so far. All pairs are N (N - 1) / 2."""
        return 0 if self._seen is None else self._seen.n_distances

    @property
    def n_groups_at_least(self) -> int:
        return 1 if self._seen is None else self._seen.partition.n_groups

    def _request(self) -> Request:
        return all_arms(self.n_arms, self.n)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, None)
        self._test(embed(self.kernel, self.n_arms).extended(rows))

    @property
    def sums_of(self) -> FiniteKernel | None:
        """The kernel, if sums of its features are all that is needed of samples (`tell_sums`)."""
        return self.kernel if isinstance(self.kernel, FiniteKernel) else None

    def tell_sums(self, sums: FeatureSums) -> None:
        """Samples that were summed elsewhere: the same as `tell` with these samples."""
        self._test(checked_sums(sums, self._asked, self.kernel, None))

    def _test(self, embedding: Embedding) -> None:
        self._seen = connect(embedding, self._threshold, self.kernel, self.delta, self._comparisons)
        self._book(int(embedding.counts.sum()))
        self._close_round(self.n, self._seen.partition.n_groups)
        self._status = "budget" if self.separation is None else "decided"

    def recommend(self) -> Partition:
        if self._seen is None:
            return Partition((0,) * self.n_arms)
        return Partition(self._seen.partition.labels, certified=self.status == "decided")

    def evidence(self) -> Evidence:
        return Evidence.none(self.n_arms) if self._seen is None else self._seen.evidence

    def guarantee(self) -> Guarantee:
        if self.separation is None:
            claim = f"{pairs_claim(self.delta)} Whether all groups are found depends on n."
        else:
            claim = (
                f"If the separation s_* of the groups is at least {self.separation:g}, this grouping is wrong with "
                f"probability at most {percent(self.delta)}."
            )
        return Guarantee(
            strategy=f"CLUSTER(n = {self.n}, delta = {self.delta:g})",
            claim=claim,
            assumptions=assumptions(self.kernel),
            rule=(
                self._threshold.describe(self.n_arms).replace("delta_k", "delta"),
                "groups are the connected components of the pairs not told apart",
            ),
        )


def assumptions(kernel: Kernel, independent_arms: bool = False) -> tuple[str, ...]:
    """What the proofs use; see docs/theory.md."""
    bounds = (
        f"the kernel stays within [{kernel.infimum:g}, {kernel.supremum:g}] and was fixed before the samples were drawn"
    )
    same = (
        "the kernel is characteristic: the same group means the same distribution"
        if kernel.characteristic
        else "the kernel is not characteristic: the same group means the same mean embedding, "
        "not always the same distribution"
    )
    independent = ("samples of different arms are independent of each other",) if independent_arms else ()
    return ("samples of an arm are independent and identically distributed", *independent, bounds, same)
