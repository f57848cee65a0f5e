"""Batch peers of KABC draw n samples of every arm once, then group mean embeddings. They have no stopping rule.

| method          | paper                                                                                              |
|-----------------|----------------------------------------------------------------------------------------------------|
| kernel-kmeans   | start="random": Dhillon, Guan and Kulis, KDD 2004: K-means in feature space, equal weights, random |
|                 | arms as first centres                                                                              |
|                 | start="k-means++": Baillo, Berrendero and Sanchez-Signorini, arXiv 2509.18037: distributional      |
|                 | K-means of mean embeddings; it minimises the same sum, here from k-means++ centres                 |
| spectral        | Ng, Jordan and Weiss, On spectral clustering, NIPS 2001                                            |
| mmd-linkage     | single linkage, cut at K groups: KABC's graph with the best possible threshold                     |
| mmd-farthest    | farthest-first centres; like linkage, it recovers groups where kernel K-means may fail             |
|                 | (Vankadara, Bordt, von Luxburg and Ghoshdastidar, arXiv 2110.09476)                                |
| mmd-permutation | a permutation test of each pair at level delta / (N(N-1)/2), see permutation.py; the only one that |
|                 | certifies anything                                                                                 |

n is the number of samples of each arm. The methods and all other symbols are in methods.py.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.embeddings import embed
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.settings import whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, kernel_given
from kabc.strategies.cluster import assumptions
from kabc.strategies.peers.batch.methods import Method, Start, farthest_first, k_means, linkage, spectral
from kabc.strategies.peers.batch.permutation import SAMPLES_PER_ARM, MMDPermutation
from kabc.strategies.wording import exactly

_METHODS: dict[str, tuple[Method, str]] = {
    "kernel-kmeans": (partial(k_means, start="random"), "kernel K-means (Dhillon et al. 2004), random first centres"),
    "spectral": (spectral, "spectral clustering (Ng et al. 2001), affinity exp(-MMD^2 / (2 median^2))"),
    "mmd-linkage": (linkage, "single linkage of the MMD, cut at K groups"),
    "mmd-farthest": (farthest_first, "farthest-first centres by MMD, each arm to the nearest"),
}
_FROM_K_MEANS_PLUS_PLUS: tuple[Method, str] = (
    partial(k_means, start="k-means++"),
    "kernel K-means of mean embeddings (Baillo et al. 2025), k-means++ first centres",
)
_BY_K_MEANS = ("kernel-kmeans", "spectral")


class Batch(Stepwise):
    """One round of n samples of each arm, then a heuristic that groups their mean embeddings: nothing is certified.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability (not used: nothing is certified), kernel.
    method : "kernel-kmeans", "spectral", "mmd-linkage" or "mmd-farthest".
    samples_per_arm : n.
    start : first centres of kernel-kmeans. "random": random arms; "k-means++": arms that are far from each other.
    seed : seed of the first centres of K-means.

    Cost: the distances of `kabc.Cluster`, then at most N^3.
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        kernel: Kernel,
        *,
        method: str,
        samples_per_arm: int = SAMPLES_PER_ARM,
        start: Start = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.kernel = kernel_given(kernel)
        self.method = _known(method)
        self.start = _start_of(self.method, start)
        self.n = whole_number("samples_per_arm", samples_per_arm, 2)
        self.seed = whole_number("seed", seed, 0, 2**32 - 1)
        self._evidence = Evidence.none(self.n_arms)
        self._partition = Partition((0,) * self.n_arms)

    @property
    def n_groups_at_least(self) -> int:
        return 1

    def _request(self) -> Request:
        return all_arms(self.n_arms, self.n)

    def _method(self) -> tuple[Method, str]:
        return _FROM_K_MEANS_PLUS_PLUS if self.start == "k-means++" else _METHODS[self.method]

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, None)
        embedding = embed(self.kernel, self.n_arms).extended(rows)
        squared = embedding.squared_distances()  # eq. empdist
        labels = self._method()[0](squared, self.n_clusters, self.seed)
        none = self._evidence.told_in_round
        unknown = np.full_like(squared, np.nan)
        # Nothing above changed the state; nothing below can fail.
        self._evidence = Evidence.of_distances(none, embedding.counts, np.sqrt(squared), unknown, embedding.variances())
        self._partition = Partition.of(labels.tolist())
        self._take(rows)
        self._close_round(self.n, self._partition.n_groups)
        self._status = "stopped"

    def recommend(self) -> Partition:
        return self._partition

    def evidence(self) -> Evidence:
        return self._evidence

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"{self.method}(n = {self.n}, K = {self.n_clusters})",
            claim="Nothing is proven: a heuristic on a fixed number of samples. delta is not used.",
            assumptions=(*assumptions(self.kernel), exactly(self.n_clusters)),
            rule=(f"draws {self.n} samples of each arm once", self._method()[1]),
        )


def _known(method: str) -> str:
    if method not in _METHODS:
        raise SettingsError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    # before a single sample is paid for
    if method in _BY_K_MEANS and importlib.util.find_spec("sklearn") is None:
        raise SettingsError(f"method {method!r} needs scikit-learn; pip install 'kabc[sklearn]'")
    return method


def _start_of(method: str, start: Start) -> Start:
    """First centres; only kernel-kmeans has a choice."""
    if start not in get_args(Start):
        raise SettingsError(f"start must be one of {', '.join(map(repr, get_args(Start)))}, got {start!r}")
    if start != "random" and method != "kernel-kmeans":
        raise SettingsError(f"start is for 'kernel-kmeans', got start={start!r} for {method!r}; leave it out")
    return start


# name -> maker (n_arms, n_clusters, delta, kernel, **options)
BATCH: dict[str, Callable[..., Any]] = {
    **{name: partial(Batch, method=name) for name in _METHODS},
    "mmd-permutation": MMDPermutation,
}
