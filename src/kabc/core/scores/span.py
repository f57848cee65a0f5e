"""The span of features: few samples, or smooth features of few columns, fill only a part of a wide space.

| symbol | here     | meaning                                                                                  |
|--------|----------|------------------------------------------------------------------------------------------|
| phi    |          | features of a sample, (D,)                                                               |
| V      | `basis`  | orthonormal, (D, r): every phi so far is V V' phi, but for 1e-9 of its length            |

What is computed from products of features is the same in the coordinates V' phi, with r instead of D numbers. 128 waves
of one column have r of about 20.
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array

_CLOSE = 1e-9  # of the length of a sample, that may be missing
_WIDE = 32  # features; with fewer, coordinates save nothing
_MOST = 0.4  # of the width: with more coordinates, features are taken as they are
_ROWS = 96  # rows that are looked at together: what is made of them stays in the cache of the processor
_AT_ONCE = 16  # directions that are added together
_NEW = 0.01  # of a direction, that must be new beside those added with it: what is left of others would not be exact


class Span:
    """A basis that grows with the features. `basis` is None where features are taken as they are."""

    def __init__(self, width: int, *, whole: bool = False) -> None:
        self.basis: Array | None = None if whole or width < _WIDE else np.zeros((width, 0))

    def coordinates(self, features: Array) -> Array:  # (n, D) -> (n, r)
        """V' of each row; the basis grows first, if rows leave it."""
        width = None if self.basis is None else self.basis.shape[1]
        parts = [self._covered(features[start : start + _ROWS]) for start in range(0, len(features), _ROWS)]
        if self.basis is None:
            return features
        if self.basis.shape[1] != width or not parts:
            return features @ self.basis
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _covered(self, features: Array) -> Array:  # (n, D) -> (n, r)
        """V' of some rows, after the basis has grown."""
        if self.basis is None:
            return features
        found = features @ self.basis
        rest = features - found @ self.basis.T
        allowed = _CLOSE**2 * _squares(features)
        far = _squares(rest) > allowed
        if far.any():
            self._grow(rest[far], allowed[far])
        return found

    def _grow(self, rest: Array, allowed: Array) -> None:  # (k, D), (k,)
        """Add directions until no more than this is missing of any row."""
        from scipy.linalg import lapack  # loaded on first use

        lengths = _squares(rest)
        while self.basis is not None and len(rest):
            if self.basis.shape[1] >= _MOST * len(self.basis):
                self.basis = None
                return
            largest = np.argsort(-lengths)[:_AT_ONCE]
            chosen = rest[largest] / np.sqrt(lengths[largest])[:, None]
            chosen -= (chosen @ self.basis) @ self.basis.T  # once more, because what is left may be small
            made, _, tau, _, _ = lapack.dgeqp3(chosen.T, overwrite_a=True)
            new = lapack.dorgqr(made, tau)[0][:, np.abs(made.diagonal()) > _NEW]
            if not new.shape[1]:
                return
            self.basis = np.concatenate([self.basis, new], axis=1)
            rest = rest - (rest @ new) @ new.T
            lengths = _squares(rest)
            far = lengths > allowed
            rest, lengths, allowed = rest[far], lengths[far], allowed[far]


def _squares(rows: Array) -> Array:  # (n, D) -> (n,)
    return np.asarray(np.einsum("nd,nd->n", rows, rows))
