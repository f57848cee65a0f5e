"""KABC by an empirical Bernstein confidence sequence in Hilbert space: Martinez-Taboada and Ramdas, Empirical Bernstein
in smooth Banach spaces, arXiv 2409.06060.

| symbol      | here        | meaning                                                                              |
|-------------|-------------|--------------------------------------------------------------------------------------|
| X_t         | row t       | phi(x_t) of the t-th sample x_t of an arm, ||X_t|| <= B                              |
| B           | `bound`     | sqrt(sup k)                                                                          |
| L           | `log_term`  | ln(2/alpha), alpha = delta/N: one confidence sequence for each arm                   |
| m_{t-1}     |             | mean of X_1 .. X_{t-1}; m_0 = 0                                                      |
| D_t         | `deviations`| ||X_t - m_{t-1}||^2                                                                  |
| v_{t-1}     |             | (B^2/4 + D_1 + .. + D_{t-1}) / t                                                     |
| l_t         | `weights`   | min(0.8, sqrt(32 B^2 L / (v_{t-1} t ln(1 + t)))): fixed before x_t is seen           |
| psi(l)      | `_psi`      | -ln(1 - l) - l                                                                       |
| mu_hat      |             | sum of l_s X_s / sum of l_s                                                          |
| r           | `_radii`    | (sum of psi(l_s) D_s / (4B) + 4B L) / sum of l_s                                     |

With probability 1 - alpha, ||mu_hat - mu|| <= r at all times. So a pair is told apart when ||mu_hat_i - mu_hat_j|| >
r_i + r_j: a union over N arms, not over pairs. The theorem is for B = 1/2; here it is applied to X / (2B). It is
cited, not proven: docs/theory.md, section 16.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import means
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.thresholds import pair_thresholds
from kabc.core.kernels import Kernel
from kabc.strategies.answers import Guarantee
from kabc.strategies.peers.pair_tests.by_test import ByTest, Samples, farthest, joined, prior_sums

_LARGEST = 0.8  # largest weight, a condition of the theorem


@dataclass(frozen=True, slots=True)
class Sequences:
    """Samples and weights so far, and for the arms: sums of k, weighted sums of k, sums of D and of psi D."""

    samples: Samples
    weights: Array  # (N, t)
    own: Array  # (N,), t^2 ||m_t||^2
    weighted: Array  # (N, N), of l_s l_t k(x_s, x_t)
    spread: Array  # (N,)
    penalty: Array  # (N,)


class BernsteinKABC(ByTest[Sequences]):
    """KABC by empirical Bernstein confidence sequences: one ball for each arm, valid at all times at once.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability, kernel.
    growth : each round multiplies the samples of an arm by this factor.

    Arms need not be independent of each other. Cost: as `WitnessKABC`.
    """

    independent_arms = False

    def __init__(self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, *, growth: float = 1.1) -> None:
        super().__init__(n_arms, n_clusters, delta, kernel, growth)

    @property
    def log_term(self) -> float:
        """L."""
        return math.log(2 * self.n_arms / self.delta)

    @property
    def bound(self) -> float:
        """B."""
        return math.sqrt(self.kernel.supremum)

    def _start(self) -> Sequences:
        none = np.zeros(self.n_arms)
        return Sequences((), np.zeros((self.n_arms, 0)), none, np.zeros((self.n_arms, self.n_arms)), none, none)

    def _first(self) -> int:
        # without any deviation, two radii still add up to 8 B L / (0.8 t)
        return 1 + math.floor(8 * self.bound * self.log_term / (_LARGEST * farthest(self.kernel)))

    def _look(self, memory: Sequences, rows: Sequence[NDArray[Any]]) -> tuple[Sequences, Evidence]:
        samples = joined(memory.samples, rows)
        deviations, own = self._deviations(samples, memory.own)
        new = self._weights(deviations, memory.spread)
        weights = np.concatenate([memory.weights, new], axis=1)
        prior, level = prior_sums(self.kernel, samples, weights, self._held)
        half = np.einsum("ijt,jt->ij", prior, new)
        grown = Sequences(
            samples,
            weights,
            own,
            memory.weighted + half + half.T + np.einsum("ijt,it,jt->ij", level, new, new),
            memory.spread + deviations.sum(axis=1),
            memory.penalty + (_psi(new) * deviations).sum(axis=1),
        )
        return grown, self._compared(grown)

    def _deviations(self, samples: Samples, own: Array) -> tuple[Array, Array]:  # -> (N, m), (N,)
        """D_t of the samples of a round, and t^2 ||m_t||^2 after it."""
        held, count = self._held, len(samples[0])
        ones = np.ones((1, count))
        both = [prior_sums(self.kernel, (x,), ones, held) for x in samples]
        prior, level = (np.stack([pair[k][0, 0] for pair in both]) for k in (0, 1))  # (N, m)
        added = 2 * prior + level
        after = own[:, None] + np.cumsum(added, axis=1)
        before = np.maximum(np.arange(held, count), 1)
        # values that rounding made negative are set to 0
        return np.maximum(level - 2 * prior / before + (after - added) / before**2, 0.0), after[:, -1]

    def _weights(self, deviations: Array, spread: Array) -> Array:  # (N, m), (N,) -> (N, m)
        """l_t, where v_{t-1} depends only on earlier samples."""
        t = np.arange(self._held + 1, self._held + deviations.shape[1] + 1)
        earlier = spread[:, None] + np.cumsum(deviations, axis=1) - deviations
        scaled = (self.bound**2 / 4 + earlier) * np.log1p(t)  # v_{t-1} t ln(1 + t)
        return np.minimum(_LARGEST, np.sqrt(32 * self.bound**2 * self.log_term / scaled))

    def _compared(self, seen: Sequences) -> Evidence:
        totals = seen.weights.sum(axis=1)
        inner = seen.weighted / np.outer(totals, totals)  # <mu_hat_i, mu_hat_j>
        own = inner.diagonal()
        distances = np.sqrt(means.squared_distances(inner, own, own, np.eye(self.n_arms, dtype=np.bool_)))
        radii = (seen.penalty / (4 * self.bound) + 4 * self.bound * self.log_term) / totals
        thresholds = pair_thresholds(radii[None])
        count = seen.weights.shape[1]
        counts = np.full(self.n_arms, count, dtype=np.int64)
        told = (distances > thresholds).astype(np.int64)
        return Evidence.of_distances(told, counts, distances, thresholds, seen.spread / count)

    def _words(self) -> tuple[str, tuple[str, ...]]:
        return "empirical Bernstein confidence sequences", (
            "told apart when ||mu_i - mu_j|| > r_i + r_j, of means weighted with predictable l_t <= 0.8",
            (
                "r = (sum of psi(l_t) ||X_t - m_(t-1)||^2 / (4B) + 4B ln(2/alpha)) / sum of l_t, "
                f"psi(l) = -ln(1 - l) - l, B = {self.bound:g}, alpha = delta / {self.n_arms} (union over arms)"
            ),
        )

    def guarantee(self) -> Guarantee:
        known = super().guarantee()
        cited = "the empirical Bernstein theorem of arXiv 2409.06060 holds with ln(2/alpha) and l_t <= 0.8"
        return replace(known, assumptions=(*known.assumptions, cited))


def _psi(weights: Array) -> Array:
    return np.asarray(-np.log1p(-weights) - weights)
