"""The speed of exact distances, compared with the usual way and with the limit of this machine.

    python benchmarks/gram.py [--repeats 3] [--cpu] [--json]

The job is the whole matrix of squared distances (eq. empdist) of N arms with n samples each in d dimensions. The usual
way is one scikit-learn `rbf_kernel` for each pair, and one for each arm with itself. All ways run in turn on the same
processors, after one warm-up. The shortest of the repeats counts. The limit is a model: each kernel value takes one
exponential and 2 (d + 2) floating-point operations, one after the other. Their rates are the highest that were seen in
the same run: each is measured by a loop of its own and by the product's loop on numbers in the first-level cache,
before and after every single run of the job. NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES="" makes numba compile for
processors with AVX2 alone. On a busy machine, --cpu measures shares in seconds of CPU.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from kabc.core.arrays import Array
from kabc.core.embeddings import loops
from kabc.core.embeddings.block_sums import Engine
from kabc.core.embeddings.gram import GramSums
from kabc.core.embeddings.loops.profiles import exp2, sum_profile
from kabc.core.embeddings.loops.recipes import EXP2
from kabc.core.embeddings.loops.tasks import aligned
from kabc.core.embeddings.loops.tiles import TILE_COLUMNS, TILE_ROWS, dot_tile
from kabc.core.kernels import Gaussian

CASES = ((50, 200, 2), (100, 500, 10), (20, 2000, 50))
TURNS = 5  # of the job and of the machine's rates, in each repeat
clock = time.perf_counter
REFERENCE_ARMS = 4  # whose distances are compared with float64


@dataclass(frozen=True)
class Row:
    """Times in seconds, rates in kernel values per second."""

    n_arms: int
    n: int
    d: int
    usual: float
    tiles: float
    loop: float
    error: float
    rate: float
    limit: float


def main() -> None:
    parser = argparse.ArgumentParser(description="Exact distances: speed against scikit-learn and against the machine.")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs; the shortest one counts (default 3)")
    parser.add_argument("--cpu", action="store_true", help="seconds of CPU, summed over threads, not of the clock")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    global clock
    clock = time.process_time if options.cpu else time.perf_counter
    rows = (measure(*case, options.repeats) for case in CASES)
    if options.json:
        print(json.dumps({"threads": loops.workers(), "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        for line in table(rows):
            print(line, flush=True)


def measure(n_arms: int, n: int, d: int, repeats: int) -> Row:
    rng = np.random.default_rng(0)
    arms = [rng.normal(i % 3, 1.0, (n, d)) for i in range(n_arms)]
    kernel = Gaussian(float(np.sqrt(d)))

    def ours(engine: Engine, some: list[Array]) -> Array:
        return GramSums(kernel, len(some), engine=engine).extended(some).squared_distances()

    ways: list[Callable[[list[Array]], Array]] = [
        lambda some: usual_way(some, kernel),
        lambda some: ours("numpy", some),
        lambda some: ours("auto", some),
    ]
    few = arms[:REFERENCE_ARMS]
    for way in ways:  # the warm-up
        way(few)
    ours("numba", few)
    times = [[seconds(way, arms) for way in ways] for _ in range(repeats)]
    usual, tiles, loop = (float(t) for t in np.min(times, axis=0))
    rates = [machine_rates()]
    for _ in range(TURNS * repeats):  # by turns: what slows down one slows down the other
        loop = min(loop, seconds(ways[-1], arms))
        rates.append(machine_rates())
    per_exponential, per_operation = 1 / np.max(rates, axis=0)
    truth = exact(few, kernel)
    error = max(np.abs(ours(engine, few) - truth).max() for engine in ("numpy", "numba"))
    values = n_arms * (n_arms + 1) / 2 * n**2
    limit = float(1 / (per_exponential + 2 * (d + 2) * per_operation))
    return Row(n_arms, n, d, usual, tiles, loop, float(error), values / loop, limit)


def usual_way(arms: list[Array], kernel: Gaussian) -> Array:  # (N, N)
    gamma = 1 / (2 * kernel.bandwidth**2)
    inner = np.empty((len(arms), len(arms)))
    for i, x in enumerate(arms):
        for j, y in enumerate(arms[: i + 1]):
            inner[i, j] = inner[j, i] = rbf_kernel(x, y, gamma).mean()
    own = np.diagonal(inner)
    return np.asarray(own[:, None] - 2 * inner + own[None, :])


def exact(arms: list[Array], kernel: Gaussian) -> Array:  # (N, N)
    def mean(x: Array, y: Array) -> float:
        return float(sum(kernel(rows, y).sum() for rows in np.array_split(x, 20)) / (len(x) * len(y)))

    inner = np.array([[mean(x, y) for y in arms] for x in arms])
    own = np.diagonal(inner)
    return np.asarray(own[:, None] - 2 * inner + own[None, :])


def seconds(work: Callable[..., object], *arguments: object) -> float:
    start = clock()
    work(*arguments)
    return clock() - start


# ---------------------------------------------------------------- the machine


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return cast("Callable[..., Any]", numba.njit(nogil=True, fastmath={"contract", "reassoc"})(function))


@_compiled
def exponentials(t: Any, turns: int) -> Any:
    total = 0.0
    for _ in range(turns):
        part: Any = np.float32(0)
        for c in range(len(t)):
            part += exp2(t[c])
        total += part
    return total


@_compiled
def exponentials_of_the_loop(t: Any, turns: int) -> Any:
    total = 0.0
    for _ in range(turns):
        total += sum_profile(t, len(t), EXP2)
    return total


@_compiled
def multiply_adds(t: Any, turns: int) -> Any:
    """32 for each entry, in two chains."""
    total = 0.0
    half, one = np.float32(0.5), np.float32(1)
    for _ in range(turns):
        part: Any = np.float32(0)
        for c in range(len(t)):
            a, b = t[c], t[c] + one
            for _ in range(16):
                a, b = a * half + t[c], b * half + t[c]
            part += a + b
        total += part
    return total


@_compiled
def multiply_adds_of_the_loop(t: Any, turns: int) -> Any:
    """32 for each entry: as many tiles as t has room for, each of 32 coordinates."""
    out = np.empty(TILE_ROWS * TILE_COLUMNS, np.float32)
    for _ in range(turns):
        for tile in range(len(t) // len(out)):
            dot_tile(out, 0, t, tile % 8 * TILE_ROWS * 4, t, 0, 32)
    return out[0]


def machine_rates() -> tuple[float, float]:
    """Exponentials and floating-point operations (two in a multiply-add) per second in float32, on all threads."""
    return (
        max(_rate(work, 10_000, 1) for work in (exponentials, exponentials_of_the_loop)),
        max(_rate(work, 2_500, 64) for work in (multiply_adds, multiply_adds_of_the_loop)),
    )


def _rate(work: Callable[..., Any], turns: int, per_entry: int) -> float:
    threads = loops.workers()
    room = [cast("NDArray[np.float32]", aligned(2048, np.float32)) for _ in range(threads)]
    for t in room:
        t[:] = np.linspace(0, 10, len(t))
    work(room[0], 1)
    with ThreadPoolExecutor(threads) as pool:
        best = min(seconds(lambda: list(pool.map(work, room, [turns] * threads))) for _ in range(3))
    return threads * turns * 2048 * per_entry / best


def table(rows: Iterable[Row]) -> Iterator[str]:
    yield f"{loops.workers()} threads; seconds for all squared distances, Gaussian kernel of bandwidth sqrt(d)"
    yield (
        f"{'N':>4} {'n':>5} {'d':>3} | {'scikit-learn':>12} {'numpy tiles':>12} {'auto':>8} | {'tiles':>6} {'auto':>6}"
        f" | {'error':>8} | {'1e9 values/s':>12} {'limit':>6} {'share':>6}"
    )
    for row in rows:
        yield (
            f"{row.n_arms:4d} {row.n:5d} {row.d:3d} | {row.usual:12.3f} {row.tiles:12.3f} {row.loop:8.4f}"
            f" | {row.usual / row.tiles:5.1f}x {row.usual / row.loop:5.1f}x | {row.error:8.1e}"
            f" | {row.rate / 1e9:12.2f} {row.limit / 1e9:6.2f} {row.rate / row.limit:6.0%}"
        )


if __name__ == "__main__":
    main()
