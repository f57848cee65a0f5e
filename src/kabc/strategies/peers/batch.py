"""Batch peers of KABC: n samples of every arm once, then a method that groups mean embeddings; no stopping rule.

| symbol   | here          | meaning                                                                                |
|----------|---------------|----------------------------------------------------------------------------------------|
| n        | `n`           | samples of each arm                                                                    |
| MMD_ij^2 | `squared`     | squared distance of two empirical mean embeddings (eq. empdist), (N, N)                |
| G        | `_points`     | inner products of mean embeddings less their common mean: what K-means in the RKHS sees |
| A, s     | `spectral`    | affinity exp(-MMD^2 / (2 s^2)), A_ii = 0, s the median MMD of the pairs                |
| L        | `spectral`    | D^(-1/2) A D^(-1/2), D_ii the sum of row i of A                                        |

| method                | paper                                                                                        |
|-----------------------|----------------------------------------------------------------------------------------------|
| kernel-kmeans         | Dhillon, Guan and Kulis, KDD 2004: K-means in feature space, equal weights, random arms as   |
|                       | first centres                                                                                |
| distributional-kmeans | Baillo, Berrendero and Sanchez-Signorini, arXiv 2509.18037: K-means of mean embeddings; it   |
|                       | minimises the same, here from k-means++ centres                                              |
| spectral              | Ng, Jordan and Weiss, On spectral clustering, NIPS 2001                                      |
| mmd-linkage           | single linkage, cut at K groups: KABC's graph with the best threshold that there is          |
| mmd-farthest          | farthest-first centres; as linkage, it recovers groups where kernel K-means may fail         |
|                       | (Vankadara, Bordt, von Luxburg and Ghoshdastidar, arXiv 2110.09476)                          |
| mmd-permutation       | a permutation test of each pair at level delta / (N(N-1)/2), see permutation.py; the only    |
|                       | one that certifies anything                                                                  |
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import embed
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition, single_linkage
from kabc.core.settings import whole_number
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, kernel_given
from kabc.strategies.cluster import assumptions
from kabc.strategies.peers.pair_tests.permutation import PermutationKABC

Labels = NDArray[np.intp]
Method = Callable[[Array, int, int], Labels]  # squared distances (N, N), K, seed -> (N,)
Start = Literal["random", "k-means++"]

SAMPLES_PER_ARM = 100  # arbitrary: none of these methods knows how many it needs
_RESTARTS = 20


# ---------------------------------------------------------------- methods: squared distances to labels


def k_means(squared: Array, n_groups: int, seed: int, *, start: Start) -> Labels:  # (N, N) -> (N,)
    """Kernel K-means: Lloyd's algorithm on mean embeddings, the best of several starts."""
    return _k_means(_points(squared), n_groups, seed, start)


def _points(squared: Array) -> Array:  # (N, N) -> (N, N)
    """Points with these squared distances, which mean embeddings are: K-means on them is K-means in the RKHS."""
    centred = squared - squared.mean(axis=0)
    values, vectors = np.linalg.eigh((centred - centred.mean(axis=1, keepdims=True)) / -2)  # G
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def spectral(squared: Array, n_groups: int, seed: int) -> Labels:  # (N, N) -> (N,)
    """K-means on the rows, scaled to length 1, of the K largest eigenvectors of L."""
    between = squared[~np.eye(len(squared), dtype=np.bool_)]
    scale = float(np.median(np.sqrt(between))) or 1.0  # equal arms: any scale will do
    affinity = np.exp(-squared / (2 * scale**2))
    np.fill_diagonal(affinity, 0.0)
    # an arm far from all others has no affinity at all: a row of zeros, a point of its own
    roots = np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(np.float64).tiny))
    _, vectors = np.linalg.eigh(affinity / np.outer(roots, roots))
    rows = vectors[:, -n_groups:]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return _k_means(rows / np.where(lengths > 0, lengths, 1.0), n_groups, seed, "k-means++")


def linkage(squared: Array, n_groups: int, seed: int) -> Labels:  # (N, N) -> (N,)
    """Single linkage: the minimum spanning tree without its K - 1 longest edges."""
    return np.array(single_linkage(squared, n_groups).labels, dtype=np.intp)


def farthest_first(squared: Array, n_groups: int, seed: int) -> Labels:  # (N, N) -> (N,)
    """Centres are arm 0, then always the arm farthest from its nearest centre; arms belong to the nearest centre."""
    centres = [0]  # arbitrary in the paper
    while len(centres) < n_groups:
        centres.append(int(squared[:, centres].min(axis=1).argmax()))
    return np.asarray(squared[:, centres].argmin(axis=1), dtype=np.intp)


