"""Kernels, and random features of them: what a strategy of the paper compares samples with."""

from kabc.core.embeddings.features import RandomFeatures
from kabc.core.kernels import (
    Function,
    Gaussian,
    Hamming,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
)

__all__ = [
    "Function",
    "Gaussian",
    "Hamming",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Product",
    "RandomFeatures",
    "RationalQuadratic",
    "Sum",
]
