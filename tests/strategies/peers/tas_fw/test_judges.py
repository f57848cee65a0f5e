"""Evidence against exact expectations and its formula."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc import Partition
from kabc.strategies.peers.tas_fw import TaSFW, Task
from kabc.strategies.peers.tas_fw.classes import partitions_of
from kabc.strategies.peers.tas_fw.judges import WholeClass
from tests.strategies.peers.tas_fw.examples import TRUTHS, Array


class Ledger:
    """Evidence word by word: every sample with the groups that were estimated before its round."""

    def __init__(self, n_arms: int, m: int) -> None:
        self.n_arms, self.m = n_arms, m
        self.labels = list(range(n_arms))
        self.seen: list[tuple[int, int, list[int]]] = []

    def predicted(self, arm: int, use: Callable[[int, list[int]], bool]) -> float:
        """Product of the chances of the samples of an arm, learned from the earlier samples of the arms in use."""
        chance = 1.0
        for k, (whose, symbol, labels) in enumerate(self.seen):
            if whose == arm:
                past = [s for a, s, _ in self.seen[:k] if use(a, labels)]
                chance *= (past.count(symbol) + 0.5) / (len(past) + self.m / 2)
        return chance

    def q(self, arm: int) -> float:
        own = self.predicted(arm, lambda a, _: a == arm)
        group = self.predicted(arm, lambda a, labels: labels[a] == labels[arm])
        return (own + group) / 2

    def mixture(self, arms: list[int]) -> float:
        chance = 1.0
        past: list[int] = []
        for arm, symbol, _ in self.seen:
            if arm in arms:
                chance *= (past.count(symbol) + 0.5) / (len(past) + self.m / 2)
                past.append(symbol)
        return chance

    def best(self, arms: list[int]) -> float:
        seen = [symbol for arm, symbol, _ in self.seen if arm in arms]
        return math.prod((seen.count(symbol) / len(seen)) for symbol in seen)

    def pair(self, i: int, j: int) -> float:
        return self.q(i) * self.q(j) / self.best([i, j])

    def partition(self, labels: tuple[int, ...]) -> float:
        groups = [list(g) for g in Partition.of(labels).groups if len(g) > 1]
        pairs = [self.pair(i, j) for g in groups for i, j in itertools.combinations(g, 2)]
        rests = [self.q(i) * self.mixture([j for j in g if j != i]) / self.best(g) for g in groups for i in g]
        return float(np.mean(pairs) + np.mean(rests)) / 2


def follow(strategy: TaSFW, ledger: Ledger, symbols: dict[int, list[int]]) -> None:
    """One round, told to both."""
    for arm, told in symbols.items():
        ledger.seen += [(arm, symbol, list(ledger.labels)) for symbol in told]
    strategy.tell(symbols)
    ledger.labels = list(strategy.recommend().labels)


@given(seed=st.integers(0, 2**32), task=st.sampled_from(list(TRUTHS)), batch=st.integers(1, 3))
@settings(deadline=None, max_examples=15)
def test_evidence_against_a_partition_is_its_formula(seed: int, task: Task, batch: int) -> None:
    n_clusters, pmfs = TRUTHS[task]
    rng = np.random.default_rng(seed)
    strategy = TaSFW(len(pmfs), n_clusters, 1e-9, task=task, alphabet=[0, 1, 2], batch=batch)
    ledger, largest = Ledger(len(pmfs), 3), np.zeros(0)
    partitions = partitions_of(task, len(pmfs), n_clusters).tolist()
    chosen = rng.choice(len(partitions), 4)
    for _ in range(6):
        follow(strategy, ledger, {a: rng.choice(3, n, p=pmfs[a]).tolist() for a, n in strategy.ask().items()})
        now = np.log([ledger.partition(tuple(partitions[k])) for k in chosen])
        largest = np.maximum(now, largest) if largest.size else np.maximum(now, 0.0)
    assert isinstance(strategy.judge, WholeClass)
    assert strategy.judge.partition_evidence[chosen] == pytest.approx(largest, abs=1e-9)


@pytest.mark.usefixtures("by_pairs")
@pytest.mark.parametrize("seed", range(3))
def test_evidence_against_a_pair_is_its_formula(seed: int) -> None:
    _, pmfs = TRUTHS["clustering"]
    rng = np.random.default_rng(seed)
    strategy, ledger = TaSFW(6, 3, 0.05, alphabet=3), Ledger(6, 3)
    largest = np.zeros((6, 6))
    for _ in range(25):
        follow(strategy, ledger, {a: rng.choice(3, n, p=pmfs[a]).tolist() for a, n in strategy.ask().items()})
        now = [[ledger.pair(i, j) if i != j else 0.5 for j in range(6)] for i in range(6)]
        largest = np.maximum(largest, np.log(now))
    seen = strategy.evidence()
    assert seen.log_evidence == pytest.approx(largest, abs=1e-9)
    assert seen.log_threshold == pytest.approx(np.full((6, 6), math.log(15 / 0.05)))
    assert (seen.told_apart == (seen.log_evidence >= seen.log_threshold)).all()


def expected(
    strategy: TaSFW, ledger: Ledger, p: Array, left: int, evidence: Callable[[Ledger], float], stop: float
) -> float:
    """Exact mean of the evidence, over all that arms of pmf p can give, when it is looked at: at `stop`, or the end."""
    if left == 0 or (ledger.seen and evidence(ledger) >= stop):
        return evidence(ledger)
    request = strategy.ask()
    total = 0.0
    for word in itertools.product(range(len(p)), repeat=sum(request.values())):
        told, arms = iter(word), copy.deepcopy((strategy, ledger))
        follow(*arms, {arm: [next(told) for _ in range(n)] for arm, n in request.items()})
        total += float(np.prod(p[list(word)])) * expected(*arms, p, left - 1, evidence, stop)
    return total


@pytest.mark.parametrize("stop", [math.inf, 1.2])
@pytest.mark.parametrize("p", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_evidence_against_the_truth_is_at_most_one_on_average(p: tuple[float, ...], stop: float) -> None:
    """By its own adaptive sampling, whenever it is looked at."""
    rounds = 5 if len(p) == 2 else 3
    for evidence in (lambda k: k.pair(0, 2), lambda k: k.partition((0, 0, 1))):
        fresh = TaSFW(3, 2, 1e-6, alphabet=range(len(p)))
        mean = expected(fresh, Ledger(3, len(p)), np.array(p), rounds, evidence, stop)
        assert 0.05 < mean <= 1 + 1e-12