def _k_means(points: Array, n_groups: int, seed: int, start: Start) -> Labels:  # (N, D) -> (N,)
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than K different points: fewer groups come out
        fitted = KMeans(n_groups, init=start, n_init=_RESTARTS, random_state=seed).fit(points)
    return np.asarray(fitted.labels_, dtype=np.intp)


_METHODS: dict[str, tuple[Method, str]] = {
    "kernel-kmeans": (partial(k_means, start="random"), "kernel K-means (Dhillon et al. 2004), random first centres"),
    "distributional-kmeans": (
        partial(k_means, start="k-means++"),
        "K-means of mean embeddings (Baillo et al. 2025), k-means++ first centres",
    ),
    "spectral": (spectral, "spectral clustering (Ng et al. 2001), affinity exp(-MMD^2 / (2 median^2))"),
    "mmd-linkage": (linkage, "single linkage of the MMD, cut at K groups"),
    "mmd-farthest": (farthest_first, "farthest-first centres by MMD, each arm to the nearest"),
}
_BY_K_MEANS = ("kernel-kmeans", "distributional-kmeans", "spectral")


# ---------------------------------------------------------------- strategies


class Batch(Stepwise):
    """One round of n samples of each arm, then a heuristic that groups their mean embeddings: nothing is certified.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability (not used: nothing is certified), kernel.
    method : "kernel-kmeans", "distributional-kmeans", "spectral", "mmd-linkage" or "mmd-farthest".
    samples_per_arm : n.
    seed : of the first centres of K-means.

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
        seed: int = 0,
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.kernel = kernel_given(kernel)
        self.method = _known(method)
        self.n = whole_number("samples_per_arm", samples_per_arm, 2)
        self.seed = whole_number("seed", seed, 0, 2**32 - 1)
        self._evidence = Evidence.none(self.n_arms)
        self._partition = Partition((0,) * self.n_arms)

    @property
    def n_groups_at_least(self) -> int:
        return 1

    def _request(self) -> Request:
        return all_arms(self.n_arms, self.n)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, None)
        embedding = embed(self.kernel, self.n_arms).extended(rows)
        squared = embedding.squared_distances()  # eq. empdist
        labels = _METHODS[self.method][0](squared, self.n_clusters, self.seed)
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
            claim="nothing is proven: a heuristic on a fixed number of samples, and delta is not used.",
            assumptions=(*assumptions(self.kernel), f"there are exactly {self.n_clusters} groups"),
            rule=(f"draws {self.n} samples of each arm once", _METHODS[self.method][1]),
        )


def _known(method: str) -> str:
    if method not in _METHODS:
        raise SettingsError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    # before a single sample is paid for
    if method in _BY_K_MEANS and importlib.util.find_spec("sklearn") is None:
        raise SettingsError(f"method {method!r} needs scikit-learn; pip install 'kabc[sklearn]'")
    return method


class MMDPermutation(PermutationKABC):
    """A permutation test of each pair on n samples of each arm, once: pairs told apart are certified.

    The groups are the connected components of the other pairs, and certified when there are exactly K of them.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability of all tests together, kernel.
    samples_per_arm : n.
    seed : of the relabellings.

    Cost: see `PermutationKABC`, with one round.
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        kernel: Kernel,
        *,
        samples_per_arm: int = SAMPLES_PER_ARM,
        seed: int = 0,
    ) -> None:
        self.n = whole_number("samples_per_arm", samples_per_arm, 2)
        super().__init__(n_arms, n_clusters, delta, kernel, seed=seed)

    def _share(self, number: int) -> float:
        return self.delta

    def _first(self) -> int:
        return self.n

    def _conclusion(self, n_groups: int) -> Status | None:
        return super()._conclusion(n_groups) or "budget"

    def _words(self) -> tuple[str, tuple[str, ...]]:
        return "one permutation test of each pair", (
            f"tests {self.n} samples of each arm once",
            (
                "told apart when none of ceil(1/alpha) - 1 random relabellings of the pair's samples is as far "
                f"apart as they are, alpha = delta / {self.n_pairs} (union over pairs)"
            ),
        )


# name -> maker (n_arms, n_clusters, delta, kernel, **options)
BATCH: dict[str, Callable[..., Any]] = {
    **{name: partial(Batch, method=name) for name in _METHODS},
    "mmd-permutation": MMDPermutation,
}
