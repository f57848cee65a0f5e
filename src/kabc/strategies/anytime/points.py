"""The samples of a look as one feature map sees them, whitened, in as few coordinates as they have.

| symbol | here        | meaning                                                                                      |
|--------|-------------|----------------------------------------------------------------------------------------------|
| X      | `centred`   | features, measured from the mean of their group, (n, D)                                      |
| Y      |             | coordinates of X, (n, r): Y Y' = X X', to twelve digits of the largest product               |
| Z      | `whitened`  | Y in units of the spread within groups: Z Z' = X (X' X / n + gamma)^-1 X'                    |

A look asks only for products of samples, and those of Z are the same in all coordinates. Few samples, or waves of one
column, need few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from kabc.core.arrays import Array
from kabc.core.scores.whitening import whitenings

_RIDGE = 0.1
_WIDE = 40  # features; with fewer, coordinates save nothing
_FEW = 0.7  # samples for a feature; with more, factors of their products save nothing
_NARROW = 4  # features for a coordinate; with fewer, coordinates save nothing
_FULL = 0.9  # of some features' own number: if they need as many coordinates, all of them need too many
_LOST = 1e-13  # of the largest square of a coordinate


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack  # loaded on first use

    return lapack


def whitened(features: Array, ends: Sequence[int]) -> Array:  # (n, D) -> (n, r)
    """Z. Groups follow each other: each ends where the next one starts, and 0 is the first of `ends`."""
    centred = np.empty_like(features)
    for start, end in pairwise(ends):  # from the first sample at first: samples of one value must be 0, not about 0
        own = np.subtract(features[start:end], features[start], out=centred[start:end])
        own -= own.sum(axis=0) / (end - start)
    if centred.shape[1] == 1:
        return centred  # the spread of numbers is compared with that of the same numbers: units do not matter
    few, wide = len(centred) <= _FEW * centred.shape[1], centred.shape[1] >= _WIDE
    if few and wide:
        centred = _factor(centred @ centred.T)
    squares = centred.T @ centred
    basis = _basis(squares) if wide and not few else None
    if basis is not None:
        centred, squares = centred @ basis, basis.T @ squares @ basis
    (whitening,) = whitenings(squares / len(centred), [_RIDGE], 0.0)  # no difference of larger numbers
    return whitening.whitened(centred)


def _basis(squares: Array) -> Array | None:  # (D, D) -> (D, r)
    """An orthonormal basis of what a table of products spans; None if it is not narrow."""
    some = squares[::_NARROW, ::_NARROW]
    if _factor(some).shape[1] > _FULL * len(some):  # takes much less time than all features
        return None
    made, tau, _, _ = _lapack().dgeqrf(_factor(squares))
    return np.asarray(_lapack().dorgqr(made, tau)[0], dtype=np.float64)


def _factor(products: Array) -> Array:  # (n, n) -> (n, r)
    """F with few columns: F F' are the products (Cholesky, the largest rest first)."""
    made, order, rank, _ = _lapack().dpstrf(products, tol=_LOST * float(products.diagonal().max()), lower=1)
    found = np.empty((len(products), max(rank, 1)))
    found[order - 1] = np.tril(made[:, : max(rank, 1)])
    return found
