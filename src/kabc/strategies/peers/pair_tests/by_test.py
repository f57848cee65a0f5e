"""The base of strategies that are KABC with another test of pairs, and sums of kernel values for these tests."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.partitions import Partition, components, single_linkage
from kabc.core.settings import positive_number, whole_number
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee, Round, Status
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples, kernel_given
from kabc.strategies.cluster import assumptions
from kabc.strategies.guesses import agreeing
from kabc.strategies.wording import exactly, wrong_at_most

Memory = TypeVar("Memory")
Samples = tuple[NDArray[Any], ...]  # samples of each arm, (t, d)

_VALUES = 2**21  # kernel values held at a time: 16 MB


class ByTest(Stepwise, Generic[Memory]):
    """KABC with another test of pairs.

    Every round draws from all arms, all samples are kept, and pairs told apart stay told apart. It stops when the other
    pairs form K connected components. It also stops at more than K, which contradicts K. A test must keep one promise:
    with probability at least 1 - delta it never tells two arms of one group apart. The proof of KABC needs no more.
    """

    independent_arms = True  # whether the test needs samples of different arms to be independent of each other

    def __init__(self, n_arms: int, n_clusters: int, delta: float, kernel: Kernel, growth: float) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.kernel = kernel_given(kernel)
        self.growth = positive_number("growth", growth, above=1.0)
        # --- state: what the next step needs, and what users can read
        self._memory = self._start()
        self._columns: int | None = None
        self._held = 0
        self._target = self._first()
        self._evidence = Evidence.none(self.n_arms)
        self._components = Partition((0,) * self.n_arms)

    @property
    def n_pairs(self) -> int:
        """N(N-1)/2."""
        return math.comb(self.n_arms, 2)

    @abstractmethod
    def _start(self) -> Memory:
        """The state of the test before the first round."""

    @abstractmethod
    def _first(self) -> int:
        """Samples of each arm in the first round. With fewer samples no pair could be told apart."""

    @abstractmethod
    def _look(self, memory: Memory, rows: Sequence[NDArray[Any]]) -> tuple[Memory, Evidence]:  # N arrays (m, d)
        """The state of the test after these samples, and 1 for each pair that it tells apart. Changes no attribute."""

    @abstractmethod
    def _words(self) -> tuple[str, tuple[str, ...]]:
        """Name and rule of the test."""

    def _share(self, number: int) -> float:
        """Error probability of that round. A test that is valid at all times at once uses the full delta each time."""
        return self.delta

    @property
    def n_groups_at_least(self) -> int:
        return self._components.n_groups

    def _request(self) -> Request:
        return all_arms(self.n_arms, self._target - self._held)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, self.kernel, self._columns)
        memory, seen = self._look(self._memory, rows)
        number, before = len(self._rounds) + 1, self._evidence.told_in_round
        told_in_round = np.where(before > 0, before, number * seen.told_in_round)
        parts = components(told_in_round == 0)
        # Nothing above changed the state; nothing below can fail.
        self._take(rows)
        self._memory, self._evidence, self._components = memory, replace(seen, told=told_in_round), parts
        self._columns = rows[0].shape[1]
        self._held = self._target
        self._target = max(self._held + 1, math.ceil(self.growth * self._held))
        self._rounds.append(Round(number, self._share(number), self._held, self._n_samples, parts.n_groups))
        self._status = self._conclusion(parts.n_groups)

    def _conclusion(self, n_groups: int) -> Status | None:
        if n_groups == self.n_clusters:
            return "decided"
        return "contradicted" if n_groups > self.n_clusters else None

    def recommend(self) -> Partition:
        if self._status == "decided":
            return Partition(self._components.labels, certified=True)
        guess = self._components
        if guess.n_groups < self.n_clusters and self._rounds:
            guess = single_linkage(self._dissimilarity(), self.n_clusters)
        return agreeing(guess, self._evidence, self.n_groups_at_least, self.n_clusters)

    def _dissimilarity(self) -> Array:  # (N, N)
        """Dissimilarities for the best guess. Pairs told apart have infinity, which keeps components separate."""
        strength = np.nan_to_num(self._evidence.strength, nan=0.0)
        return np.where(self._evidence.told_apart, np.inf, np.maximum(strength, 0.0))

    def evidence(self) -> Evidence:
        return self._evidence

    def guarantee(self) -> Guarantee:
        name, rule = self._words()
        return Guarantee(
            strategy=f"KABC by {name} (delta = {self.delta:g}, K = {self.n_clusters})",
            claim=(
                wrong_at_most(self.delta, exactly(self.n_clusters), self._status == "decided")
                + f" With probability at least {percent(1 - self.delta)} no two arms of one group are ever told apart."
            ),
            assumptions=assumptions(self.kernel, self.independent_arms),
            rule=(
                *rule,
                "stops when the pairs not told apart form K connected components, or more: then K is too small",
            ),
        )


def farthest(kernel: Kernel) -> float:
    """sqrt(2 (sup k - inf k)), the largest possible distance of two samples or of two mean embeddings."""
    return math.sqrt(2 * (kernel.supremum - kernel.infimum))


def joined(samples: Samples, rows: Sequence[NDArray[Any]]) -> Samples:  # N arrays (t, d), N arrays (m, d)
    """All samples of each arm; `samples` is empty before the first round."""
    return tuple(np.concatenate(both) for both in zip(samples, rows, strict=True)) if samples else tuple(rows)


def prior_sums(
    kernel: Kernel, samples: Samples, weights: Array, held: int
) -> tuple[Array, Array]:  # N arrays (t, d), (N, t) -> (N, N, m), (N, N, m)
    """Sums of kernel values with earlier samples, for the samples t = held, held + 1, ... of each arm j.

    For each arm i with weights w: the sum of w_s k(x_s, x_t) over the samples s < t of arm i, and k(x_t, x'_t) with the
    t-th sample x'_t of arm i. This takes N^2 (t^2 - held^2) / 2 kernel values, or N t features for a kernel with
    features.
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
