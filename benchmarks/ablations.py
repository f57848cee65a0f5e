"""What each ingredient of Anytime KABC saves: the same runs without this ingredient.

    python benchmarks/ablations.py [--seeds 5] [--only NAME,..] [--workers 2] [--json]

The table has mean samples per arm over the seeds. The last column is the geometric mean of the ratio to the whole
strategy. Undecided runs are counted at the cap.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import kabc
from kabc.bench import INSTANCES, Instance
from kabc.bench.suites import AXES_10D
from kabc.core.arrays import Index
from kabc.core.partitions import components
from kabc.core.partitions.forced import Forced
from kabc.core.scores.maps import Fourier, Ranks, Scaled
from kabc.strategies.anytime import AnytimeKABC, assignment, core, shares
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.inference import Inference

DELTA, MOST_PER_ARM = 0.05, 3_000
CHOSEN = ("digits", "shapes", "rings", "cauchy", "counts", "unequal-gaps", "one-alone", "boc-moderate", "many")
CROWD = AXES_10D.with_sizes(*[100] * 4)


class _WithoutGuess(Inference):
    def _revise(self) -> None:
        pass


class NoClaims(AnytimeKABC):
    """Only pairs, with all of delta. Arms whose group is forced are not sampled again."""

    _inference = _WithoutGuess

    def __init__(self, *settings: Any, **options: Any) -> None:
        shares.CLAIMS = 0.0
        super().__init__(*settings, **options)


class _ByComponents(_WithoutGuess):
    def _appointed(self, found: Forced, proven: Claim | None, number: int) -> tuple[int, ...]:
        if components(~self.wealth.apart_in_core).n_groups != self.n_clusters:
            return ()
        return super()._appointed(found, proven, number)


class NoForcedPartition(NoClaims):
    """Only pairs. It stops when all pairs of different groups are told apart (components, as published)."""

    _inference = _ByComponents


class _ArmByArm(Inference):
    def _taught(self) -> tuple[Index, int]:
        return np.full(self.n_arms, -1, dtype=np.intp), self.core.size


class NoPooling(AnytimeKABC):
    """Every arm has its own mean, so arms of a group do not learn from each other."""

    _inference = _ArmByArm


class _AllOfTheCore(Inference):
    def _core_arms(self) -> Index:
        return np.sort(self.core.arms)


class NoSelection(AnytimeKABC):
    """All arms of the core are sampled in every round until the core is decided."""

    _inference = _AllOfTheCore


class NoOneVsMany(AnytimeKABC):
    """With many arms: one sample of a representative for each sample of another arm."""

    def __init__(self, *settings: Any, **options: Any) -> None:
        assignment.Assignment.partners = lambda self, n_undecided: 1  # type: ignore[method-assign]
        super().__init__(*settings, **options)


class NoRepresentatives(AnytimeKABC):
    """With many arms: all arms are compared with each other."""

    def __init__(self, n_arms: int, *settings: Any, **options: Any) -> None:
        core.ARMS = n_arms
        super().__init__(n_arms, *settings, **options)


VARIANTS: dict[str, Callable[..., AnytimeKABC]] = {
    "whole": AnytimeKABC,
    "without claims": NoClaims,
    "... and without forced partition": NoForcedPartition,
    "without pooling": NoPooling,
    "without selection": NoSelection,
    "without one-vs-many": NoOneVsMany,
    "without representatives": NoRepresentatives,
    "one expert: shapes": lambda *a, **o: AnytimeKABC(*a, maps=(Fourier(Scaled(), 1.0),), **o),
    "one expert: columns": lambda *a, **o: AnytimeKABC(*a, maps=(Scaled(),), **o),
    "one expert: ranks": lambda *a, **o: AnytimeKABC(*a, maps=(Ranks(),), **o),
}


def instance(name: str) -> Instance:
    return CROWD if name == "many" else INSTANCES[name]


def run(variant: str, name: str, seed: int) -> tuple[float, bool, bool]:
    """Samples per arm, and whether the run is undecided or wrong. Needs its own process: variants set constants."""
    one = instance(name)
    strategy = VARIANTS[variant](one.n_arms, one.n_groups, DELTA)
    cap = MOST_PER_ARM * one.n_arms
    found = kabc.cluster(one.arms, strategy=strategy, max_samples=cap, seed=seed, progress=False)
    right = kabc.Partition.of(list(found.labels)).matches(kabc.Partition.of(list(one.labels)))
    undecided = found.status == "budget"
    return (MOST_PER_ARM if undecided else found.n_samples / one.n_arms), undecided, not undecided and not right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help=f"instances, separated by commas; default: {', '.join(CHOSEN)}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = list(filter(None, options.only.split(","))) or list(CHOSEN)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    started = time.perf_counter()
    found: dict[tuple[str, str], list[tuple[float, bool, bool]]] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, context, max_tasks_per_child=1) as pool:
        jobs = {
            (variant, name): [pool.submit(run, variant, name, seed) for seed in range(options.seeds)]
            for name in names
            for variant in VARIANTS
        }
        for (variant, name), futures in jobs.items():
            found[variant, name] = [future.result() for future in futures]
            mean = np.mean([samples for samples, _, _ in found[variant, name]])
            print(
                f"[{time.perf_counter() - started:5.0f} s] {name}, {variant}: {mean:.1f}", file=sys.stderr, flush=True
            )
    rows = [_row(variant, names, found) for variant in VARIANTS]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"Mean samples per arm, delta = {DELTA:g}, {options.seeds} seeds; '+' marks runs over {MOST_PER_ARM:,}")
    print(f"{'':<34}" + "".join(f"{name:>14}" for name in names) + f"{'times':>8}  wrong")
    for row in rows:
        cells = "".join(f"{row['samples'][name]:>13,.1f}{'+' if row['undecided'][name] else ' '}" for name in names)
        print(f"{row['variant']:<34}{cells}{row['times']:>8.2f}  {row['wrong']}")


def _row(
    variant: str, names: list[str], found: dict[tuple[str, str], list[tuple[float, bool, bool]]]
) -> dict[str, Any]:
    means = {name: float(np.mean([samples for samples, _, _ in found[variant, name]])) for name in names}
    whole = {name: float(np.mean([samples for samples, _, _ in found["whole", name]])) for name in names}
    return {
        "variant": variant,
        "samples": means,
        "undecided": {name: sum(late for _, late, _ in found[variant, name]) for name in names},
        "times": float(np.exp(np.mean([np.log(means[name] / whole[name]) for name in names]))),
        "wrong": sum(wrong for name in names for _, _, wrong in found[variant, name]),
    }


if __name__ == "__main__":
    main()
