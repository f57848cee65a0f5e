"""A pool and features to measure tolerances with."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array


def latencies(n: int = 400, columns: int = 1, seed: int = 0) -> Array:  # (n, d)
    return np.random.default_rng(seed).lognormal(3, 0.3, (n, columns))


class Waves:
    """Cosines and sines of fixed frequencies, of length 1."""

    def __init__(self, pool: Array, n_frequencies: int = 30) -> None:
        rng = np.random.default_rng(1)
        scale = np.maximum(pool.std(axis=0), 1e-9)
        self.frequencies = rng.normal(size=(pool.shape[1], n_frequencies)) / scale[:, None]

    def __call__(self, rows: Array) -> Array:  # (n, d) -> (n, D)
        angles = rows @ self.frequencies
        waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray(waves / np.sqrt(self.frequencies.shape[1]), dtype=np.float64)


def literal_distance(pool: Array, changed: Array, phi: Waves) -> float:
    return float(np.sqrt(np.sum((phi(pool).mean(axis=0) - phi(changed).mean(axis=0)) ** 2)))
