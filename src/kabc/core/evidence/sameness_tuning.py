"""How much to bet on sameness, and how many samples that takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array

CAP = 0.95  # the largest lambda: psi(1) is infinite
_LAMBDAS: Array = np.geomspace(1e-4, CAP, 64).astype(np.float64)
_GAPS = np.geomspace(1e-3, 1e4, 32)  # of the multiplier above the largest eigenvalue, in units of it
_NO_VARIANCE = 1e-12  # a smaller eigenvalue counts as this


def psi(lam: Array) -> Array:
    """-log(1 - lambda) - lambda, for 0 <= lambda < 1.

    Then exp(lambda e - psi e^2) <= 1 + lambda e for all e >= -1 (Fan, Grama, Liu 2015).
    """
    return np.asarray(-np.log1p(-lam) - lam)


def samples_needed(covariance: Array, eps: float, log_inverse_alpha: float, sup: float) -> float:  # (D, D)
    """About how many differences z prove "closer than eps" if the distance is 0. `covariance` is that of z."""
    return float(tuned(np.linalg.eigvalsh(covariance), eps, log_inverse_alpha, sup)[0])


def tuned(
    spectra: ArrayLike, eps: ArrayLike, log_inverse_alpha: ArrayLike, sup: ArrayLike
) -> tuple[Array, Array]:  # (..., D), (...,), (...,), (...,) -> (...,), (...,)
    """The smallest predicted number of differences at distance 0, and the lambda for it.

    After n differences whose covariance has eigenvalues s_1 >= s_2 >= ..., the square of b along eigenvector i is about
    n eta^2 s_i, eta = lambda / c, and C has n q s_i there, q = psi / c^2. The bound of `trust_region` at the multiplier
    n q s_1 (1 + x), for any x > 0, then says that eps is certified if

        n (eta eps - q s_1 (1 + x)) - eta^2 / (4 q) sum_i s_i / (s_1 (1 + x) - s_i) >= L.
    """
    s, margin, level, c = (np.asarray(one, dtype=np.float64) for one in (spectra, eps, log_inverse_alpha, sup))
    s = np.maximum(s, 0.0)
    top = np.maximum(s.max(axis=-1), _NO_VARIANCE)[..., None] * (1 + _GAPS)  # (..., G), s_1 (1 + x)
    spread = (s[..., None] / (top[..., None, :] - s[..., None])).sum(axis=-2)  # (..., G)
    eta, q = _LAMBDAS / c[..., None], psi(_LAMBDAS) / np.square(c)[..., None]  # (..., Q)
    price = level[..., None, None] + (np.square(eta) / (4 * q))[..., None] * spread[..., None, :]  # (..., Q, G)
    gain = (eta * margin[..., None])[..., None] - q[..., None] * top[..., None, :]
    n = np.divide(price, gain, out=np.full(price.shape, np.inf), where=gain > 0).min(axis=-1)  # (..., Q)
    return np.asarray(n.min(axis=-1)), _LAMBDAS[n.argmin(axis=-1)]
