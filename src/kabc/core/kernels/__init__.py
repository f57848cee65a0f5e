"""Kernels, with everything that a bound needs to know about them.

| symbol | here                       | meaning                                             |
|--------|----------------------------|-----------------------------------------------------|
| g      | a `Kernel`, `k(x, y)`      | positive definite kernel, block of values (n, m)    |
| g-bar  | `supremum`                 | sup of g(x, y)                                      |
| g~     | `range`                    | max(sup - inf, sup): the range that bounds may use  |
| Psi    | `Stationary.profile`       | g as a function of the scaled distance              |

`range` is sup - inf as printed in the paper, or the supremum if the infimum is positive. The published proof of the
bound replaces sqrt(sup) by sqrt(sup - inf), which needs an infimum of at most 0 (docs/theory.md).

A kernel is a frozen value. Its bandwidth is declared, or chosen on a pilot that is never tested (`from_pilot`).
"""

from kabc.core.kernels.base import FiniteKernel, Kernel
from kabc.core.kernels.categories import Hamming
from kabc.core.kernels.combined import Product, Sum
from kabc.core.kernels.declared import Function, Linear
from kabc.core.kernels.stationary import (
    Gaussian,
    InverseMultiquadric,
    Laplace,
    Matern,
    RationalQuadratic,
    Stationary,
    median_distance,
)

__all__ = [
    "FiniteKernel",
    "Function",
    "Gaussian",
    "Hamming",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Product",
    "RationalQuadratic",
    "Stationary",
    "Sum",
    "median_distance",
]
