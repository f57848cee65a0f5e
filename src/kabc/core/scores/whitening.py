"""Whitening with several ridges from one decomposition of a covariance.

| symbol | here     | meaning                                                                            |
|--------|----------|------------------------------------------------------------------------------------|
| C      |          | a covariance, (D, D)                                                               |
| Q, T   |          | C = Q T Q', T tridiagonal, Q a product of reflections (LAPACK's sytrd)             |
| gamma  | `ridge`  | times the largest eigenvalue of C                                                  |
| B      |          | lower bidiagonal, B B' = T + gamma                                                 |

x -> B^-1 Q' x makes (x, y) -> x' (C + gamma)^-1 y the usual product. T takes a fifth of the time of eigenvectors, and B
of each ridge next to none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from kabc.core.arrays import Array

_SMALLEST = 1e-12  # eigenvalue that still counts as the largest one
_ROUNDING = 1e-9  # a negative eigenvalue of this part of the smallest ridge changes nothing that matters
_AT_ONCE = 32  # reflections; pays off for as many points


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack  # loaded on first use

    return lapack


class Whitening:
    """A covariance, ready for all ridges. Eigenvalues that rounding has made negative count as 0."""

    def __init__(self, covariance: Array, smallest_ridge: float) -> None:  # (D, D)
        self._width = len(covariance)
        self._reduce(covariance)
        if _lapack().dpttrf(self._diagonal + _ROUNDING * smallest_ridge * self.unit, self._beside)[2]:
            values, vectors = np.linalg.eigh(covariance)
            self._reduce((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def _reduce(self, covariance: Array) -> None:
        wide = np.pad(covariance, (0, self._wider)) if self._wider else covariance
        n, by_number = len(wide), 2
        reduced, self._diagonal, self._beside, self._tau, _ = _lapack().dsytrd(wide.T, lower=1, lwork=_AT_ONCE * n)
        # All but the first row and the last column, without a copy: in memory a column ends where the next one starts.
        self._reflections = reduced.ravel(order="F")[1 : 1 + n * (n - 1)].reshape(n, n - 1, order="F")
        largest = _lapack().dstebz(self._diagonal, self._beside, by_number, 0.0, 0.0, n, n, 0.0, "B")[1][0]
        self.unit = max(float(largest), _SMALLEST)

    @property
    def _wider(self) -> int:
        """Columns of zeros to add: these routines take two columns at least."""
        return max(0, 2 - self._width)

    def turned(self, points: Array) -> Array:  # (n, D) -> (n, D)
        """Q' of each point."""
        return self._reflected(np.pad(points, ((0, 0), (0, self._wider))) if self._wider else points, "T")

    def turned_back(self, points: Array) -> Array:  # (n, D) -> (n, D)
        """Q of each point."""
        return self._reflected(points, "N")[:, : self._width]

    def _reflected(self, points: Array, which: str) -> Array:
        at_once = _AT_ONCE if len(points) >= _AT_ONCE else 1
        room = at_once * len(points) + (at_once > 1) * 65 * 64  # LAPACK keeps a table of 65 x 64 numbers
        found = points.copy()  # the first column is not reflected
        found[:, 1:] = _lapack().dormqr("L", which, self._reflections, self._tau, points.T[1:], max(1, room))[0].T
        return found

    def factors(self, ridges: Sequence[float]) -> list[Array]:  # (2, D) each
        """B of each ridge, as LAPACK keeps it: the diagonal, and the numbers below."""
        made = np.zeros((len(ridges), len(self._diagonal), 2))
        for one, ridge in zip(made, ridges, strict=True):
            one[:, 0], one[:-1, 1], _ = _lapack().dpttrf(self._diagonal + ridge * self.unit, self._beside)
        np.sqrt(made[:, :, 0], out=made[:, :, 0])
        made[:, :-1, 1] *= made[:, :-1, 0]
        return [one.T for one in made]

    def noise(self, ridge: float) -> float:
        """The mean squared length of a whitened sample: the trace of C (C + gamma)^-1."""
        diagonal, beside = self._diagonal + ridge * self.unit, self._beside
        # A diagonal entry of the inverse of T + gamma is one over p + q less the entry itself, where p and q are the
        # pivots of elimination from above and from below.
        from_above, _, _ = _lapack().dpttrf(diagonal, beside)
        from_below, _, _ = _lapack().dpttrf(diagonal[::-1], beside[::-1])
        inverse = 1 / (from_above + from_below[::-1] - diagonal)
        return float(len(diagonal) - ridge * self.unit * inverse.sum())


def solved(factor: Array, points: Array, *, transposed: bool = False) -> Array:  # (2, D), (n, D) -> (n, D)
    """B^-1 of each point; or that of its transpose."""
    found = _lapack().dtbtrs(factor, points.T, uplo="L", trans="T" if transposed else "N")[0].T
    return np.asarray(found, dtype=np.float64)
