"""How much to bet on sameness, and how many samples that takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array

CAP = 0.95  # the largest lambda: psi(1) is infinite
_LAMBDAS: Array = np.geomspace(1e-4, CAP, 64).astype(np.float64)
_GAPS = np.geomspace(1e-3, 1e4, 32)  # of the multiplier above the largest eigenvalue, in units of it
_NO_VARIANCE = 1e-12  # a smaller eigenvalue counts as this
_SMALL = 1e-4  # the next term of the series is then below 1e-12


def psi(x: Array) -> Array:
    """-log(1 - x) - x, for 0 <= x < 1."""
    return np.asarray(-np.log1p(-x) - x)


def steepness(x: Array) -> Array:
    """psi(x) / x^2, for 0 <= x < 1: it grows from 1/2.

    Then log(1 + u) >= u - steepness(x) u^2 for all u >= -x, with equality at u = -x.
    """
    series = 0.5 + x / 3 + np.square(x) / 4  # where psi(x) is a small difference of large numbers
    return np.where(x < _SMALL, series, psi(x) / np.square(np.maximum(x, _SMALL)))


def samples_needed(covariance: Array, eps: float, log_inverse_alpha: float, sup: float) -> float:  # (D, D)
    """About how many differences z prove "closer than eps" if the distance is 0. `covariance` is that of z."""
    spectrum, bound = np.linalg.eigvalsh(covariance).astype(np.float64), np.asarray(sup)
    return float(tuned(spectrum, eps, log_inverse_alpha, bound, likely_length(spectrum, bound))[0])


def likely_length(spectra: Array, sup: Array) -> Array:  # (..., D), (...,) -> (...,)
    """A length r for `tuned` where only the covariance of z is known: between the root mean square of |z| and sup."""
    root = np.sqrt(np.maximum(spectra, 0.0).sum(axis=-1))
    return np.asarray(np.sqrt(np.minimum(root, sup) * sup))


def tuned(
    spectra: ArrayLike, eps: ArrayLike, log_inverse_alpha: ArrayLike, sup: ArrayLike, lengths: ArrayLike
) -> tuple[Array, Array]:  # (..., D), (...,), (...,), (...,), (...,) -> (...,), (...,)
    """The smallest predicted number of differences at distance 0, and the lambda for it.

    After n differences whose covariance has eigenvalues s_1 >= s_2 >= ..., the square of b along eigenvector i is about
    n eta^2 s_i, eta = lambda / c, and C has about n q s_i there, q = eta^2 steepness(eta r). r is the length of a
    difference that is typical for C, where long ones count more (`lengths`). The bound of `trust_region` at the
    multiplier n q s_1 (1 + x), for any x > 0, then says that eps is certified if

        n (eta eps - q s_1 (1 + x)) - eta^2 / (4 q) sum_i s_i / (s_1 (1 + x) - s_i) >= L.
    """
    given = (spectra, eps, log_inverse_alpha, sup, lengths)
    s, margin, level, c, r = (np.asarray(one, dtype=np.float64) for one in given)
    s = np.maximum(s, 0.0)
    top = np.maximum(s.max(axis=-1), _NO_VARIANCE)[..., None] * (1 + _GAPS)  # (..., G), s_1 (1 + x)
    spread = (s[..., None] / (top[..., None, :] - s[..., None])).sum(axis=-2)  # (..., G)
    eta = _LAMBDAS / c[..., None]  # (..., Q)
    steep = steepness(eta * np.minimum(r, c)[..., None])
    q = np.square(eta) * steep
    price = level[..., None, None] + (0.25 / steep)[..., None] * spread[..., None, :]  # (..., Q, G)
    gain = (eta * margin[..., None])[..., None] - q[..., None] * top[..., None, :]
    n = np.divide(price, gain, out=np.full(price.shape, np.inf), where=gain > 0).min(axis=-1)  # (..., Q)
    return np.asarray(n.min(axis=-1)), _LAMBDAS[n.argmin(axis=-1)]
