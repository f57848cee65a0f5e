"""Compares the samples of Anytime KABC with those of the published KABC, on the same instances and seeds.

    python benchmarks/samples.py [--seeds 20] [--published-seeds 5] [--only NAME,..] [--workers 2] [--cap 2000000]
                                 [--oracle] [--unequal] [--many] [--quick] [--json [FILE]]

Published KABC has a Gaussian kernel with the median heuristic on a pilot of 20 samples of each arm. The pilot is
counted. The total depends only on the last round, so few seeds are enough. With 0 seeds it is left out. A run that
would need more than the cap is counted at the cap.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import kabc
from kabc.bench import INSTANCES, SUITES, Instance
from kabc.bench.suites import AXES_10D, AXES_50D, PLACES
from kabc.core.arrays import Array, Index
from kabc.core.evidence import betting
from kabc.core.evidence.blocks import Block
from kabc.core.partitions.forced import forced_partition
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.shares import ErrorShares

Rule = Literal["kabc", "anytime", "oracle-pairs", "oracle-claim"]
Row = dict[str, Any]

DELTA = 0.05
LEFT_OUT = ("boc-yeast", "coins", "odd-arm")
ALL = [
    one.name for suite in ("real", "synthetic", "alphabets", "boc") for one in SUITES[suite] if one.name not in LEFT_OUT
]
QUICK = ("digits", "wine", "correlations", "boc-easy")
# Yang, Zhong, Tan, JMLR 25(186), 2024, figure 3 and table 1: mean samples in all of BOC at delta = 0.1, with the
# proven threshold and with the unproven one. Figure 3 is read off the plots; Iris has the unproven one only.
BOC: dict[str, tuple[float | None, float]] = {
    "boc-easy": (190, 26),
    "boc-moderate": (3_900, 530),
    "boc-challenging": (15_100, 2_000),
    "boc-iris": (None, 886.1),
}


@dataclass(frozen=True)
class Job:
    """One run. It has the name of the instance, because laws cannot be sent between processes."""

    name: str
    sizes: tuple[int, ...]
    rule: Rule
    seed: int
    delta: float
    cap: int

    @classmethod
    def of(cls, instance: Instance, rule: Rule, seed: int, cap: int, delta: float = DELTA) -> Job:
        return cls(instance.name, instance.sizes, rule, seed, delta, cap)

    @property
    def instance(self) -> Instance:
        extra = {one.name: one for one in (AXES_10D, AXES_50D)}
        return (INSTANCES | extra)[self.name].with_sizes(*self.sizes)


@dataclass(frozen=True)
class Run:
    """The cost of a run. `capped` is True if it reached the cap."""

    samples: int
    by_group: tuple[float, ...]  # mean samples per arm of each group
    wrong: bool
    capped: bool
    seconds: float
    peak_mb: float


def run(job: Job) -> Run:
    started = time.perf_counter()
    counts, labels, status = _oracle(job) if job.rule.startswith("oracle") else _library(job)
    truth = np.array(job.instance.labels)
    right = kabc.Partition.of(list(labels)).matches(kabc.Partition.of(truth.tolist()))
    return Run(
        samples=int(counts.sum()),
        by_group=tuple(float(counts[truth == group].mean()) for group in range(len(job.sizes))),
        wrong=status == "contradicted" or (status == "decided" and not right),
        capped=status == "budget",
        seconds=time.perf_counter() - started,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _library(job: Job) -> tuple[Array, Sequence[int], str]:
    found = kabc.cluster(
        job.instance.arms,
        len(job.sizes),
        job.delta,
        strategy=job.rule,
        max_samples=job.cap,
        seed=job.seed,
        progress=False,
    )
    return np.array(list(found.samples_per_arm.values()), dtype=np.float64), found.labels, found.status


def _oracle(job: Job) -> tuple[Array, Sequence[int], str]:
    """Anytime KABC with the true log ratios as scores and the true partition as its guess. Blocks are the same.

    By pairs: product factors and the threshold N(N-1)/(2 delta). It stops when the partition is forced. By claim: the
    first claim is the true partition. It is made before the first sample, with the share of delta that claims have.
    """
    instance, rng = job.instance, np.random.default_rng(job.seed)
    laws, groups = instance.laws, np.array(instance.labels)
    n = instance.n_arms
    book: _PairBook | _ClaimBook = (
        _PairBook(groups, job.delta) if job.rule == "oracle-pairs" else _ClaimBook(groups, job.delta)
    )
    counts, wanted = np.zeros(n), np.arange(n)
    while counts.sum() < job.cap:
        held = int(counts[wanted].min())
        block = 2 if held == 0 else max(1, held // 10)
        samples = [laws[groups[arm]].draw(block, rng) for arm in wanted.tolist()]
        u = np.stack([law.log_density(np.concatenate(samples)) for law in laws if law.log_density], axis=1)
        counts[wanted] += block
        wanted = book.after(
            Block(np.nan_to_num(u)[None], groups[None, wanted], np.arange(len(wanted) + 1) * block, block), wanted
        )
        if not len(wanted):
            return counts, groups.tolist(), "decided"
    return counts, [0] * n, "budget"


class _PairBook:
    """Evidence of all pairs. The next samples come from arms without a forced group, and from representatives."""

    def __init__(self, groups: Index, delta: float) -> None:
        n = len(groups)
        self._n_groups = int(groups.max()) + 1
        self._limit = betting.log_threshold(n, delta)
        self._wealth, self._told = np.zeros((n, n)), np.zeros((n, n), dtype=np.bool_)
        self._all = np.arange(n)

    def after(self, block: Block, arms: Index) -> Index:
        pairs = block.pairs(np.arange(len(arms)))[..., 0]
        np.fill_diagonal(pairs, 0.0)
        self._wealth[np.ix_(arms, arms)] += (pairs + pairs.T) / 2
        self._told |= self._wealth >= self._limit
        found = forced_partition(self._told, self._n_groups)
        if found.complete:
            return self._all[:0]
        if len(found.representatives) < self._n_groups:
            return self._all
        undecided = np.flatnonzero(found.labels < 0)
        needed = np.flatnonzero(found.may_belong[undecided].any(axis=0))
        return np.union1d(undecided, np.array(found.representatives)[needed])


class _ClaimBook:
    """Evidence for the true partition."""

    def __init__(self, groups: Index, delta: float) -> None:
        self._n_groups = int(groups.max()) + 1
        shares = ErrorShares(delta, len(groups), self._n_groups)
        self._claim = Claim(groups, shares.claim_limit(1.0, len(groups)), 0)
        self._nothing = np.zeros((len(groups), len(groups)), dtype=np.bool_)

    def after(self, block: Block, arms: Index) -> Index:
        joins = block.joins(block.groups[0], self._n_groups)[..., 0]
        self._claim.bet(arms, joins, block.pairs(np.arange(len(arms)))[..., 0])
        return self._claim.wanted(self._nothing)


# ---------------------------------------------------------------- many runs


def run_all(jobs: Iterable[Job], workers: int) -> dict[Job, Run]:
    """All runs, in separate processes with one thread each; progress on standard error."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    todo = list(dict.fromkeys(jobs))
    done: dict[Job, Run] = {}
    started = time.perf_counter()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(run, job): job for job in todo}
        for future in as_completed(waiting):
            job = waiting[future]
            done[job] = found = future.result()
            print(
                f"[{time.perf_counter() - started:6.0f} s] {len(done)} of {len(todo)}: {job.name} {job.rule} "
                f"delta {job.delta:g} seed {job.seed}: {found.samples:,} samples, {found.seconds:.1f} s"
                + (", WRONG" if found.wrong else "")
                + (", over the cap" if found.capped else ""),
                file=sys.stderr,
                flush=True,
            )
    return done


