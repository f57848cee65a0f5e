"""What it costs to prove that arms are the same within a tolerance, and how often that is wrong.

    python benchmarks/tolerance.py [--only equal,gap,validity,chains,stories] [--seeds 10] [--runs 2000]
                                   [--instances NAME,..]

equal     12 equal normal arms: samples of each arm until all are proven to be one group, beside fixed-size rivals
gap       instances of benchmarks/samples.py with tolerance = 0.8 of the smallest kernel distance: the partition, and
          the samples of each arm against the paper's rule for unknown K (min_separation = 0.8 s_*)
validity  two arms at, just above and far below the tolerance, with bets that see no difference: claims that are wrong
chains    three arms at 0, 0.6 and 1.2 of the tolerance: is the one in between named?
stories   twelve builds, 300 hosts and 1,000 hosts, with seconds
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import binom, cauchy, norm, poisson

import kabc
from kabc.bench import INSTANCES, SUITES
from kabc.core.arrays import Array, Index, Mask
from kabc.core.embeddings.pilots import feature_distance, pilot_features
from kabc.core.evidence.quantiles import QuantileBets
from kabc.core.evidence.sameness import SameBets
from kabc.core.kernels import FiniteKernel

DELTA = 0.05
ALPHA = 0.05  # of one statement, where runs are counted
N_ARMS = 12
LEFT_OUT = ("boc-yeast", "coins", "odd-arm")
LEAST = 0.05  # a smaller s_* would take the paper's rule more than 700,000 samples of each arm: left out
ALL = [
    one.name for suite in ("real", "synthetic", "alphabets", "boc") for one in SUITES[suite] if one.name not in LEFT_OUT
]
Law = Callable[[int, np.random.Generator], Array]
Sampler = Callable[[np.random.Generator, int], Array]  # of n points, (n, d)


def normal(mean: float, d: int, spread: float = 1.0) -> Law:
    return lambda n, rng: rng.normal(mean, spread, (n, d))


# ---------------------------------------------------------------- equal arms


def equal(seeds: int) -> None:
    print(f"\n{N_ARMS} equal normal arms, delta = {DELTA}: samples of each arm, pilot included; {seeds} seeds")
    print("the rivals have a fixed size, chosen with the covariance known, at delta / N for each arm: no looking early")
    print("| tolerance | columns | kabc, mean (range) | balls around means | DKW | TOST, means only |")
    print("|---|---|---|---|---|---|")
    for d in (1, 5, 20):
        for shift in (0.1, 0.2, 0.5, 0.8):
            if d > 1 and shift < 0.2:
                continue
            found = []
            for seed in range(seeds):
                arms = [normal(0.0, d)] * N_ARMS
                result = kabc.cluster(arms, tolerance=f"{shift} sd", delta=DELTA, seed=seed, progress=False)
                assert result.status == "decided", result.status
                assert len(result.groups) == 1, "wrong"
                found.append(result.n_samples / N_ARMS)
            row = [f"{rival:,.0f}" for rival in rivals(shift, d)]
            ours = f"{np.mean(found):,.0f} ({min(found):,.0f}-{max(found):,.0f})"
            print(f"| {shift} sd | {d} | {ours} | {' | '.join(row)} |", flush=True)


def rivals(shift: float, d: int) -> list[float]:
    """Samples of each arm: balls around mean embeddings, time-free DKW (one column), TOST of the means."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(2000, d))
    features = pilot_features(pool)
    phi = features.features(pool)
    eps = feature_distance(features, pool, pool + shift)
    level = math.log(2 * N_ARMS / DELTA)
    balls = (2 * (math.sqrt(np.trace(np.cov(phi.T))) * (1 + math.sqrt(2 * level))) / eps) ** 2
    kolmogorov = 2 * norm.cdf(shift / 2) - 1
    dkw = level / 2 * (2 / kolmogorov) ** 2 if d == 1 else math.nan
    tost = 2 * ((norm.isf(DELTA / N_ARMS) + norm.isf(0.1)) / (shift * math.sqrt(d))) ** 2  # power 80 %
    return [balls, dkw, tost]


