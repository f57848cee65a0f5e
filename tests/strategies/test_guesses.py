"""Whenever you look, a guess agrees with what is certified.

Groups of the published rule are components (tests/blackbox/test_paper.py); those of all other strategies are guesses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.evidence.pairs import Evidence
from kabc.running.snapshots import Snapshot
from kabc.strategies.guesses import agreeing
from tests.seeded_runs import Draw, Seeded, choice, normal, seeded_runs

ALL = seeded_runs()

# Arms in a row: neighbours are hard to tell apart, ends are easy, so open pairs chain all of them together.
CHAIN: list[Draw] = [normal(0.9 * arm) for arm in range(7)]
SYMBOLS: list[Draw] = [choice([0.9 - 0.2 * arm, 0.1 + 0.2 * arm]) for arm in range(5)]


def chained() -> dict[str, Seeded]:
    """Every other strategy on arms in a row, K too small; with and without K where it may be left out."""
    runs: dict[str, Seeded] = {}
    for name, one in ALL.items():
        key = name.split("/")[0]
        if key in runs or one.n_clusters is None or one.strategy in ("kabc", "kabc-tight"):
            continue
        arms = SYMBOLS if key == "tas-fw" else CHAIN
        options: dict[str, Any] = one.options | ({"alphabet": 2} if key == "tas-fw" else {})
        runs[key] = Seeded(arms, one.strategy, 2, {"max_samples": 4_000}, options)
    more = [choice([0.95 - 0.1 * arm, 0.05 + 0.1 * arm]) for arm in range(10)]  # too many partitions to judge each
    runs["tas-fw, all pairs"] = Seeded(more, "tas-fw", 4, {"max_samples": 1_000}, {"alphabet": 2})
    runs["anytime, more groups"] = Seeded(CHAIN, "anytime", 4, {"max_samples": 900})
    runs["anytime, K unknown"] = Seeded(CHAIN, "anytime", None, {"max_samples": 900})
    runs["anytime, many arms"] = Seeded(
        [normal(0.5 * (arm % 8)) for arm in range(90)], "anytime", 3, {"max_samples": 4_000}
    )
    return runs


RUNS = chained()


@pytest.mark.parametrize("name", RUNS)
def test_a_guess_never_joins_arms_told_apart_and_never_has_fewer_groups_than_are_certified(name: str) -> None:
    n_seen = 0

    def look(seen: Snapshot) -> None:
        nonlocal n_seen
        n_seen += 1
        if seen.strategy.status == "decided":
            return  # the rule of the strategy, as it is proven
        labels = np.array(seen.labels)
        assert not (seen.evidence.told_apart & (labels[:, None] == labels)).any()
        assert labels.max() + 1 >= seen.n_groups_at_least

    result = RUNS[name].result(on_round=look)
    assert n_seen
    if not result.certified:
        assert len(result.groups) >= result.n_groups_at_least


def three(counts: tuple[int, ...], gap: float) -> tuple[list[Draw], kabc.Partition]:
    means = [gap * group for group, count in enumerate(counts) for _ in range(count)]
    return [normal(mean) for mean in means], kabc.Partition.of(means)


@pytest.mark.parametrize("seed", range(4))
def test_without_k_three_clear_groups_are_found_from_few_samples(seed: int) -> None:
    arms, truth = three((5, 4, 3), 2.0)
    result = kabc.cluster(arms, max_samples=170, seed=seed, progress=False)
    assert kabc.Partition(result.labels) == truth
    bound = f"at least {result.n_groups_at_least} groups; {result.evidence.n_told_apart} of 66 pairs are told apart"
    assert bound in str(result)


def test_without_k_twenty_and_forty_hosts_are_found() -> None:
    arms, truth = three((20, 40), 1.0)
    result = kabc.cluster(arms, max_samples=3_000, seed=1, progress=False)
    assert 0 < result.evidence.n_told_apart < 800  # most pairs across are open
    assert kabc.Partition(result.labels) == truth


def test_hosts_are_found_from_evidence_that_is_not_complete() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [200, 100])
    across = truth[:, None] != truth
    half = np.triu(np.where(across, rng.normal(1.5, 0.3, across.shape), rng.exponential(0.1, across.shape)), 1)
    values = half + half.T
    told = (across & (values >= 1)).astype(np.int64)
    assert np.count_nonzero(told) < np.count_nonzero(across)
    evidence = Evidence.of_bets(told, np.full(300, 50), values, np.ones_like(values))
    found = agreeing(kabc.Partition((0,) * 300), evidence, 2)
    assert found.labels == tuple(truth.tolist())