class Runs:
    """The runs of one call, by instance and rule."""

    def __init__(self, done: dict[Job, Run]) -> None:
        self._done = done

    def of(self, instance: Instance, rule: Rule, delta: float = DELTA) -> list[Run]:
        key = (instance.name, instance.sizes, rule, delta)
        return [found for job, found in self._done.items() if (job.name, job.sizes, job.rule, job.delta) == key]


def _mean(runs: Sequence[Run], n_arms: int, cap: int) -> float:
    """Mean samples per arm. A run that reached the cap counts with the cap."""
    return float(np.mean([cap if found.capped else found.samples for found in runs])) / n_arms


def _wrong(runs: Sequence[Run]) -> int:
    return sum(found.wrong for found in runs)


# ---------------------------------------------------------------- tables


def samples_table(runs: Runs, chosen: Sequence[Instance], cap: int) -> list[Row]:
    rows = []
    for one in chosen:
        published, anytime = runs.of(one, "kabc"), runs.of(one, "anytime")
        ours = _mean(anytime, one.n_arms, cap)
        theirs = _mean(published, one.n_arms, cap) if published else None
        rows.append(
            {
                "instance": one.name,
                "hard": one.hard,
                "N": one.n_arms,
                "K": one.n_groups,
                "published": theirs,
                "anytime": ours,
                "ratio": None if theirs is None else theirs / ours,
                "at_least": any(found.capped for found in published),
                "undecided": sum(found.capped for found in anytime),
                "published_wrong": _wrong(published),
                "published_runs": len(published),
                "anytime_wrong": _wrong(anytime),
                "anytime_runs": len(anytime),
                "anytime_seconds": float(np.mean([found.seconds for found in anytime])),
            }
        )
    return rows


