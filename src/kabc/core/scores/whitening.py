"""Whitening with several ridges.

| symbol | here      | meaning                                                                            |
|--------|-----------|------------------------------------------------------------------------------------|
| C      |           | a covariance, (D, D)                                                               |
| gamma  | `gamma`   | a ridge times the largest eigenvalue of C                                          |
| L      | `factor`  | lower triangle, L L' = C + gamma (Cholesky)                                        |

x -> L^-1 x makes (x, y) -> x' (C + gamma)^-1 y the usual product. A factor for each ridge takes less time than one
decomposition that serves them all. The largest eigenvalue comes from Lanczos' method, to the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from kabc.core.arrays import Array

_SMALLEST = 1e-12  # eigenvalue that still counts as the largest one
_ROUNDING = 1e-9  # a negative eigenvalue of this part of the smallest ridge changes nothing that matters
_ERROR = 1e3 * float(np.finfo(np.float64).eps)  # of a sum of products, over their size: more than there ever is
_FEW = 40  # columns; of fewer, all eigenvalues take less time
_STEPS, _EVERY = 64, 4  # of Lanczos' method, most of them, and between two looks at what is gained
_GAINED = 1e-13  # of the largest eigenvalue, that may still be gained


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack  # loaded on first use

    return lapack


@cache
def _blas() -> Any:
    from scipy.linalg import blas  # loaded on first use

    return blas


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """A covariance with one ridge."""

    factor: Array  # (D, D), L; what is above the diagonal does not count
    gamma: float

    def whitened(self, points: Array) -> Array:  # (n, D) -> (n, D)
        """L^-1 of each point."""
        return self._solved(points, 0)

    def turned_back(self, points: Array) -> Array:  # (n, D) -> (n, D)
        """L'^-1 of each point: a product with it is the product of what is whitened with the point."""
        return self._solved(points, 1)

    def inverted(self, points: Array) -> Array:  # (n, D) -> (n, D)
        """(C + gamma)^-1 of each point: a product with it is the product of what is whitened."""
        if not points.size:
            return points
        return np.asarray(_lapack().dpotrs(self.factor, points.T, lower=1)[0].T, dtype=np.float64)

    def _solved(self, points: Array, transposed: int) -> Array:  # (n, D) -> (n, D)
        if not points.size:  # the routine takes one number at least
            return points
        return np.asarray(_lapack().dtrtrs(self.factor, points.T, lower=1, trans=transposed)[0].T, dtype=np.float64)

    @property
    def noise(self) -> float:
        """The mean squared length of a whitened sample: the trace of C (C + gamma)^-1."""
        n = len(self.factor)
        return 0.0 if not n else n - self.gamma * _inverse_square(self.factor, n // 2 if n > _FEW else n)


def whitenings(covariance: Array, ridges: Sequence[float], size: float = math.inf) -> list[Whitening]:  # (D, D)
    """One for each ridge. Eigenvalues that rounding has made negative count as 0.

    `size` is that of the numbers that the covariance is a difference of: rounding is as large as it makes them.
    """
    if not len(covariance):  # no sample has a feature
        return [Whitening(covariance, ridge * _SMALLEST) for ridge in ridges]
    unit = _largest(covariance)
    little = _ROUNDING * min(ridges) * unit
    if _ERROR * size > little and _factors(covariance, [little])[0] is None:
        values, vectors = np.linalg.eigh(covariance)
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    gammas = [ridge * unit for ridge in ridges]
    found = []
    for factor, gamma in zip(_factors(covariance, gammas), gammas, strict=True):
        assert factor is not None
        found.append(Whitening(factor, gamma))
    return found


def _factors(covariance: Array, gammas: Sequence[float]) -> list[Array | None]:  # (D, D) -> (D, D) each
    """L for each gamma; None if C + gamma is not positive."""
    n = len(covariance)
    made = np.empty((len(gammas), n, n))
    made[:] = covariance
    made.reshape(len(gammas), -1)[:, :: n + 1] += np.array(gammas)[:, None]
    done = [_lapack().dpotrf(one.T, lower=1, clean=0, overwrite_a=1) for one in made]
    return [None if failed else factor for factor, failed in done]


def _inverse_square(factor: Array, n: int) -> float:  # (D, D)
    """The sum of all squares in L^-1. The first n columns, and the others, are inverted by themselves: it is faster."""
    first = _inverse(factor[:n, :n])
    found = np.vdot(first.T, first.T)
    if n < len(factor):
        last = _inverse(factor[n:, n:])
        beside = last @ (factor[n:, :n] @ first)
        found += np.vdot(last.T, last.T) + np.vdot(beside, beside)
    return float(found)


def _inverse(factor: Array) -> Array:  # (D, D) -> (D, D)
    return np.asarray(_lapack().dtrtrs(factor, np.eye(len(factor)).T, lower=1, overwrite_b=1)[0], dtype=np.float64)


def _largest(covariance: Array) -> float:  # (D, D)
    """The largest eigenvalue."""
    found = None if len(covariance) < _FEW else _by_lanczos(covariance)
    return max(float(_lapack().dsyev(covariance.T, compute_v=0, lower=1)[0][-1]) if found is None else found, _SMALLEST)


def _by_lanczos(covariance: Array) -> float | None:  # (D, D)
    """The largest eigenvalue of the covariance in a small space of its own making; None if it would take too long."""
    blas, top, gain = _blas(), 0.0, 0.0
    point, before, beside = _start(len(covariance)), None, 0.0
    diagonal, off_diagonal = np.zeros(_STEPS), np.zeros(_STEPS)
    for step in range(_STEPS):
        moved = blas.dsymv(1.0, covariance.T, point)
        if before is not None:
            moved = blas.daxpy(before, moved, a=-beside)
        diagonal[step] = blas.ddot(point, moved)
        moved = blas.daxpy(point, moved, a=-diagonal[step])
        off_diagonal[step] = beside = blas.dnrm2(moved)
        if step % _EVERY == _EVERY - 1 or beside == 0:
            last, top = top, _top(diagonal[: step + 1], off_diagonal[:step])
            last_gain, gain = gain, max(top - last, 0.0)
            # what is gained falls faster and faster: the next gain is smaller in this proportion at least
            if gain * (min(1.0, gain / last_gain) if last_gain > 0 else 1.0) <= _GAINED * top or beside == 0:
                return top
        before, point = point, moved / beside
    return None


def _top(diagonal: Array, beside: Array) -> float:  # (n,), (n - 1,)
    """The largest eigenvalue of a tridiagonal table."""
    n, by_number = len(diagonal), 2
    if n == 1:  # the routine takes two columns at least
        return float(diagonal[0])
    return float(_lapack().dstebz(diagonal, beside, by_number, 0.0, 0.0, n, n, 0.0, "B")[1][0])


@lru_cache(maxsize=64)
def _start(n: int) -> Array:  # (n,)
    """A direction that nothing is at right angles to but by chance, of length 1."""
    made = np.random.default_rng(n).normal(size=n)
    made /= np.sqrt(made @ made)
    made.setflags(write=False)
    return np.asarray(made)
