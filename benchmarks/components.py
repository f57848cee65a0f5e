"""Components of the threshold graph: leaders with the triangle inequality against all distances.

python benchmarks/components.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kabc.core.partitions import Partition
from kabc.core.partitions.leaders import Distances, leader_components

DIMENSION = 512
T = TypeVar("T")
FULL_LIMIT = 60.0  # seconds; skip the full graph if the slowest case at N = 5000, scaled by N^2, predicts more


@dataclass(frozen=True)
class Case:
    name: str
    n_arms: int
    n_groups: int
    gap: float  # distance of two centres in units of the typical threshold
    spread: float = 0.2  # of the logarithm of the radii


def cases() -> list[Case]:
    clear = [Case("clear", n, k, 2.0) for n in (1_000, 5_000, 20_000) for k in (5, 20, 200)]
    near = [Case("near threshold", n, 20, 1.2, 0.02) for n in (1_000, 5_000, 20_000)]
    return clear + near + [Case("many groups", 5_000, 2_000, 2.0), Case("merged", 5_000, 20, 0.5)]


def instance(case: Case, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Noisy embeddings around random centres. Each arm has two radii, about five times the norm of the noise."""
    scale = 0.02 * np.exp(case.spread * rng.standard_normal(case.n_arms))
    radii = np.stack([5.0 * scale, 4.0 * scale + 0.02])
    typical = 2 * float(np.median(radii.min(axis=0)))
    centres = rng.standard_normal((case.n_groups, DIMENSION)) * (case.gap * typical / np.sqrt(2 * DIMENSION))
    noise = rng.standard_normal((case.n_arms, DIMENSION)) * (scale / np.sqrt(DIMENSION))[:, None]
    points = centres[rng.integers(case.n_groups, size=case.n_arms)] + noise
    return points.astype(np.float32), radii


def euclidean(points: NDArray[np.float32]) -> Distances:
    squares = np.einsum("ij,ij->i", points, points)

    def distances(rows: NDArray[np.intp], cols: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        block: NDArray[np.float32] = points[rows] @ points[cols].T
        block *= -2
        block += squares[rows][:, None]
        block += squares[cols]
        np.maximum(block, 0, out=block)
        return np.sqrt(block, out=block)

    return distances


def full_graph(points: NDArray[np.float32], radii: NDArray[np.float64], tile: int = 2_000) -> Partition:
    """All distances in square tiles of the upper triangle, all edges stored, then scipy."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    distances, arms = euclidean(points), np.arange(len(points))
    rows, cols = [], []
    for a in range(0, len(points), tile):
        for b in range(a, len(points), tile):
            i, j = arms[a : a + tile], arms[b : b + tile]
            bounds = np.minimum.reduce([r[i][:, None] + r[j] for r in radii])
            left, right = np.nonzero(distances(i, j) <= bounds)
            rows.append((left + a).astype(np.int32))
            cols.append((right + b).astype(np.int32))
    ends = np.concatenate(rows), np.concatenate(cols)
    graph = coo_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=(len(points),) * 2)
    return Partition.of(connected_components(graph, directed=False)[1].tolist())


def timed(job: Callable[[], T], repeats: int) -> tuple[T, float]:
    """A result, and the smallest CPU time of a few runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = job()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def line(case: Case, with_full: bool) -> tuple[str, float]:
    """One line of the table, and the seconds of the full graph (nan without it)."""
    points, radii = instance(case, np.random.default_rng(0))
    repeats = 3 if case.n_arms <= 5_000 else 1
    found, seconds = timed(partial(leader_components, euclidean(points), radii, pairs=False), repeats)
    share = 100 * found.n_distances / (case.n_arms * (case.n_arms - 1) / 2)
    text = f"{case.name:15} {case.n_arms:6} {len(found.partition):6} {share:8.2f} {seconds:10.3f}"
    if not with_full:
        return f"{text} {'-':>8} {'-':>7}", np.nan
    full, full_seconds = timed(partial(full_graph, points, radii), repeats)
    if full != found.partition:
        raise RuntimeError(f"{case}: leaders found {found.partition}, the full graph {full}")
    return f"{text} {full_seconds:8.2f} {full_seconds / seconds:7.1f}", full_seconds


def main() -> None:
    line(Case("warm-up", 500, 5, 2.0), with_full=True)  # imports must not count for either side
    print(f"D = {DIMENSION}, float32 embeddings, CPU seconds of one thread, share of the N(N-1)/2 distances")
    print(f"{'case':15} {'N':>6} {'groups':>6} {'share %':>8} {'leaders s':>10} {'full s':>8} {'ratio':>7}")
    per_pair = 0.0
    for case in cases():
        text, seconds = line(case, with_full=per_pair * case.n_arms**2 < FULL_LIMIT)
        if case.n_arms == 5_000:
            per_pair = max(per_pair, seconds / case.n_arms**2)
        print(text, flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):  # two-threaded products of small blocks mostly measure what else the machine does
        main()