def boc_table(runs: Runs, chosen: Sequence[Instance]) -> list[Row]:
    rows = []
    for one in (one for one in chosen if one.name in BOC):
        found = runs.of(one, "anytime", 0.1)
        totals = [each.samples for each in found]
        proven, unproven = BOC[one.name]
        rows.append(
            {
                "instance": one.name,
                "mean": float(np.mean(totals)),
                "sd": float(np.std(totals, ddof=min(1, len(totals) - 1))),
                "wrong": _wrong(found),
                "runs": len(found),
                "boc_proven": proven,
                "boc_unproven": unproven,
            }
        )
    return rows


def oracle_table(runs: Runs, chosen: Sequence[Instance], cap: int) -> list[Row]:
    rows = []
    for one in chosen:
        by_pairs, by_claim = runs.of(one, "oracle-pairs"), runs.of(one, "oracle-claim")
        if not by_pairs:
            continue
        pairs, claim, ours = (_mean(each, one.n_arms, cap) for each in (by_pairs, by_claim, runs.of(one, "anytime")))
        rows.append(
            {
                "instance": one.name,
                "pairs": pairs,
                "claim": claim,
                "anytime": ours,
                "ratio_pairs": ours / pairs,
                "ratio_claim": ours / claim,
            }
        )
    return rows


def unequal_table(runs: Runs) -> list[Row]:
    instance = INSTANCES["unequal-gaps"]
    both = {rule: runs.of(instance, rule) for rule in ("anytime", "kabc")}
    means = {rule: np.mean([found.by_group for found in each], axis=0) for rule, each in both.items()}
    return [
        {"group": group, "place": place, "published": float(means["kabc"][group]), "anytime": float(mean)}
        for group, (place, mean) in enumerate(zip(PLACES, means["anytime"], strict=True))
    ]


def _many_instances() -> list[Instance]:
    digits = INSTANCES["digits"]
    crowd = [AXES_10D, AXES_10D.with_sizes(*[100] * 4), digits, digits.with_sizes(*[40] * 10)]
    return [*crowd, AXES_50D.with_sizes(*[200] * 10)]


def many_table(runs: Runs, cap: int) -> list[Row]:
    rows = []
    for one in _many_instances():
        found = runs.of(one, "anytime")
        rows.append(
            {
                "instance": one.name,
                "N": one.n_arms,
                "K": one.n_groups,
                "anytime": _mean(found, one.n_arms, cap),
                "wrong": _wrong(found),
                "runs": len(found),
                "seconds": float(np.mean([each.seconds for each in found])),
                "peak_mb": max(each.peak_mb for each in found),
            }
        )
    return rows