# ---------------------------------------------------------------- instances with a gap


def gap(seeds: int, names: Sequence[str]) -> None:
    print(f"\ntolerance = 0.8 of the smallest kernel distance, delta = {DELTA}, {seeds} seeds")
    print("| instance | arms | columns | s_* | paper, unknown K | kabc, tolerance | ratio | right | anytime, K known |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios, wrong = [], 0
    for name in names:
        instance = INSTANCES[name]
        rng = np.random.default_rng(1)
        draws = [np.asarray(law.draw(1500, rng), dtype=np.float64).reshape(1500, -1) for law in instance.laws]
        pilot = np.concatenate([x[: 20 * size] for x, size in zip(draws, instance.sizes, strict=True)])
        kernel = kabc.Gaussian.from_pilot(pilot)
        s = smallest_distance(draws, kernel)
        if s < LEAST:
            print(f"| {name} | {instance.n_arms} | {draws[0].shape[1]} | {s:.3f} | left out | | | | |", flush=True)
            continue
        paper = kabc.Cluster.for_separation(instance.n_arms, 0.8 * s, DELTA, kernel).n
        ours, exact, right = [], [], 0
        for seed in range(seeds):
            settings = {"delta": DELTA, "seed": seed, "progress": False, "max_samples": 2_000_000}
            tolerance = kabc.KernelDistance(0.8 * s)
            found = kabc.cluster(instance.arms, tolerance=tolerance, kernel=kernel, **settings)  # type: ignore[arg-type]
            known = kabc.cluster(instance.arms, len(instance.sizes), **settings)  # type: ignore[arg-type]
            truth = kabc.Partition.of(list(instance.labels))
            right += found.status == "decided" and kabc.Partition.of(list(found.labels)).matches(truth)
            ours.append(found.n_samples / instance.n_arms)
            exact.append(known.n_samples / instance.n_arms)
        ratios.append(paper / float(np.mean(ours)))
        wrong += seeds - right
        figures = f"{s:.3f} | {paper:,} | {np.mean(ours):,.0f} | {ratios[-1]:,.0f} | {right} of {seeds}"
        print(f"| {name} | {instance.n_arms} | {draws[0].shape[1]} | {figures} | {np.mean(exact):,.0f} |", flush=True)
    total = seeds * len(ratios)
    print(f"median {np.median(ratios):.0f} times fewer, least {min(ratios):.1f}; {wrong} of {total} not right")


def smallest_distance(draws: Sequence[Array], kernel: kabc.Kernel) -> float:
    """s_*: the smallest distance of two groups, without the part that is noise."""
    features = kabc.RandomFeatures(kernel, 4096, 7)
    means = [np.asarray(features.features(x), dtype=np.float64).mean(axis=0) for x in draws]
    noise = 2 / len(draws[0])
    return min(
        math.sqrt(max(1e-12, float(np.square(a - b).sum()) - noise)) for i, a in enumerate(means) for b in means[:i]
    )


# ---------------------------------------------------------------- validity


class Adversary(SameBets):
    """Bets and centres that follow the past in foolish ways: more after a loss, centres anywhere in the ball."""

    def _centre(self, which: Index) -> tuple[Array, Array]:  # (A,) -> (A, D), (A,)
        swing = np.sin(7.0 * self._sum[which] + self._counts[which][:, None])
        centre = self.sup[which][:, None] * swing / math.sqrt(self.n_features)
        mean = self._sum[which] / np.maximum(self._counts[which], 1)[:, None]
        centre = np.where((self._counts[which] % 3 == 0)[:, None], mean, centre)
        self._lambda[which] = np.where(self._sum[which].sum(axis=1) > 0, 0.9, 0.05)
        return centre, self.sup[which] * (1 + 1e-6) + np.linalg.norm(centre, axis=1)


def validity(runs: int) -> None:
    """One statement at alpha = 0.05: the distance is known, so a wrong margin can be counted."""
    allowed = int(binom.ppf(0.999, runs, ALPHA))
    print(f"\none statement at alpha = {ALPHA}, {runs:,} runs of 400 differences, looked at 40 times")
    print("adversary: foolish lambda and centre; at distance 0 no statement can be wrong")
    print("| law | distance / tolerance | wrong statements | with an adversary | allowed |")
    print("|---|---|---|---|---|")
    laws: dict[str, tuple[Sampler, float]] = {
        "continuous": (lambda rng, n: rng.normal(size=(n, 1)), 0.8),
        "discrete": (lambda rng, n: rng.poisson(2.0, (n, 1)).astype(float), 1.0),
        "heavy tails": (lambda rng, n: rng.standard_cauchy((n, 1)), 1.0),
        "20 dimensions": (lambda rng, n: rng.normal(size=(n, 20)), 0.3),
    }
    for name, (draw, shift) in laws.items():
        pilot = draw(np.random.default_rng(0), 400)
        features = pilot_features(pilot)
        big = draw(np.random.default_rng(1), 200_000)
        true = feature_distance(features, big, big + shift)
        for said, moved, eps in (("1", shift, true), ("1.02", shift, true / 1.02), ("0", 0.0, true)):
            wrong = [wrong_statements(kind, runs, draw, moved, features, pilot, eps) for kind in (SameBets, Adversary)]
            counts = [np.count_nonzero(one) for one in wrong]
            found = " | ".join(f"{n}" if moved else f"0 ({n:,} certified, all true)" for n in counts)
            print(f"| {name} | {said} | {found} | {allowed if moved else 0} |", flush=True)
    quantile_validity(runs, allowed)


def wrong_statements(
    kind: type[SameBets], runs: int, draw: Sampler, shift: float, features: FiniteKernel, pilot: Array, eps: float
) -> Mask:  # -> (runs,)
    """Runs that certify "closer than eps" at any of 40 looks."""
    phi = features.features
    rng = np.random.default_rng(2)
    covariance = 2 * np.cov(phi(pilot).T)
    bets = kind(runs, len(covariance), features_sup(features), eps, ALPHA, covariance)
    for _ in range(40):
        z = phi(draw(rng, runs * 10)) - phi(draw(rng, runs * 10) + shift)
        bets.bet(np.arange(runs), z.reshape(runs, 10, -1))
        best = bets.best(-math.log(ALPHA), below=eps)
    return np.asarray(best < eps)


def quantile_validity(runs: int, allowed: int) -> None:
    print(f"\nquantiles: intervals at alpha = {ALPHA}, {runs:,} runs of 2,000 samples, looked at 40 times")
    print("| law | quantile | intervals that ever left it out | allowed |")
    print("|---|---|---|---|")
    laws: dict[str, tuple[Callable[[np.random.Generator], Array], Callable[[float], float]]] = {
        "continuous": (lambda rng: rng.normal(size=50), norm.ppf),
        "discrete": (lambda rng: rng.poisson(2.0, 50).astype(float), lambda p: poisson.ppf(p, 2.0)),
        "heavy tails": (lambda rng: rng.standard_cauchy(50), cauchy.ppf),
    }
    level = math.log(2 / ALPHA)  # two sides
    for name, (draw, quantile) in laws.items():
        for p in (0.5, 0.9, 0.99):
            rng, bets = np.random.default_rng(3), QuantileBets(runs, [p])
            for _ in range(40):
                for run in range(runs):
                    bets.add(run, draw(rng))
                ends = bets.intervals(level)[:, 0]  # they only move inwards
            wrong = np.count_nonzero((ends[:, 0] > quantile(p)) | (ends[:, 1] < quantile(p)))
            print(f"| {name} | p{100 * p:g} | {wrong} | {allowed} |", flush=True)


def features_sup(features: kabc.Kernel) -> float:
    return math.sqrt(2 * (features.supremum - features.infimum))


# ---------------------------------------------------------------- chains and stories


def chains(runs: int) -> None:
    named = false = 0
    for seed in range(runs):
        arms = [normal(0.5 * step, 1) for step in (0.0, 0.6, 1.2)]
        # samples are independent; the watch over their order has an error of its own, in at most 1 % of the runs
        found = kabc.cluster(arms, tolerance="0.5 sd", seed=seed, progress=False, watch=False)
        assert found.verdicts is not None
        named += 1 in found.between
        false += found.verdicts[0, 2] == "same"
    print(f"\nchains (0, 0.6, 1.2 of the tolerance): named in {named} of {runs} runs, {false} false statements")


def stories(seeds: int) -> None:
    def stalls(n: int, rng: np.random.Generator) -> Array:
        return rng.normal(100, 4, n) * np.where(rng.random(n) < 0.03, 10.0, 1.0)

    print("\nbuilds: nine equal ones, +3 %, twice as wide, ten times the time in 3 % of runs; tolerance 2 %, no K")
    for seed in range(seeds):
        builds: dict[str, Law] = {f"b{i:02d}": (lambda n, rng: rng.normal(100, 4, n)) for i in range(1, 10)}
        builds |= {
            "b10": lambda n, rng: rng.normal(103, 4, n),
            "b11": lambda n, rng: rng.normal(100, 8, n),
            "b12": stalls,
        }
        found, seconds = timed(builds, "2%", seed)
        groups = " | ".join(" ".join(map(str, group)) for group in found.groups)
        print(f"seed {seed}: {found.status}, {found.n_samples:,} samples, {seconds}: {groups}", flush=True)
    for n_hosts in (300, 1000):
        hosts(n_hosts)


def hosts(n_hosts: int) -> None:
    """Two thirds, one third that is 25 % slower, and two with a heavier tail: three times the time in 5 % of calls."""
    slow = n_hosts // 3
    print(f"\n{n_hosts:,} hosts: {n_hosts - slow - 2} equal, {slow} slower by 25 %, 2 with a heavier tail; 10 %, no K")
    laws: list[Law] = [
        lambda n, rng: 20 * rng.lognormal(0, 0.25, n),
        lambda n, rng: 25 * rng.lognormal(0, 0.25, n),
        lambda n, rng: 20 * rng.lognormal(0, 0.25, n) * np.where(rng.random(n) < 0.05, 3.0, 1.0),
    ]
    kinds = np.repeat([0, 1, 2], [n_hosts - slow - 2, slow, 2])
    truth = np.random.default_rng(5).permutation(kinds).tolist()
    found, seconds = timed({f"web-{i:04d}": laws[kind] for i, kind in enumerate(truth)}, "10%", 0)
    right = kabc.Partition.of(list(found.labels)).matches(kabc.Partition.of(truth))
    sizes = ", ".join(str(len(group)) for group in found.groups)
    print(f"{found.status}, {found.n_samples:,} samples, {seconds}: groups of {sizes}; right: {right}", flush=True)


def timed(arms: dict[str, Law], tolerance: str, seed: int) -> tuple[kabc.Result, str]:
    """The answer, and how long it took."""
    began, busy = time.perf_counter(), time.process_time()
    found = kabc.cluster(arms, tolerance=tolerance, seed=seed, progress=False)
    return found, f"{time.perf_counter() - began:.0f} s ({time.process_time() - busy:.0f} s of computing)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="equal,gap,validity,chains,stories")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--instances", default=",".join(ALL))
    given = parser.parse_args()
    wanted = given.only.split(",")
    if "equal" in wanted:
        equal(given.seeds)
    if "gap" in wanted:
        gap(given.seeds, given.instances.split(","))
    if "validity" in wanted:
        validity(given.runs)
    if "chains" in wanted:
        chains(min(given.runs, 50))
    if "stories" in wanted:
        stories(min(given.seeds, 3))


if __name__ == "__main__":
    main()
