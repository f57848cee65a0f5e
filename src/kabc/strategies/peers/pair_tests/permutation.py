"""KABC by permutation tests of the MMD: exact at any number of samples, without constants.

The test is that of Gretton et al., A kernel two-sample test, JMLR 13, 2012, with the p-value of a random number of
relabellings (Besag and Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991); the rounds are those of KABC.

| symbol  | here              | meaning                                                                            |
|---------|-------------------|------------------------------------------------------------------------------------|
| n_k     | `Round.n`         | samples of each arm at the end of round k, all kept: n_1, then growth times as many |
| delta_k | `_share`          | 6 delta / (pi^2 k^2)                                                               |
| alpha_k | `alpha`           | delta_k / (N(N-1)/2): level of a pair in round k                                   |
| M       | `most`            | ceil(1/alpha_k) - 1: largest number of relabellings                                |
| l       | `first_as_far`    | number of the first relabelling whose distance is at least the observed one        |
| p       |                   | 1/l, or 1/(M + 1) if there is no such relabelling: then the pair is told apart     |

If two arms are the same, all labellings of their 2n samples are equally likely: the observed one and M random ones. The
observed one alone has the largest distance with probability at most 1/(M + 1) <= alpha_k. Relabelling ends with the
first l, which decides the test. So equal arms take few relabellings. Proof: docs/theory.md, section 16.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import embed
from kabc.core.embeddings.means import Embedding
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.settings import whole_number
from kabc.strategies.peers.pair_tests.by_test import ByTest, Samples, joined

Relabellings = Callable[[int], NDArray[np.int8]]  # number of a chunk -> (C, 2n) of +1 and -1, n of each

_CHUNK = 256  # relabellings at a time
_CHUNK_BYTES = 2**27  # memory for stored chunks; all pairs of a round use the same relabellings
_TIE = 1e-5  # distances that differ by less count as equal, because rounding must not tell arms apart
_LABELLINGS = 32  # times 1/alpha: with fewer labellings the observed one would often be drawn again by chance


def relabellings(n: int, seed: Sequence[int]) -> Relabellings:
    """Random labellings of n + n samples. The same seed and number give the same labellings."""
    observed = np.repeat(np.array([1, -1], dtype=np.int8), n)

    @lru_cache(maxsize=max(1, _CHUNK_BYTES // (2 * n * _CHUNK)))
    def chunk(number: int) -> NDArray[np.int8]:
        rng = np.random.default_rng([*seed, number])
        return rng.permuted(np.tile(observed, (_CHUNK, 1)), axis=1)

    return chunk


def first_as_far(kernel: Kernel, x: NDArray[Any], y: NDArray[Any], most: int, relabelled: Relabellings) -> int:
    """Number of the first relabelling of x and y, (n, d) each, with at least their distance. If none: most + 1."""
    squared = _squared_distances(kernel, np.concatenate([x, y]))
    observed = float(squared(np.repeat(np.array([[1.0, -1.0]], dtype=np.float32), len(x), axis=1))[0])
    for start in range(0, most, _CHUNK):
        signs = relabelled(start // _CHUNK)[: most - start]
        reached = squared(signs.astype(np.float32)) >= observed * (1 - _TIE)
        if reached.any():
            return start + int(reached.argmax()) + 1
    return most + 1


def _squared_distances(kernel: Kernel, pooled: NDArray[Any]) -> Callable[[NDArray[np.float32]], Array]:  # (2n, d)
    """A function from labellings w, (C, 2n), to w K w', the squared distances (eq. empdist) times n^2."""
    if isinstance(kernel, FiniteKernel):
        features = kernel.features(pooled)
        features = (features - features.mean(axis=0)).astype(np.float32)
        return lambda signs: np.square(signs @ features, dtype=np.float64).sum(axis=1)
    gram = kernel(pooled, pooled)
    # labels sum to 0, so centring K changes nothing, and float32 is then exact enough
    centred = gram - gram.mean(axis=0)
    narrow = (centred - centred.mean(axis=1, keepdims=True)).astype(np.float32)
    return lambda signs: np.einsum("cs,cs->c", signs @ narrow, signs, dtype=np.float64)


class PermutationKABC(ByTest[tuple[Samples, Embedding]]):
    """KABC by permutation tests: far fewer samples than any bound, at far more computing time.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability, kernel.
    growth : each round multiplies the samples of an arm by this factor.
    seed : seed of the relabellings.

    Cost: a pair that is told apart in round k takes about N^2 k^2 / delta relabellings of 4 n_k^2 steps (2 n_k D for a
    kernel of D features). Other pairs take few relabellings. Memory is 4 n_k^2 numbers.
    """

    def __init__(
        self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, *, growth: float = 2.0, seed: int = 0
    ) -> None:
        self.seed = whole_number("seed", seed, 0)
        super().__init__(n_arms, n_clusters, delta, kernel, growth)

    def _share(self, number: int) -> float:
        return 6 * self.delta / (math.pi * number) ** 2

    def alpha(self, number: int) -> float:
        """Level of each pair in a round."""
        return self._share(number) / self.n_pairs

    def _start(self) -> tuple[Samples, Embedding]:
        return (), embed(self.kernel, self.n_arms)

    def _first(self) -> int:
        n = 2
        while math.comb(2 * n, n) * self.alpha(1) < _LABELLINGS:
            n += 1
        return n

    def _look(
        self, memory: tuple[Samples, Embedding], rows: Sequence[NDArray[Any]]
    ) -> tuple[tuple[Samples, Embedding], Evidence]:
        samples, embedding = joined(memory[0], rows), memory[1].extended(rows)
        number = len(self._rounds) + 1
        most = math.ceil(1 / self.alpha(number)) - 1
        relabelled = relabellings(len(samples[0]), (self.seed, number))
        before, done = self._evidence, self._evidence.told_apart  # these are not tested again
        found = np.ones(done.shape)  # 1/p
        for i, j in np.argwhere(np.triu(~done, 1)).tolist():
            found[i, j] = found[j, i] = first_as_far(self.kernel, samples[i], samples[j], most, relabelled)
        evidence = Evidence(
            by_bets=True,
            counts=embedding.counts,
            compared=np.arange(self.n_arms),
            told=(found > most).astype(np.int64) * ~np.eye(self.n_arms, dtype=np.bool_),
            values=np.where(done, before.log_evidence, np.log(found)),
            limits=np.where(done, before.log_threshold, -math.log(self.alpha(number))),
            variances=embedding.variances(),
            measured=np.sqrt(embedding.squared_distances()),  # eq. empdist
        )
        return (samples, embedding), evidence

    def _dissimilarity(self) -> Array:
        return np.where(self._evidence.told_apart, np.inf, self._evidence.distances)

    def _words(self) -> tuple[str, tuple[str, ...]]:
        return "permutation tests", (
            (
                f"round k tests n_k samples of each arm, {self.growth:g} times those of the round before, with "
                "delta_k = 6 delta / (pi^2 k^2)"
            ),
            (
                "told apart when none of ceil(1/alpha) - 1 random relabellings of the pair's samples is as far "
                f"apart as they are, alpha = delta_k / {self.n_pairs} (union over pairs)"
            ),
        )
