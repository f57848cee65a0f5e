"""Quantiles of Gaussian noise. The calibrated numbers of samples are computed from them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

_NODES = 400  # nodes of an integral over a smooth density a few standard deviations wide


def chi_quantile(tail: float, d: int) -> float:
    """x with P(chi^2_d > x) = tail."""
    from scipy.stats import chi2

    return float(chi2.isf(tail, d))


@lru_cache(maxsize=1024)
def product_quantile(tail: float, d: int) -> float:
    """a with P(<Z, Z'> > a) = tail. It is 0 if the tail is one half or more.

    Given |Z| = z the product is N(0, z^2). So the probability is an integral over the density of |Z|.
    """
    if tail >= 0.5:
        return 0.0
    from scipy.optimize import brentq
    from scipy.stats import chi, norm

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    low, high = float(chi.ppf(1e-9 * tail, d)), float(chi.isf(1e-9 * tail, d))
    z = low + (high - low) * (nodes + 1) / 2
    mass = weights * (high - low) / 2 * chi.pdf(z, d)

    def excess(x: float) -> float:
        return math.log(float(mass @ norm.sf(x / z))) - math.log(tail)

    # |Z| > high has a probability of 1e-9 tail; otherwise a is below the quantile of high times a standard normal
    return float(brentq(excess, 0.0, high * float(norm.isf(tail / 2)), xtol=1e-12, rtol=1e-12))