# ---------------------------------------------------------------- on paper


def print_samples(rows: list[Row], options: argparse.Namespace) -> None:
    print(
        f"Mean samples per arm at delta = {DELTA:g}; published: {options.published_seeds} seeds, anytime: "
        f"{options.seeds} seeds, cap {options.cap:,} samples in total"
    )
    print(
        f"{'instance':<17}{'N':>5}{'K':>4}{'published':>12}{'anytime':>10}{'fewer by':>11}  wrong (published, anytime)"
    )
    for row in rows:
        published, ratio = "-", "-"
        if row["published"] is not None:
            published, ratio = f"{row['published']:,.0f}", f"{'>= ' if row['at_least'] else ''}{row['ratio']:.1f}x"
        wrong = (
            f"{row['published_wrong']} of {row['published_runs']}, {row['anytime_wrong']} of {row['anytime_runs']}"
            + (f" ({row['undecided']} undecided)" if row["undecided"] else "")
        )
        print(
            f"{row['instance']:<17}{row['N']:>5}{row['K']:>4}{published:>12}{row['anytime']:>10,.1f}"
            f"{ratio:>11}  {wrong}"
        )
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if not ratios:
        return
    worst = min(rows, key=lambda row: row["ratio"])
    print(f"median {np.median(ratios):.1f}x, smallest {worst['ratio']:.1f}x ({worst['instance']})")


def print_boc(rows: list[Row]) -> None:
    print("\nMean total samples at delta = 0.1, beside BOC (JMLR 25(186), figure 3 and table 1)")
    print(f"{'instance':<17}{'anytime':>10}{'sd':>8}{'wrong':>10}{'BOC, proven':>13}{'BOC, unproven':>15}")
    for row in rows:
        proven = "-" if row["boc_proven"] is None else f"{row['boc_proven']:,.0f}"
        wrong = f"{row['wrong']} of {row['runs']}"
        print(
            f"{row['instance']:<17}{row['mean']:>10,.0f}{row['sd']:>8,.0f}{wrong:>10}{proven:>13}"
            f"{row['boc_unproven']:>15,.0f}"
        )


def print_oracle(rows: list[Row]) -> None:
    print(
        "\nMean samples per arm of oracles that know the densities: by pairs with a union bound, and by a claim of the"
    )
    print("true partition made before the first sample")
    print(f"{'instance':<17}{'pairs':>10}{'claim':>10}{'anytime':>10}{'to pairs':>10}{'to claim':>10}")
    for row in rows:
        print(
            f"{row['instance']:<17}{row['pairs']:>10,.1f}{row['claim']:>10,.1f}{row['anytime']:>10,.1f}"
            f"{row['ratio_pairs']:>9.2f}x{row['ratio_claim']:>9.2f}x"
        )
    means = [float(np.mean([row[key] for row in rows])) for key in ("ratio_pairs", "ratio_claim")]
    print(f"{'mean':<47}{means[0]:>9.2f}x{means[1]:>9.2f}x")


def print_unequal(rows: list[Row]) -> None:
    print("\nVery unequal gaps: mean samples per arm by group")
    print(f"{'place':>7}{'published':>12}{'anytime':>10}")
    for row in rows:
        print(f"{row['place']:>7g}{row['published']:>12,.0f}{row['anytime']:>10,.1f}")


def print_many(rows: list[Row]) -> None:
    print("\nMany arms: mean samples per arm, seconds and peak memory of a run")
    print(f"{'instance':<12}{'N':>6}{'K':>4}{'anytime':>10}{'seconds':>9}{'MB':>7}  wrong")
    for row in rows:
        print(
            f"{row['instance']:<12}{row['N']:>6}{row['K']:>4}{row['anytime']:>10,.1f}{row['seconds']:>9.1f}"
            f"{row['peak_mb']:>7.0f}  {row['wrong']} of {row['runs']}"
        )


# ---------------------------------------------------------------- what to run


