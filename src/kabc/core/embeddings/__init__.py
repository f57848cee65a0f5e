"""From samples to mean embeddings: exact kernel sums (gram), features (features), distances and variances (means)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kabc.core.embeddings.features import ArmSums, FeatureSums, RandomFeatures
from kabc.core.kernels import FiniteKernel, Kernel

if TYPE_CHECKING:
    from kabc.core.embeddings.means import Embedding

__all__ = ["ArmSums", "FeatureSums", "RandomFeatures", "embed"]


def embed(kernel: Kernel, n_arms: int) -> Embedding:
    """Empty mean embeddings of n_arms arms: vectors for a kernel with features, exact kernel sums otherwise."""
    if isinstance(kernel, FiniteKernel):
        return FeatureSums(kernel, n_arms)
    from kabc.core.embeddings.gram import GramSums

    return GramSums(kernel, n_arms)
