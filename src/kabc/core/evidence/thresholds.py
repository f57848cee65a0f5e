"""Concentration thresholds: how far apart two empirical mean embeddings of one distribution may lie.

| symbol   | here              | meaning                                                          |
|----------|-------------------|------------------------------------------------------------------|
| n        | `n`               | samples of each arm                                              |
| V_i      | `variances`       | empirical variance of arm i (eq. empvar), (N,)                   |
| g-bar    | `kernel.supremum` | supremum of the kernel                                           |
| g~       | `kernel.range`    | range of the kernel, as bounds may use it                        |
| delta'   | `delta`           | error probability of all tests of one round together             |
| L        | `log_term`        | log(number of events / delta')                                   |
| B^{i,j}  | `pair_thresholds` | pair (i, j) is told apart when its distance is greater than this |

Every threshold is a sum of one share per arm, B^{i,j} = r_i + r_j. `radii` returns the shares, (M, N): there are M
alternatives, and the smallest sum counts (M = 1 except for `Tightest`). Proofs: docs/theory.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.kernels import Kernel

Union = Literal["pairs", "arms"]
ThresholdName = Literal["variance-aware", "kernel-uniform", "bounded-differences", "tightest"]


class Threshold(Protocol):
    """A bound that holds for all pairs of one round at once with probability 1 - delta."""

    def log_term(self, n_arms: int, delta: float) -> float:
        """L, the unit of the schedule of KABC: n_k = ceil(2^k L)."""

    def radii(self, n: int, variances: Array, kernel: Kernel, delta: float) -> Array:  # (N,) -> (M, N)
        """Shares of the arms in the threshold at n samples of each."""

    def sure(self, n: int, gap: float, variance: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
        """Whether a pair with this true distance and largest variance is told apart with probability 1 - delta."""

    def describe(self, n_arms: int) -> str:
        """The formula with its constants."""


def make_threshold(name: ThresholdName, union: Union) -> Threshold:
    """The threshold of that name, with the union bound over pairs (published) or over arms."""
    if union not in get_args(Union):
        raise SettingsError(f"union must be 'pairs' (published) or 'arms' (tighter), got {union!r}")
    if name == "variance-aware":
        return VarianceAware(union)
    if name == "kernel-uniform":
        return KernelUniform(union)
    if name == "bounded-differences":
        return BoundedDifferences()
    if name == "tightest":
        return Tightest((VarianceAware(union), BoundedDifferences()))
    raise SettingsError(f"threshold must be one of {', '.join(map(repr, get_args(ThresholdName)))}, got {name!r}")


def pair_thresholds(radii: Array, compared: Index | None = None) -> Array:  # (M, N), (C,) -> (N, C)
    """B^{i,j}: the smallest of the M sums, for all arms i and the compared arms j (default: all)."""
    others = radii if compared is None else radii[:, compared]
    smallest: Array = radii[0, :, None] + others[0]
    for rows, cols in zip(radii[1:], others[1:], strict=True):
        np.minimum(smallest, rows[:, None] + cols, out=smallest)
    return smallest


@dataclass(frozen=True, slots=True)
class VarianceAware:
    """Eq. threshold: (sqrt V_i + sqrt V_j) sqrt(2 L/n) + 32/3 sqrt(g~) L/n."""

    union: Union = "pairs"

    def log_term(self, n_arms: int, delta: float) -> float:
        if self.union == "pairs":
            return math.log(8 * (n_arms**2 - n_arms) / delta)
        return math.log(4 * n_arms / delta)  # the threshold is a sum of two one-arm bounds: N events suffice

    def radii(self, n: int, variances: Array, kernel: Kernel, delta: float) -> Array:
        log_term = self.log_term(len(variances), delta)
        fast = 16 / 3 * math.sqrt(kernel.range) * log_term / n
        return np.asarray(np.sqrt(variances * (2 * log_term / n)) + fast)[None, :]

    def sure(self, n: int, gap: float, variance: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
        # Lemma CLUSTER: n >= 128 / s_*^2 L
        return n * squared_separation(gap, variance, kernel) >= 128 * self.log_term(n_arms, delta)

    def describe(self, n_arms: int) -> str:
        events = f"8({n_arms}^2 - {n_arms})" if self.union == "pairs" else f"4 x {n_arms}"
        return (
            "told apart when ||mu_i - mu_j|| > (sqrt V_i + sqrt V_j) sqrt(2 L/n) + 32/3 sqrt(g~) L/n, "
            f"L = log({events} / delta_k) (eq. threshold, union over {self.union})"
        )


@dataclass(frozen=True, slots=True)
class KernelUniform:
    """Variance-free: 2 sqrt(g-bar/n) (1 + sqrt(2 L)), the provable form of the threshold of the paper's Discussion."""

    union: Union = "pairs"

    def log_term(self, n_arms: int, delta: float) -> float:
        return math.log((2 * (n_arms**2 - n_arms) if self.union == "pairs" else n_arms) / delta)

    def radii(self, n: int, variances: Array, kernel: Kernel, delta: float) -> Array:
        log_term = self.log_term(len(variances), delta)
        share = math.sqrt(kernel.supremum / n) * (1 + math.sqrt(2 * log_term))
        return np.full((1, len(variances)), share)

    def sure(self, n: int, gap: float, variance: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
        return _twice_under_gap(self, n, gap, n_arms, kernel, delta)

    def describe(self, n_arms: int) -> str:
        events = f"2({n_arms}^2 - {n_arms})" if self.union == "pairs" else f"{n_arms}"
        return (
            "told apart when ||mu_i - mu_j|| > 2 sqrt(g-bar/n) (1 + sqrt(2 L)), "
            f"L = log({events} / delta_k) (kernel-uniform, union over {self.union})"
        )


@dataclass(frozen=True, slots=True)
class BoundedDifferences:
    """One test per pair, no variance: sqrt(2 g~/n) (1 + sqrt L), L = log(N(N-1)/2 / delta').

    Samples of different arms must be independent of each other. The two other thresholds do not need this.
    """

    def log_term(self, n_arms: int, delta: float) -> float:
        return math.log(n_arms * (n_arms - 1) / 2 / delta)

    def radii(self, n: int, variances: Array, kernel: Kernel, delta: float) -> Array:
        log_term = self.log_term(len(variances), delta)
        return np.full((1, len(variances)), math.sqrt(kernel.range / (2 * n)) * (1 + math.sqrt(log_term)))

    def sure(self, n: int, gap: float, variance: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
        return _twice_under_gap(self, n, gap, n_arms, kernel, delta)

    def describe(self, n_arms: int) -> str:
        return (
            "told apart when ||mu_i - mu_j|| > sqrt(2 g~/n) (1 + sqrt L), "
            f"L = log({n_arms}({n_arms} - 1)/2 / delta_k) (bounded differences, union over pairs)"
        )


@dataclass(frozen=True, slots=True)
class Tightest:
    """The smallest of several thresholds, each at an equal share of delta."""

    parts: tuple[Threshold, ...]

    def log_term(self, n_arms: int, delta: float) -> float:
        return max(part.log_term(n_arms, delta / len(self.parts)) for part in self.parts)

    def radii(self, n: int, variances: Array, kernel: Kernel, delta: float) -> Array:
        return np.concatenate([part.radii(n, variances, kernel, delta / len(self.parts)) for part in self.parts])

    def sure(self, n: int, gap: float, variance: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
        share = delta / len(self.parts)
        return any(part.sure(n, gap, variance, n_arms, kernel, share) for part in self.parts)

    def describe(self, n_arms: int) -> str:
        each = "; or ".join(part.describe(n_arms) for part in self.parts)
        return f"{each}; each with delta_k / {len(self.parts)} in place of delta_k"


def squared_separation(gap: float, variance: float, kernel: Kernel) -> float:
    """The term of one pair in eq. SNR: the smaller of gap^2 / V and 2 gap / sqrt(g-bar)."""
    second = 2 * gap / math.sqrt(kernel.supremum)
    return min(gap * gap / variance, second) if variance > 0 else second


def _twice_under_gap(bound: Threshold, n: int, gap: float, n_arms: int, kernel: Kernel, delta: float) -> bool:
    """The bound holds on both sides of the true distance. So a gap above twice the threshold is told apart."""
    return 2 * float(pair_thresholds(bound.radii(n, np.zeros(n_arms), kernel, delta))[0, 1]) < gap
