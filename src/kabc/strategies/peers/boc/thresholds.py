"""The thresholds of Z: beta is proven, beta~ is a heuristic."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from kabc.core.arrays import Counts


def proven_threshold(counts: Counts, d: int, delta: float) -> float:  # (M,)
    """beta(delta, t) = sum over m of 2 d ln(4 + ln N_m) + M d Psi(ln(1/delta) / (M d))."""
    size = len(counts) * d
    return 2 * d * float(np.log(4 + np.log(counts)).sum()) + size * psi(-math.log(delta) / size)


def heuristic_threshold(t: int, d: int, delta: float) -> float:
    """beta~(delta, t) = ln((1 + ln t)^d / delta). Nothing is proven about it."""
    return d * math.log1p(math.log(t)) - math.log(delta)


@lru_cache(maxsize=1024)
def psi(x: float) -> float:
    """Psi(x): the minimum over h in [1/2, 1]. Any h gives a valid threshold, so the search need not be exact."""
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def bound(h: float) -> float:
        return float(2 - 2 * math.log(4 * h) + math.log(zeta(2 * h)) / h - math.log(1 - h) / (2 * h) + x / h)

    return float(minimize_scalar(bound, bounds=(0.5, 1.0), method="bounded", options={"xatol": 1e-10}).fun)
