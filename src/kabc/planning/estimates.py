"""What a pilot says of the groups: a guess of labels, gap and variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.embeddings import embed
from kabc.core.errors import SettingsError
from kabc.core.kernels import Kernel
from kabc.core.partitions import single_linkage
from kabc.strategies import KABC


@dataclass(frozen=True)
class Guessed:
    """Groups of the pilot by single linkage, with the bias of the squared distances removed."""

    labels: NDArray[np.intp]  # (N,)
    squared: NDArray[np.float64]  # (N, N)
    variances: NDArray[np.float64]  # (N,)


def guessed_groups(kernel: Kernel, rows: list[NDArray[Any]], n_arms: int, n_clusters: int) -> Guessed:
    """The groups of a pilot, guessed."""
    if len(rows) != n_arms:
        raise SettingsError(f"the pilot has {len(rows)} arms, n_arms is {n_arms}")
    embedding = embed(kernel, n_arms).extended(rows)
    variances = embedding.variances()
    bias = variances / embedding.counts  # E ||mu_hat - mu||^2
    squared = embedding.squared_distances() - bias[:, None] - bias[None, :]
    labels = np.asarray(single_linkage(np.maximum(squared, 0), n_clusters).labels, dtype=np.intp)
    return Guessed(labels, squared, variances)


def estimated_gap(strategy: KABC, rows: list[NDArray[Any]]) -> tuple[float, float]:
    """Gap between the closest of K groups, and the largest variance."""
    guessed = guessed_groups(strategy.kernel, rows, strategy.n_arms, strategy.n_clusters)
    across: NDArray[np.bool_] = guessed.labels[:, None] != guessed.labels[None, :]
    if not across.any():
        raise SettingsError("with one group there is no gap to plan for; n_clusters must be at least 2")
    smallest = float(guessed.squared[across].min())
    if smallest <= 0:
        raise SettingsError(
            f"{min(map(len, rows))} samples per arm show no gap between {strategy.n_clusters} groups; "
            "take a larger pilot, or pass gap= and variances="
        )
    return math.sqrt(smallest), float(guessed.variances.max())
