"""The largest value of <w, b> + w'Cw over all unit vectors w: a trust-region problem, exactly.

| symbol   | here       | meaning                                                                         |
|----------|------------|---------------------------------------------------------------------------------|
| l_i, v_i |            | eigenvalues and eigenvectors of C, l the largest of them                        |
| beta_i   | `beta`     | <v_i, b>                                                                        |
| gamma_i  | `gaps`     | l - l_i >= 0                                                                    |
| x        | `x`        | mu - l, where mu is the multiplier of |w| = 1                                   |

For every mu > l and every unit w, <w, b> <= b'(mu - C)^-1 b / 4 + w'(mu - C)w. So

    <w, b> + w'Cw <= mu + sum_i beta_i^2 / (4 (mu - l_i)),

and the smallest such bound is the maximum. It is where sum_i (beta_i / (2 (x + gamma_i)))^2 = 1; if the sum is below 1
even at x = 0 (b has no part along the top eigenvectors, the "hard case"), it is at x = 0. What is returned is the bound
at the x that was found. So an error of x can make the result too large, by its square, but never too small.
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array

_MOST_STEPS = 100  # of Newton's method; about five are taken
_ENOUGH = 1e-12  # relative step of x: the bound is flat there, so its error is the square of this


def largest(b: Array, C: Array) -> Array:  # (..., D), (..., D, D) -> (...,)
    """max over |w| = 1 of <w, b> + w'Cw, for symmetric C. Time is that of one eigendecomposition for each C."""
    return largest_of(*spectrum(b, C))


def spectrum(b: Array, C: Array) -> tuple[Array, Array]:  # (..., D), (..., D, D) -> (..., D), (..., D)
    """What `largest_of` needs: b in the eigenvectors of C, and the eigenvalues. C must be finite and symmetric."""
    eigenvalues, vectors = np.linalg.eigh(C)
    return np.einsum("...ji,...j->...i", vectors, b), eigenvalues


def largest_of(beta: Array, eigenvalues: Array) -> Array:  # (..., D), (..., D) -> (...,)
    """max over |w| = 1 of sum_i beta_i w_i + eigenvalue_i w_i^2. All arrays may have leading axes, which broadcast."""
    beta, eigenvalues = np.broadcast_arrays(np.abs(beta), eigenvalues)
    top = eigenvalues.max(axis=-1)
    gaps = top[..., None] - eigenvalues
    x = _multiplier(beta, gaps)
    return np.asarray(top + x + (_ratio(beta, 2 * (x[..., None] + gaps)) * beta).sum(axis=-1) / 2)


def _multiplier(beta: Array, gaps: Array) -> Array:  # (..., D), (..., D) -> (...,)
    """The x >= 0 with |s(x)| = 1 for s_i(x) = beta_i / (2 (x + gamma_i)), or 0 if |s(0)| < 1."""
    # 1 / |s(x)| is increasing and concave, so Newton's method for 1 / |s(x)| = 1 goes up from the left and never
    # beyond the root. One term alone is a lower bound of |s|: this is where it starts.
    x: Array = np.maximum((beta / 2 - gaps).max(axis=-1), 0.0)
    for _ in range(_MOST_STEPS):
        s = _ratio(beta, 2 * (x[..., None] + gaps))
        squared = np.square(s).sum(axis=-1)
        slope = (np.square(s) * _ratio(np.ones_like(gaps), x[..., None] + gaps)).sum(axis=-1)
        step = np.maximum(_ratio(squared * (np.sqrt(squared) - 1), slope), 0.0)
        x = x + step
        if (step <= _ENOUGH * x).all():
            break
    return x


def _ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where both are 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
