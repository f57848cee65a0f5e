"""`make demo`: two stories from real measurements, and a picture. Options: python -m kabc.demo --help.

Each arm draws with replacement from a fixed pool of real measurements. So two arms have the same distribution exactly
when they have the same pool. The truth is known, and the answer can be checked.
"""

from __future__ import annotations

import argparse
import json
import math
import string
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import kabc
from kabc.core.arrays import Array
from kabc.report.pair_map import draw_pair_map, pair_map
from kabc.running.snapshots import Snapshot

Say = Callable[[str, str], None]  # a label and a text

SEED = 7
DELTA = 0.05
PILOT = 20  # samples of each arm
ARMS_PER_POOL = 4
CULTIVAR, MALIC_ACID = 0, 2  # columns of the file


@dataclass(frozen=True)
class Story:
    """An instance with known truth: a description, and the pools that its arms draw from."""

    title: str
    about: str
    arm: str
    pools: Mapping[str, Array]  # each (rows, d)

    def truth(self, seed: int) -> dict[str, str]:
        """The pool of each arm, in an order that the seed shuffles."""
        pools = np.random.default_rng(seed).permutation([*self.pools] * ARMS_PER_POOL).tolist()
        return {f"{self.arm} {letter}": pool for letter, pool in zip(string.ascii_uppercase, pools, strict=False)}


@dataclass
class Sampler:
    """An arm. It draws from a pool with replacement and sums up its samples."""

    pool: Array  # (rows, d)
    total: Array | float = 0.0  # (d,)
    count: int = 0

    def __call__(self, n: int, rng: np.random.Generator) -> Array:  # (n, d)
        rows: Array = self.pool[rng.integers(len(self.pool), size=n)]
        self.total = self.total + rows.sum(axis=0)
        self.count += n
        return rows


@dataclass(frozen=True)
class Told:
    """A story with its result."""

    story: Story
    truth: dict[str, str]
    plan: kabc.Plan
    result: kabc.Result
    by_means: kabc.Partition
    tight: kabc.Result
    anytime: kabc.Result

    def facts(self) -> dict[str, Any]:
        """All facts of the text, as JSON values."""
        truth = kabc.Partition.of(self.truth.values())
        return {
            "title": self.story.title,
            "about": self.story.about,
            "n_arms": len(self.truth),
            "n_clusters": len(self.story.pools),
            "delta": DELTA,
            "kernel": self.result.kernel,
            "pilot_samples": self.result.n_pilot,
            "planned_samples": self.plan.expected_samples,
            "theorem_bound": math.ceil(self.plan.theorem_bound),
            "rounds": [{"round": r.number, "n": r.n, "groups": r.n_groups} for r in self.result.rounds],
            "status": self.result.status,
            "samples": self.result.n_samples,
            "groups": self.result.groups,
            "truth": self.truth,
            "adjusted_rand": kabc.Partition.of(self.result.labels).adjusted_rand(truth),
            "adjusted_rand_of_means": self.by_means.adjusted_rand(truth),
            "tight_samples": self.tight.n_samples,
            "tight_adjusted_rand": kabc.Partition.of(self.tight.labels).adjusted_rand(truth),
            "anytime_samples": self.anytime.n_samples,
            "anytime_adjusted_rand": kabc.Partition.of(self.anytime.labels).adjusted_rand(truth),
            "certificate": self.result.certificate(),
        }


def wine() -> Array:  # (178, 14)
    """The shipped file: cultivar (1, 2 or 3) and 13 measurements of each wine."""
    text = (files("kabc") / "data" / "wine.csv").read_text(encoding="utf-8")
    return np.loadtxt(text.splitlines()[1:], delimiter=",")


def stories() -> tuple[Story, Story]:
    """The two stories: twelve lines that differ in many ways, and eight sensors that differ only in shape."""
    table = wine()
    cultivar, values = table[:, CULTIVAR], table[:, 1:]
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    malic = table[cultivar == 1, MALIC_ACID : MALIC_ACID + 1]
    deviation = malic - malic.mean()
    lines = Story(
        title="Twelve bottling lines, three wines",
        about="Each line fills one of three wines. A sample is a bottle with 13 laboratory values, drawn from real "
        "analyses of 178 wines (UCI Wine, CC BY 4.0). Values are scaled by their mean and spread in the whole file, "
        "which is fixed before any sample is drawn.",
        arm="line",
        pools={f"cultivar {number}": scaled[cultivar == number] for number in (1, 2, 3)},
    )
    sensors = Story(
        title="Eight sensors, four wired the wrong way round",
        about="Each sensor reports how far the malic acid of a wine lies from its mean, drawn from the 59 wines of "
        "cultivar 1 (chosen because no other value of theirs is as skewed). Four sensors report it with the "
        "wrong sign. All have the same mean and the same variance; only the shape is mirrored.",
        arm="sensor",
        pools={"right way round": deviation, "wrong way round": -deviation},
    )
    return lines, sensors


