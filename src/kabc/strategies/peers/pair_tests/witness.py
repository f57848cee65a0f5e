"""KABC by betting with an MMD witness: one wealth for each pair of arms.

Shekhar and Ramdas, Nonparametric two-sample testing by betting, arXiv 2112.09162: the sequential kernel-MMD test, with
bets by online Newton steps (ONS).

| symbol      | here         | meaning                                                                               |
|-------------|--------------|---------------------------------------------------------------------------------------|
| X_t, Y_t    | row t        | the t-th samples of arms i and j                                                      |
| phi, k      | `kernel`     | feature map and kernel, k(x, y) = <phi(x), phi(y)>                                    |
| g_t         |              | witness: mu_X - mu_Y of the samples before t, divided by its norm                     |
| F_t         | `payoffs`    | <g_t, phi(X_t) - phi(Y_t)> / sqrt(2 (sup k - inf k)), in [-1, 1]; F_1 = 0             |
| lambda_t    | `bets`       | share of the wealth that is bet, in [-1/2, 1/2], fixed before X_t and Y_t are seen    |
| z_t, A_t    | `curvature`  | -F_t / (1 + lambda_t F_t), and 1 + sum of z_s^2: what ONS remembers                   |
| W_t         | `log_wealth` | product of 1 + lambda_s F_s; told apart at W_t >= N(N-1) / (2 delta)                  |

The paper's witness is not divided by its norm. The paper's code scales payoffs by the largest so far, and wealth may
fall below 0. This file has the safe version: |F_t| <= 1, because ||phi(x) - phi(y)||^2 <= 2 (sup k - inf k). If both
arms are the same, X_t and Y_t can be exchanged, which turns F_t into -F_t. So W_t is a martingale for any witness, even
with rounding errors, and P(sup W_t >= 1/a) <= a (Ville). Proof: docs/theory.md, section 16.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.evidence.betting import log_threshold
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.strategies.peers.pair_tests.by_test import ByTest, Samples, farthest, joined, prior_sums

_ONS_STEP = 2 / (2 - math.log(3))
_ROUNDING = 1e-12  # a witness with a smaller squared norm is only rounding errors


@dataclass(frozen=True, slots=True)
class Bets:
    """Samples so far and their sums of k. For each pair: log wealth, its maximum, the next bet, and curvature."""

    samples: Samples
    sums: Array  # (N, N), t^2 <mu_i, mu_j>
    log_wealth: Array  # (N, N), as all below
    best: Array
    bets: Array
    curvature: Array


class WitnessKABC(ByTest[Bets]):
    """KABC by betting with an MMD witness: one wealth for each pair, checked after every sample.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability, kernel.
    growth : each round multiplies the samples of an arm by this factor. Wealth is checked after every sample anyway.

    Cost: N^2 t^2 kernel values for t samples of each arm, or N^2 t features of a kernel with features. Memory: the
    samples, and N^2 numbers for each sample of a round.
    """

    def __init__(self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, *, growth: float = 1.1) -> None:
        super().__init__(n_arms, n_clusters, delta, kernel, growth)

    def _start(self) -> Bets:
        none = np.zeros((self.n_arms, self.n_arms))
        return Bets((), none, none, none, none, np.ones_like(none))

    def _first(self) -> int:
        # F_1 = 0, and no factor is larger than 1 + 1/2
        return 2 + math.ceil(log_threshold(self.n_arms, self.delta) / math.log(1.5))

    def _look(self, memory: Bets, rows: Sequence[NDArray[Any]]) -> tuple[Bets, Evidence]:
        samples = joined(memory.samples, rows)
        prior, level = prior_sums(self.kernel, samples, np.ones((self.n_arms, len(samples[0]))), self._held)
        payoffs, sums = payoffs_of_round(memory.sums, prior, level, farthest(self.kernel))
        grown = _bet(replace(memory, samples=samples, sums=sums), payoffs)
        limits = np.full_like(sums, log_threshold(self.n_arms, self.delta))
        told = (grown.best >= limits) & ~np.eye(self.n_arms, dtype=np.bool_)
        counts = np.full(self.n_arms, len(samples[0]), dtype=np.int64)
        return grown, Evidence.of_bets(told.astype(np.int64), counts, grown.best, limits)

    def _words(self) -> tuple[str, tuple[str, ...]]:
        return "betting with an MMD witness", (
            (
                "bets lambda_t by online Newton steps in [-1/2, 1/2] on F_t = <g_t, phi(X_t) - phi(Y_t)> / "
                "sqrt(2 (sup k - inf k)), g_t the normed witness mu_X - mu_Y of earlier samples"
            ),
            f"told apart when the product of 1 + lambda_t F_t reaches {self.n_arms}({self.n_arms} - 1) / (2 delta)",
        )


def payoffs_of_round(
    sums: Array, prior: Array, level: Array, scale: float
) -> tuple[Array, Array]:  # -> (N, N, m), (N, N)
    """F_t of all pairs for the samples of a round, and the sums of k after it."""
    added = prior + prior.swapaxes(0, 1) + level
    after = sums[:, :, None] + np.cumsum(added, axis=2)
    before = after - added  # (t - 1)^2 <mu_i, mu_j>
    norms, gains = _parted(before), _parted(prior)  # (t - 1) (mu_X - mu_Y): square, and value at X_t - Y_t
    own = np.einsum("iit->it", before)
    known = norms > _ROUNDING * (own[:, None] + own[None])
    payoffs = np.where(known, gains / (scale * np.sqrt(np.where(known, norms, 1.0))), 0.0)
    return np.clip(payoffs, -1.0, 1.0), after[:, :, -1]


def _parted(values: Array) -> Array:  # (N, N, m) -> (N, N, m)
    """v_ii + v_jj - v_ij - v_ji."""
    own = np.einsum("iit->it", values)
    return np.asarray(own[:, None] + own[None] - values - values.swapaxes(0, 1))


def _bet(memory: Bets, payoffs: Array) -> Bets:  # (N, N, m)
    """Bet on the payoffs in order, one at a time."""
    log_wealth, best, bets, curvature = memory.log_wealth, memory.best, memory.bets, memory.curvature
    for t in range(payoffs.shape[2]):
        factors = 1 + bets * payoffs[:, :, t]
        log_wealth = log_wealth + np.log(factors)
        best = np.maximum(best, log_wealth)
        z = -payoffs[:, :, t] / factors
        curvature = curvature + z * z
        bets = np.clip(bets - _ONS_STEP * z / curvature, -0.5, 0.5)
    return Bets(memory.samples, memory.sums, log_wealth, best, bets, curvature)
