"""Likelihoods of counts: the largest one, a mixture of all, predictions of the next sample. Symbols: strategy.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Counts, Index


def log_likelihood(counts: NDArray[Any]) -> Array:  # (..., m) -> (...)
    """ln ML(n): sum of n_x ln(n_x / n), the log probability of the samples under their own pmf."""
    out: Array = x_log_x(counts).sum(axis=-1) - x_log_x(counts.sum(axis=-1))
    return out


def log_mixture(counts: NDArray[Any]) -> Array:  # (..., m) -> (...)
    """ln KT(n), the log probability of the samples in any fixed order, averaged over pmfs by Dirichlet(1/2, ...)."""
    from scipy.special import gammaln

    m = counts.shape[-1]
    symbols = (gammaln(counts + 0.5) - math.lgamma(0.5)).sum(axis=-1)
    out: Array = math.lgamma(m / 2) - gammaln(counts.sum(axis=-1) + m / 2) + symbols
    return out


def x_log_x(x: NDArray[Any]) -> Array:
    """x ln x, 0 at 0."""
    positive = x > 0
    out: Array = np.where(positive, x * np.log(np.where(positive, x, 1)), 0.0)
    return out


def pooled_pmfs(counts: Counts, labels: Index) -> Array:  # (N, m), (N,) -> (N, m)
    """P_i: the pmf of all samples of the arm's group."""
    pooled = np.zeros((int(labels.max()) + 1, counts.shape[1]))
    np.add.at(pooled, labels, counts)
    pmfs: Array = (pooled / pooled.sum(axis=1, keepdims=True))[labels]
    return pmfs


class Predictions:
    """ln Q_i of all arms. Each sample gets a probability before it is seen, so any estimate may be used."""

    def __init__(self, n_arms: int) -> None:
        self._ways = np.zeros((n_arms, 2))  # from the arm's own samples, and from those of its estimated group
        self.labels = np.arange(n_arms)  # before the first estimate every arm is its own group

    def predict(self, arm: int, symbol: int, counts: Counts) -> None:  # (N, m)
        """Multiply Q_i by the probability of the symbol, before it is counted."""
        own, group = counts[arm], counts[self.labels == self.labels[arm]].sum(axis=0)
        for way, seen in enumerate((own, group)):
            self._ways[arm, way] += math.log((seen[symbol] + 0.5) / (seen.sum() + counts.shape[1] / 2))

    def log_q(self) -> Array:  # (N,)
        """ln Q_i."""
        out: Array = np.logaddexp(*self._ways.T) - math.log(2)
        return out


def log_pairs(counts: Counts, log_q: Array, arms: Index) -> Array:  # (N, m), (N,), (A,) -> (A, N)
    """ln E_ij of these arms with all others."""
    found = log_q[arms, None] + log_q - log_likelihood(counts[arms, None] + counts)
    found[np.arange(len(arms)), arms] = -math.inf
    return found