def tell(story: Story, seed: int, say: Say) -> Told:
    """Plan, run the published KABC, group the same samples by their means, and run two cheaper strategies."""
    truth, n_clusters = story.truth(seed), len(story.pools)
    say("", "")
    say(story.title.upper(), "")
    say("Data", story.about)
    say(
        "Question",
        f"Which {story.arm}s are the same? {len(truth)} {story.arm}s, {n_clusters} groups; the answer may "
        f"be wrong with probability at most {DELTA:g}.",
    )

    plans: list[kabc.Plan] = []

    def choose(pilot: Array) -> kabc.Kernel:  # (N PILOT, d)
        kernel = kabc.Gaussian.from_pilot(pilot)
        arms = np.split(pilot, len(truth))
        plans.append(kabc.plan(n_clusters=n_clusters, delta=DELTA, pilot=arms, kernel=kernel))
        _say_the_plan(kernel, plans[0], say)
        return kernel

    def heard(seen: Snapshot) -> None:
        groups = "1 group" if seen.round.n_groups == 1 else f"{seen.round.n_groups} groups"
        say(f"Round {seen.round.number}", f"{seen.round.n:>5,} fresh samples of each: {groups} seen")

    arms = {name: Sampler(story.pools[pool]) for name, pool in truth.items()}
    result = kabc.cluster(
        arms, n_clusters, DELTA, strategy="kabc", kernel=choose, pilot=PILOT, seed=seed, progress=False, on_round=heard
    )
    by_means = group_by_means(np.array([arm.total / arm.count for arm in arms.values()]), n_clusters)
    tight = kabc.cluster(arms, n_clusters, DELTA, pilot=PILOT, seed=seed, strategy="kabc-tight", progress=False)
    anytime = kabc.cluster(arms, n_clusters, DELTA, seed=seed, progress=False)
    plan = plans[0]
    told = Told(story, truth, plan, result, by_means, tight, anytime)
    _say_the_end(told, say)
    return told


def _say_the_plan(kernel: kabc.Gaussian, plan: kabc.Plan, say: Say) -> None:
    say(
        "Pilot",
        f"{PILOT} samples of each choose the bandwidth of the Gaussian kernel, {kernel.bandwidth:.3g}, and "
        "give the plan; they are not tested.",
    )
    say(
        "Plan",
        f"{plan.expected_samples:,} samples, a guess (the theorem's bound, for data like the pilot: "
        f"{math.ceil(plan.theorem_bound):,}).",
    )


def group_by_means(means: Array, n_clusters: int) -> kabc.Partition:  # (N, d)
    """Ward's clustering of the arms' means. It uses the criterion of k-means, without a random start."""
    from scipy.cluster.hierarchy import fcluster, linkage

    return kabc.Partition.of(fcluster(linkage(means, "ward"), n_clusters, "maxclust").tolist())


def _say_the_end(told: Told, say: Say) -> None:
    facts = told.facts()
    say("Answer", f"{facts['status']} after {facts['samples']:,} samples, {facts['pilot_samples']} of them the pilot:")
    for group in told.result.groups:
        truth = " and ".join(sorted({told.truth[str(name)] for name in group}))
        say("", f"{', '.join(map(str, group))}   (truth: {truth})")
    say("Check", f"KABC is {_verdict(facts['adjusted_rand'])}.")
    say("", f"Clustering the means of the same samples (Ward) is {_verdict(facts['adjusted_rand_of_means'])}.")
    say("Cheaper", "The same error bound, for sources that are independent of each other:")
    say("", f"kabc-tight: {facts['tight_samples']:,} samples, {_verdict(facts['tight_adjusted_rand'])}.")
    say("", f"anytime:    {facts['anytime_samples']:,} samples, {_verdict(facts['anytime_adjusted_rand'])}.")
    say("Why", "")
    for line in facts["certificate"].splitlines():
        say("", line)


def _verdict(adjusted_rand: float) -> str:
    return f"{'right' if adjusted_rand == 1 else 'WRONG'} (adjusted Rand {adjusted_rand:.2f}; 1: right, 0: chance)"


def _print(label: str, text: str) -> None:
    indent = " " * (10 if label else 14 if text.startswith("  -") else 12)
    wrapped = textwrap.fill(text, 116, initial_indent=" " * 10, subsequent_indent=indent, break_on_hyphens=False)
    print(f"{label:<10}{wrapped[10:]}".rstrip(), flush=True)


def draw(told: list[Told], path: Path) -> bool:
    """One panel for each story; False when matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(15, 6.5), layout="constrained")
    for panel, part in zip(figure.subfigures(1, len(told), squeeze=False).flat, told, strict=True):
        panel.suptitle(part.story.title, fontweight="bold")
        draw_pair_map(pair_map(part.result), panel.subplots())
    figure.savefig(path, dpi=130, bbox_inches="tight", pad_inches=0.2)
    return True


def main(arguments: list[str] | None = None) -> None:
    """Tell both stories as text or as one JSON document, and draw them."""
    parser = argparse.ArgumentParser(prog="python -m kabc.demo", description="Two stories from real measurements.")
    parser.add_argument("--seed", type=int, default=SEED, help=f"another one gives other samples (default {SEED})")
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="picture file or its folder (default here)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    options = parser.parse_args(arguments)
    path = (options.out / "demo.png" if options.out.is_dir() else options.out).resolve()
    if options.seed < 0:
        parser.error(f"--seed must be 0 or more, got {options.seed}")
    if not path.parent.is_dir():
        parser.error(f"--out: there is no folder {path.parent}; create it or choose another")

    say: Say = (lambda label, text: None) if options.json else _print
    say("kabc", f"Which sources of data are the same? Two stories, seed {options.seed}.")
    told = [tell(story, options.seed, say) for story in stories()]
    say("", "")
    drawn = draw(told, path)
    if drawn:
        say("Picture", f"{path}: distance of each pair against its threshold")
    else:
        say("Picture", "not drawn, because matplotlib is missing; pip install 'kabc[plot]'")
    if options.json:
        facts = [part.facts() for part in told]
        print(json.dumps({"seed": options.seed, "stories": facts, "picture": str(path) if drawn else None}, indent=2))


if __name__ == "__main__":
    main()
