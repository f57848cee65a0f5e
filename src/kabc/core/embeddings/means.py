"""The interface of mean embeddings, and the two formulas that all implementations share.

| symbol        | here                   | meaning                                                       |
|---------------|------------------------|---------------------------------------------------------------|
| mu_hat_i      | an arm of `Embedding`  | mean of g(x, .) over the samples of arm i                     |
| n_i           | `Embedding.counts`     | number of samples of arm i                                    |
| eq. empdist   | `squared_distances`    | ||mu_hat_i - mu_hat_j||^2, biased (V-statistic)               |
| eq. empvar    | `variances`            | unbiased variance in the RKHS, 1/(n - 1)                      |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SampleError
from kabc.core.words import counted


class Embedding(Protocol):
    """Mean embeddings of N arms. They are immutable: adding samples makes a new object."""

    @property
    def counts(self) -> NDArray[np.int64]:  # (N,)
        """Number of samples of each arm."""
        ...

    def extended(self, samples: Sequence[NDArray[Any]]) -> Self:  # N arrays (m_i, d), m_i >= 0
        """These embeddings with new samples of each arm, already coerced by the kernel."""
        ...

    def variances(self) -> Array:  # (N,)
        """eq. empvar of each arm. Raises a SampleError if an arm has fewer than two samples."""
        ...

    def squared_distances(
        self, rows: NDArray[np.intp] | None = None, cols: NDArray[np.intp] | None = None
    ) -> Array:  # (R,), (C,) -> (R, C)
        """eq. empdist between the arms in `rows` and those in `cols` (default: all). No other pair is computed."""
        ...


def squared_distances(cross: Array, own_rows: Array, own_cols: Array, same: NDArray[np.bool_]) -> Array:  # (R, C)
    """||mu_i||^2 - 2 <mu_i, mu_j> + ||mu_j||^2 (eq. empdist), from the inner products of means.

    Arms may have different numbers of samples. <mu_i, mu_j> is the sum of g(X_s^i, X_t^j) divided by n_i n_j; for
    n_i = n_j = n this is the paper's formula. The distance is exactly 0 where `same` says that row and column are one
    arm. Values that rounding made negative are set to 0 here and nowhere else.

    cross : (R, C) inner products; own_rows : (R,), own_cols : (C,) squared norms; same : (R, C).
    """
    squared = np.add.outer(own_rows, own_cols)
    squared -= cross  # in place, twice: needs no memory beyond the result
    squared -= cross
    np.maximum(squared, 0, out=squared)
    squared[same] = 0.0
    return np.asarray(squared)


def variances(diagonal: Array, own: Array, counts: NDArray[np.int64]) -> Array:  # (N,), (N,), (N,) -> (N,)
    """(sum_t g(x_t, x_t) - sum_{s,t} g(x_s, x_t) / n) / (n - 1) (eq. empvar), each arm with its own n.

    With g(x, x) = g(0) this is n / (n - 1) (g(0) - ||mu_hat||^2). Values that rounding made negative are set to 0.

    diagonal : sums of g(x, x); own : sums over an arm's block with itself; counts : samples of each arm.
    """
    enough(counts, 2)
    return np.asarray(np.maximum(diagonal - own / counts, 0) / (counts - 1))


def enough(counts: NDArray[np.int64], least: int, arms: NDArray[np.intp] | None = None) -> None:  # (R,), (R,)
    """Refuse arms (numbered 0, 1, ... unless named) that have too few samples."""
    if (counts < least).any():
        worst = int(np.argmin(counts))
        raise SampleError(
            f"{counted(int(counts[worst]), 'sample')}, at least {least} are needed; "
            f"draw {least - counts[worst]} or more from it"
        ).of_arm(worst if arms is None else int(arms[worst]))
