"""KABC by other tests: what they share (`ByTest`), and the first of them, betting with an MMD witness.

Shekhar and Ramdas, Nonparametric two-sample testing by betting, arXiv 2112.09162: the sequential kernel-MMD test, with
bets by online Newton steps (ONS), for each pair of arms.

| symbol      | here         | meaning                                                                               |
|-------------|--------------|---------------------------------------------------------------------------------------|
| X_t, Y_t    | row t        | the t-th samples of arms i and j                                                      |
| phi, k      | `kernel`     | feature map and kernel, k(x, y) = <phi(x), phi(y)>                                    |
| g_t         |              | witness: mu_X - mu_Y of the samples before t, divided by its norm                     |
| F_t         | `payoffs`    | <g_t, phi(X_t) - phi(Y_t)> / sqrt(2 (sup k - inf k)), in [-1, 1]; F_1 = 0             |
| lambda_t    | `bets`       | share of the wealth that is bet, in [-1/2, 1/2], fixed before X_t and Y_t are seen    |
| z_t, A_t    | `curvature`  | -F_t / (1 + lambda_t F_t), and 1 + sum of z_s^2: what ONS remembers                   |
| W_t         | `log_wealth` | product of 1 + lambda_s F_s; told apart at W_t >= N(N-1) / (2 delta)                  |

The paper's witness is not divided by its norm, and its code scales payoffs by the largest so far, which may let wealth
fall below 0. Here |F_t| <= 1 because ||phi(x) - phi(y)||^2 <= 2 (sup k - inf k): the safe version. If both arms are the
same, X_t and Y_t may change places, which turns F_t into -F_t; so W_t is a martingale whatever the witness, rounding
errors of the witness included, and P(sup W_t >= 1/a) <= a (Ville).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.evidence.betting import log_threshold
from kabc.kernels import FiniteKernel, Kernel
from kabc.partitions import Partition, components, single_linkage
from kabc.result import Evidence, Guarantee, Round, Status
from kabc.samples import Array
from kabc.strategies.base import (
    Request,
    all_arms,
    arms_number,
    checked_samples,
    error_probability,
    kernel_given,
    positive_number,
    whole_number,
)
from kabc.strategies.cluster import assumptions

Memory = TypeVar("Memory")
Samples = tuple[NDArray[Any], ...]  # of each arm, (t, d)

_VALUES = 2**21  # kernel values held at a time: 16 MB
_ONS_STEP = 2 / (2 - math.log(3))
_ROUNDING = 1e-12  # of a squared norm: below, a witness is nothing but rounding errors


# ---------------------------------------------------------------- what the tests share


class ByTest(ABC, Generic[Memory]):
    """KABC with another test of pairs.

    Every round draws from all arms, all samples are kept, and pairs told apart stay told apart. It stops when the rest
    forms exactly K connected components, or more, which refutes K. A test must tell no two arms of one group apart, in
    any round, with probability at least 1 - delta: the proof of KABC uses no more.
    """

    independent_arms = True  # whether the test needs samples of different arms to be independent of each other

    def __init__(self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, growth: float) -> None:
        self.n_arms = arms_number(n_arms)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.delta = error_probability(delta)
        self.kernel = kernel_given(kernel)
        self.growth = positive_number("growth", growth, above=1.0)
        # --- state: what the next step needs, and what people look at
        self._asked: Request | None = None
        self._memory = self._start()
        self._columns: int | None = None
        self._held = 0
        self._target = self._first()
        self._evidence = Evidence.none(self.n_arms)
        self._components = Partition((0,) * self.n_arms)
        self._rounds: list[Round] = []
        self._status: Status | None = None

    @property
    def n_pairs(self) -> int:
        """N(N-1)/2."""
        return math.comb(self.n_arms, 2)

    @abstractmethod
    def _start(self) -> Memory:
        """What the test knows before the first round."""

    @abstractmethod
    def _first(self) -> int:
        """Samples of each arm in the first round: fewer could tell nothing apart."""

    @abstractmethod
    def _look(self, memory: Memory, rows: Sequence[NDArray[Any]]) -> tuple[Memory, Evidence]:  # N arrays (m, d)
        """What the test knows with these samples, and the pairs that it tells apart, as 1; changes nothing."""

    @abstractmethod
    def _words(self) -> tuple[str, tuple[str, ...]]:
        """Name and rule of the test."""

    def _share(self, number: int) -> float:
        """Error probability of that round; all of it in every round where the test is valid uniformly in time."""
        return self.delta

    @property
    def stopped(self) -> bool:
        return self._status is not None

    @property
    def status(self) -> Status | None:
        return self._status

    @property
    def n_samples(self) -> int:
        return self.n_arms * self._held

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    @property
    def n_groups_at_least(self) -> int:
        return self._components.n_groups

    def ask(self) -> Request:
        self._asked = {} if self.stopped else all_arms(self.n_arms, self._target - self._held)
        return dict(self._asked)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, self._columns)
        memory, seen = self._look(self._memory, rows)
        number, before = len(self._rounds) + 1, self._evidence.told_in_round
        told_in_round = np.where(before > 0, before, number * seen.told_in_round)
        parts = components(told_in_round == 0)
        # Nothing above changed the state; nothing below can fail.
        self._asked = None
        self._memory, self._evidence, self._components = memory, replace(seen, told_in_round=told_in_round), parts
        self._columns = rows[0].shape[1]
        self._held = self._target
        self._target = max(self._held + 1, math.ceil(self.growth * self._held))
        self._rounds.append(Round(number, self._share(number), self._held, self.n_samples, parts.n_groups))
        self._status = self._conclusion(parts.n_groups)

    def _conclusion(self, n_groups: int) -> Status | None:
        if n_groups == self.n_clusters:
            return "decided"
        return "contradicted" if n_groups > self.n_clusters else None

    def recommend(self) -> Partition:
        if self._components.n_groups >= self.n_clusters or not self._rounds:
            return Partition(self._components.labels, certified=self._status == "decided")
        return single_linkage(self._dissimilarity(), self.n_clusters)

    def _dissimilarity(self) -> Array:  # (N, N)
        """What the best guess is made from: infinite where told apart, so that no two components are joined."""
        strength = np.nan_to_num(self._evidence.strength, nan=0.0)
        return np.where(self._evidence.told_apart, np.inf, np.maximum(strength, 0.0))

    def evidence(self) -> Evidence:
        return self._evidence

    def guarantee(self) -> Guarantee:
        name, rule = self._words()
        return Guarantee(
            strategy=f"KABC by {name} (delta = {self.delta:g}, K = {self.n_clusters})",
            claim=(
                f"with probability at least {1 - self.delta:g} no two arms of one group are ever told apart, so that a "
                f"decided partition is the right one if there are exactly {self.n_clusters} groups."
            ),
            assumptions=assumptions(self.kernel, self.independent_arms),
            rule=(*rule, "stops when the pairs not told apart form K connected components, or more, which refutes K"),
        )


def farthest(kernel: Kernel) -> float:
    """sqrt(2 (sup k - inf k)): no two samples, and no two mean embeddings, are farther apart."""
    return math.sqrt(2 * (kernel.supremum - kernel.infimum))


def joined(samples: Samples, rows: Sequence[NDArray[Any]]) -> Samples:  # N arrays (t, d), N arrays (m, d)
    """All samples of each arm; of none before, `samples` is empty."""
    return tuple(np.concatenate(both) for both in zip(samples, rows, strict=True)) if samples else tuple(rows)


def prior_sums(
    kernel: Kernel, samples: Samples, weights: Array, held: int
) -> tuple[Array, Array]:  # N arrays (t, d), (N, t) -> (N, N, m), (N, N, m)
    """Of arms i, j and the samples t of j after the first `held`: the sum of w_s k(x_s, x_t) over the samples s < t of
    arm i, w its weights; and k(x_t, x_t') with the t-th sample x_t' of arm i.

    Takes N^2 (t^2 - held^2) / 2 kernel values in time, or N t features of a kernel that has them.
    """
    new = [x[held:] for x in samples]
    n_arms, m = len(new), len(new[0])
    step = max(1, _VALUES // (m * m))
    earlier = np.triu(np.ones((m, m)), 1)  # (s, t): s < t
    sums, level = np.empty((n_arms, n_arms, m)), np.empty((n_arms, n_arms, m))
    for i in range(n_arms):
        inside = earlier * weights[i, held:, None]
        for start in range(0, n_arms, step):
            arms = slice(start, start + step)
            some = np.concatenate(new[arms])
            block = kernel(new[i], some).reshape(m, -1, m)  # (s, j, t)
            level[i, arms] = block.diagonal(axis1=0, axis2=2)
            sums[i, arms] = np.einsum("sjt,st->jt", block, inside)
            sums[i, arms] += _weighted_sums(kernel, samples[i][:held], weights[i, :held], some).reshape(-1, m)
    return sums, level


def _weighted_sums(kernel: Kernel, x: NDArray[Any], weights: Array, y: NDArray[Any]) -> Array:  # (n, d), (n,), (m, d)
    """Sum over s of w_s k(x_s, y) for each row y."""
    step = max(1, _VALUES // len(y))
    parts = [(weights[a : a + step], x[a : a + step]) for a in range(0, len(x), step)]
    if not parts:
        return np.zeros(len(y))
    if isinstance(kernel, FiniteKernel):
        centre = np.sum([w @ kernel.features(rows) for w, rows in parts], axis=0)
        return np.asarray(kernel.features(y) @ centre)
    return np.asarray(np.sum([w @ kernel(rows, y) for w, rows in parts], axis=0))


# ---------------------------------------------------------------- betting with an MMD witness


@dataclass(frozen=True, slots=True)
class Bets:
    """Samples so far, sums of k over all of them, and of each pair: log wealth, its maximum, next bet, curvature."""

    samples: Samples
    sums: Array  # (N, N), t^2 <mu_i, mu_j>
    log_wealth: Array  # (N, N), as all below
    best: Array
    bets: Array
    curvature: Array


class WitnessKABC(ByTest[Bets]):
    """KABC by betting with an MMD witness: one wealth for each pair, looked at after every sample.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability, kernel.
    growth : samples of an arm after a round over those before it; wealth is looked at within rounds all the same.

    Cost: N^2 t^2 kernel values for t samples of each arm (N^2 t features where the kernel has them), memory: the
    samples and N^2 numbers for each sample of a round.
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
        payoffs, sums = _payoffs(memory.sums, prior, level, farthest(self.kernel))
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


def _payoffs(sums: Array, prior: Array, level: Array, scale: float) -> tuple[Array, Array]:  # -> (N, N, m), (N, N)
    """F_t of all pairs for the samples of a round, and the sums of k after it."""
    added = prior + prior.swapaxes(0, 1) + level
    after = sums[:, :, None] + np.cumsum(added, axis=2)
    before = after - added  # (t - 1)^2 <mu_i, mu_j>
    norms, gains = _parted(before), _parted(prior)  # of (t - 1) (mu_X - mu_Y): its square; its value at X_t less Y_t
    own = np.einsum("iit->it", before)
    known = norms > _ROUNDING * (own[:, None] + own[None])
    payoffs = np.where(known, gains / (scale * np.sqrt(np.where(known, norms, 1.0))), 0.0)
    return np.clip(payoffs, -1.0, 1.0), after[:, :, -1]


def _parted(values: Array) -> Array:  # (N, N, m) -> (N, N, m)
    """v_ii + v_jj - v_ij - v_ji."""
    own = np.einsum("iit->it", values)
    return np.asarray(own[:, None] + own[None] - values - values.swapaxes(0, 1))


def _bet(memory: Bets, payoffs: Array) -> Bets:  # (N, N, m)
    """Bet on the payoffs one after the other."""
    log_wealth, best, bets, curvature = memory.log_wealth, memory.best, memory.bets, memory.curvature
    for t in range(payoffs.shape[2]):
        factors = 1 + bets * payoffs[:, :, t]
        log_wealth = log_wealth + np.log(factors)
        best = np.maximum(best, log_wealth)
        z = -payoffs[:, :, t] / factors
        curvature = curvature + z * z
        bets = np.clip(bets - _ONS_STEP * z / curvature, -0.5, 0.5)
    return Bets(memory.samples, memory.sums, log_wealth, best, bets, curvature)