def _jobs(options: argparse.Namespace, chosen: Sequence[Instance]) -> list[Job]:
    """The jobs in the order of seeds. So progress shows early results of all instances."""
    known = [one for one in chosen if options.oracle and all(law.log_density for law in one.laws)]
    jobs: list[Job] = []
    for seed in range(max(options.seeds, options.published_seeds)):
        if seed < options.published_seeds:
            jobs += [Job.of(one, "kabc", seed, options.cap) for one in chosen]
        if seed < options.seeds:
            jobs += [Job.of(one, "anytime", seed, options.cap) for one in chosen]
            jobs += [Job.of(one, "anytime", seed, options.cap, 0.1) for one in chosen if one.name in BOC]
            jobs += [Job.of(one, "oracle-pairs", seed, options.cap) for one in known]
            jobs += [Job.of(one, "oracle-claim", seed, options.cap) for one in known]
    return jobs


def _many_jobs(options: argparse.Namespace) -> list[Job]:
    crowds = _many_instances()
    few = [Job.of(one, "anytime", seed, options.cap) for one in crowds[:-1] for seed in range(min(5, options.seeds))]
    return [*few, Job.of(crowds[-1], "anytime", 0, options.cap)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--published-seeds", type=int, default=5, help="seeds of the published rule; 0: without it")
    parser.add_argument("--only", default="", help="instances, separated by commas; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cap", type=int, default=2_000_000, help="largest total number of samples of a run")
    parser.add_argument("--oracle", action="store_true", help="also an oracle that knows the densities")
    parser.add_argument("--unequal", action="store_true", help="also samples by group on unequal-gaps")
    parser.add_argument("--many", action="store_true", help="also 20 against 400 arms, and 2000")
    parser.add_argument("--quick", action="store_true", help="3 seeds and few instances")
    parser.add_argument(
        "--json", nargs="?", const="-", help="print JSON instead of tables, or write it to FILE as well"
    )
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.published_seeds = min(3, options.seeds), min(1, options.published_seeds)
        options.only = options.only or ",".join(QUICK)
    if options.seeds < 1 or options.published_seeds < 0:
        parser.error("--seeds must be at least 1, and --published-seeds at least 0")
    if options.unequal and not options.published_seeds:
        parser.error("--unequal shows the published rule: --published-seeds must be at least 1")
    unknown = set(filter(None, options.only.split(","))) - INSTANCES.keys()
    if unknown:
        parser.error(f"no instance {', '.join(sorted(unknown))}; there are {', '.join(INSTANCES)}")
    return options


def main() -> None:
    options = _arguments()
    names = list(filter(None, options.only.split(","))) or ALL
    names += ["unequal-gaps"] if options.unequal and "unequal-gaps" not in names else []
    chosen = [INSTANCES[name] for name in names]
    done = run_all(_jobs(options, chosen), options.workers)
    if options.many:  # each run has its own process, so its memory is that of the run
        for job in _many_jobs(options):
            done |= run_all([job], 1)
    runs = Runs(done)
    tables: dict[str, list[Row]] = {"samples": samples_table(runs, chosen, options.cap), "boc": boc_table(runs, chosen)}
    if options.oracle:
        tables["oracle"] = oracle_table(runs, chosen, options.cap)
    if options.unequal:
        tables["unequal"] = unequal_table(runs)
    if options.many:
        tables["many"] = many_table(runs, options.cap)
    settings = {"seeds": options.seeds, "published_seeds": options.published_seeds, "cap": options.cap, "delta": DELTA}
    text = json.dumps({"settings": settings, **tables}, indent=1)
    if options.json == "-":
        print(text)
        return
    if options.json:
        Path(options.json).write_text(text + "\n")
    show(tables, options)


def show(tables: dict[str, list[Row]], options: argparse.Namespace) -> None:
    print_samples(tables["samples"], options)
    if tables["boc"]:
        print_boc(tables["boc"])
    for name, printer in (("oracle", print_oracle), ("unequal", print_unequal), ("many", print_many)):
        if name in tables:
            printer(tables[name])


if __name__ == "__main__":
    main()
