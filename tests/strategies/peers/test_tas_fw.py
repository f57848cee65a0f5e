"""TaS-FW: evidence against exact expectations and its formula, proportions against an optimiser, answers by truth."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc
from kabc import Partition, ProtocolError, SampleError, SettingsError
from kabc.strategies.peers import tas_fw
from kabc.strategies.peers.tas_fw import TaSFW, Task

Array = NDArray[np.float64]
A, B, C, D = [0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1], [0.4, 0.2, 0.4]
TRUTHS: dict[Task, tuple[int, list[list[float]]]] = {
    "clustering": (3, [A, B, C, A, B, A]),
    "odd-arm": (2, [A, A, B, A, A]),
    "matching-pairs": (4, [A, B, D, B, C, A]),
}


@pytest.fixture
def by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every class counts as a large one."""
    monkeypatch.setattr(tas_fw, "_MOST_GROUPS", 0)


@pytest.fixture(params=["whole", "by pairs"])
def both_ways(request: pytest.FixtureRequest) -> None:
    """A class is judged whole, then by pairs."""
    if request.param == "by pairs":
        request.getfixturevalue("by_pairs")


def truth_of(pmfs: list[list[float]]) -> Partition:
    return Partition.of(map(tuple, pmfs))


def run(strategy: TaSFW, pmfs: list[list[float]], seed: int = 0, most: int = 20_000) -> TaSFW:
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell({arm: rng.choice(len(pmfs[arm]), n, p=pmfs[arm]) for arm, n in strategy.ask().items()})
    return strategy


# ---------------------------------------------------------------- likelihoods


@pytest.mark.parametrize(("m", "n"), [(2, 7), (3, 5)])
def test_mixtures_of_all_sequences_sum_to_one_and_no_pmf_beats_the_largest_likelihood(m: int, n: int) -> None:
    counts = np.array([np.bincount(word, minlength=m) for word in itertools.product(range(m), repeat=n)])
    assert np.exp(tas_fw.log_mixture(counts)).sum() == pytest.approx(1.0)
    for p in np.random.default_rng(0).dirichlet(np.ones(m), size=20):
        assert (counts @ np.log(p) <= tas_fw.log_likelihood(counts) + 1e-12).all()


def test_likelihoods_of_huge_counts_are_finite() -> None:
    counts = np.array([[10**12, 0, 3], [0, 0, 0]])
    assert np.isfinite(tas_fw.log_mixture(counts)).all()
    assert np.isfinite(tas_fw.log_likelihood(counts)).all()
    assert tas_fw.log_mixture(counts)[1] == pytest.approx(0.0, abs=1e-12)
    assert tas_fw.log_likelihood(counts)[1] == 0.0


# ---------------------------------------------------------------- evidence, literally


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
    ledger.labels = strategy._judge.labels.tolist()


@given(seed=st.integers(0, 2**32), task=st.sampled_from(list(TRUTHS)), batch=st.integers(1, 3))
@settings(deadline=None, max_examples=15)
def test_evidence_against_a_partition_is_its_formula(seed: int, task: Task, batch: int) -> None:
    n_clusters, pmfs = TRUTHS[task]
    rng = np.random.default_rng(seed)
    strategy = TaSFW(len(pmfs), n_clusters, 1e-9, task=task, alphabet=[0, 1, 2], batch=batch)
    ledger, largest = Ledger(len(pmfs), 3), np.zeros(0)
    partitions = tas_fw.partitions_of(task, len(pmfs), n_clusters).tolist()
    chosen = rng.choice(len(partitions), 4)
    for _ in range(6):
        follow(strategy, ledger, {a: rng.choice(3, n, p=pmfs[a]).tolist() for a, n in strategy.ask().items()})
        now = np.log([ledger.partition(tuple(partitions[k])) for k in chosen])
        largest = np.maximum(now, largest) if largest.size else np.maximum(now, 0.0)
    judge = strategy._judge
    assert isinstance(judge, tas_fw._WholeClass)
    assert judge._best[chosen] == pytest.approx(largest, abs=1e-9)


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


# ---------------------------------------------------------------- classes of partitions


@pytest.mark.parametrize("task", TRUTHS)
@pytest.mark.parametrize(("n_arms", "n_clusters"), [(4, 2), (6, 4), (6, 3), (5, 5)])
def test_a_class_is_all_partitions_of_its_kind_once(task: Task, n_arms: int, n_clusters: int) -> None:
    n_clusters = 2 if task == "odd-arm" else n_clusters
    found = list(map(tuple, tas_fw.partitions_of(task, n_arms, n_clusters).tolist()))

    def fits(sizes: list[int]) -> bool:
        return {"clustering": True, "odd-arm": min(sizes) == 1, "matching-pairs": max(sizes) <= 2}[task]

    every = {Partition.of(word).labels for word in itertools.product(range(n_clusters), repeat=n_arms)}
    wanted = {w for w in every if max(w) + 1 == n_clusters and fits(np.bincount(w).tolist())}
    assert set(found) == wanted
    assert len(found) == len(wanted) == tas_fw.class_size(task, n_arms, n_clusters)


# ---------------------------------------------------------------- proportions


def game_of(task: Task, labels: list[int], centres: Array) -> tas_fw._Game:  # (K, m)
    """All other partitions of the class, for arms whose pmfs are those of their groups."""
    n_clusters = max(labels) + 1
    partitions = tas_fw.partitions_of(task, len(labels), n_clusters)
    sets, groups = tas_fw._distinct_groups(partitions, n_clusters)
    others = (partitions != np.array(Partition.of(labels).labels)).any(axis=1)
    return tas_fw._Game(sets, groups[others], centres[labels])


def literal_cost(w: Array, pmfs: Array, labels: list[int]) -> float:
    total = 0.0
    for group in Partition.of(labels).groups:
        arms = list(group)
        mean = w[arms] @ pmfs[arms] / w[arms].sum()
        total += sum(float(w[i] * (pmfs[i] * np.log(pmfs[i] / mean)).sum()) for i in arms)
    return total


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_costs_are_jensen_shannon_and_slopes_are_theirs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = [0, 1, 0, 1, 2]
    game, w = game_of("clustering", labels, rng.dirichlet(np.ones(3), 3) * 0.97 + 0.01), rng.dirichlet(np.ones(5))
    w = 0.9 * w + 0.02
    partitions = tas_fw.partitions_of("clustering", 5, 3)
    others = partitions[(partitions != labels).any(axis=1)].tolist()
    assert game.costs(w) == pytest.approx([literal_cost(w, game.pmfs, other) for other in others], abs=1e-12)
    slopes = game.slopes(w, np.arange(len(others)))
    assert slopes @ w == pytest.approx(game.costs(w))  # Euler: costs are homogeneous
    for arm in range(5):
        step = 1e-6 * np.eye(5)[arm]
        assert slopes[:, arm] == pytest.approx((game.costs(w + step) - game.costs(w - step)) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "labels"),
    [
        ("clustering", [0, 0, 1, 1, 2, 0]),
        ("clustering", [0, 1, 2, 2, 2]),
        ("odd-arm", [0, 1, 0, 0]),
        ("matching-pairs", [0, 0, 1, 1, 2, 3]),
        ("matching-pairs", [0, 1, 0, 2, 2, 1]),
    ],
)
@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_no_alternative_is_cheaper_than_those_of_a_large_class(task: Task, labels: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = game_of(task, labels, rng.dirichlet(np.ones(3), max(labels) + 1))
    index, w = np.array(labels), rng.dirichlet(np.ones(len(labels)))
    near = tas_fw._NEAREST[task](index)
    assert tas_fw._Game(*near, whole.pmfs).costs(w).min() == pytest.approx(whole.costs(w).min(), abs=1e-12)


@pytest.mark.parametrize(
    ("task", "labels"),
    [("odd-arm", [0, 0, 1]), ("clustering", [0, 0, 1, 1, 2]), ("matching-pairs", [0, 1, 0, 2])],
)
def test_frank_wolfe_comes_within_three_per_cent_of_the_best_proportions(task: Task, labels: list[int]) -> None:
    from scipy.optimize import minimize

    game = game_of(task, labels, np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.6, 0.1]]))
    n_arms = len(labels)
    every = np.arange(len(game.alternatives))
    best: Any = minimize(  # type: ignore[call-overload]
        lambda v: -v[-1],
        np.append(np.full(n_arms, 1 / n_arms), 0.0),
        jac=lambda v: -np.eye(n_arms + 1)[-1],
        method="SLSQP",
        bounds=[(1e-6, 1.0)] * n_arms + [(0.0, None)],
        constraints=[
            {"type": "eq", "fun": lambda v: v[:-1].sum() - 1, "jac": lambda v: np.append(np.ones(n_arms), 0.0)},
            {
                "type": "ineq",
                "fun": lambda v: game.costs(v[:-1]) - v[-1],
                "jac": lambda v: np.column_stack([game.slopes(v[:-1], every), -np.ones(len(every))]),
            },
        ],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    optimum = game.costs(best.x[:-1]).min()
    shares = np.full(n_arms, 1 / n_arms)
    for t in range(n_arms + 1, 1500):
        shares = tas_fw.frank_wolfe_step(game, shares, t)
    assert shares.sum() == pytest.approx(1.0)
    assert 0.97 * optimum <= game.costs(shares).min() <= optimum * (1 + 1e-6)


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("task", TRUTHS)
@pytest.mark.parametrize("seed", range(3))
def test_every_task_finds_the_truth(task: Task, seed: int) -> None:
    n_clusters, pmfs = TRUTHS[task]
    strategy = run(TaSFW(len(pmfs), n_clusters, 0.05, task=task, alphabet=3), pmfs, seed)
    assert strategy.judged_whole
    assert strategy.status == "decided"
    assert strategy.recommend().certified
    assert strategy.recommend().matches(truth_of(pmfs))
    assert strategy.n_groups_at_least == n_clusters
    labels = np.array(strategy.recommend().labels)
    assert (strategy.evidence().told_apart == (labels[:, None] != labels)).all()


@pytest.mark.usefixtures("by_pairs")
@pytest.mark.parametrize("task", TRUTHS)
@pytest.mark.parametrize("seed", range(2))
def test_large_classes_find_the_truth_too(task: Task, seed: int) -> None:
    n_clusters, pmfs = TRUTHS[task]
    strategy = run(TaSFW(len(pmfs), n_clusters, 0.05, task=task, alphabet=3, batch=2), pmfs, seed)
    assert not strategy.judged_whole
    assert strategy.status == "decided"
    assert strategy.recommend().matches(truth_of(pmfs))
    assert strategy.n_groups_at_least == n_clusters


def test_twenty_arms_are_judged_by_pairs_without_being_asked() -> None:
    pmfs = [A, B, C, A, B] * 4
    strategy = run(TaSFW(20, 3, 0.05, alphabet=3, batch=10), pmfs)
    assert not strategy.judged_whole
    assert strategy.recommend().certified and strategy.recommend().matches(truth_of(pmfs))


@pytest.mark.usefixtures("both_ways")
def test_equal_arms_are_split_in_at_most_delta_of_runs() -> None:
    from scipy.stats import binom

    delta, runs = 0.2, 24
    wrong = 0
    for seed in range(runs):
        strategy = run(TaSFW(4, 2, delta, alphabet=2, first=2, batch=4), [[0.7, 0.3]] * 4, seed, most=100)
        wrong += strategy.stopped
    assert wrong <= binom.ppf(1 - 1e-6, runs, delta)


@pytest.mark.usefixtures("both_ways")
def test_more_groups_than_asked_for_contradict() -> None:
    strategy = run(TaSFW(4, 2, 1e-4, alphabet=3), [A, B, C, C])
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 3
    assert not strategy.recommend().certified
    assert not strategy.evidence().told_apart[2, 3]


@pytest.mark.usefixtures("both_ways")
def test_three_equal_arms_are_no_two_pairs() -> None:
    strategy = run(TaSFW(4, 2, 1e-4, task="matching-pairs", alphabet=3), [A, A, A, B])
    assert strategy.status == "contradicted"
    assert not strategy.recommend().certified


@pytest.mark.usefixtures("both_ways")
def test_two_and_two_arms_have_no_odd_one() -> None:
    strategy = run(TaSFW(4, 2, 1e-4, task="odd-arm", alphabet=3), [A, A, B, B])
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 2


@pytest.mark.parametrize("n_clusters", [1, 1200])
def test_a_class_of_one_partition_is_no_matter_of_size(n_clusters: int) -> None:
    assert TaSFW(1200, n_clusters, 0.05, alphabet=2).recommend().n_groups == n_clusters


@pytest.mark.parametrize(("n_clusters", "task"), [(1, "clustering"), (4, "clustering"), (4, "matching-pairs")])
def test_a_class_of_one_partition_needs_no_samples(n_clusters: int, task: Task) -> None:
    strategy = TaSFW(4, n_clusters, 0.05, task=task, alphabet=2)
    assert strategy.ask() == {} and strategy.status == "decided"
    assert strategy.recommend().n_groups == n_clusters == strategy.n_groups_at_least


def test_frank_wolfe_takes_fewer_samples_than_all_arms_in_turn() -> None:
    pmfs = [[0.5, 0.5]] * 7 + [[0.1, 0.9]]
    totals = {}
    for sampling in ("frank-wolfe", "uniform"):
        made = [TaSFW(8, 2, 0.01, task="odd-arm", alphabet=2, sampling=sampling, batch=4) for _ in range(6)]
        totals[sampling] = sum(run(one, pmfs, seed).n_samples for seed, one in enumerate(made))
    assert totals["frank-wolfe"] < 0.8 * totals["uniform"]


# ---------------------------------------------------------------- ask and tell, and what people see


@pytest.mark.usefixtures("both_ways")
def test_asking_and_looking_change_nothing_and_a_pickled_run_goes_on_as_before() -> None:
    pmfs, rng = [A, B, A, B], np.random.default_rng(0)
    watched = TaSFW(4, 2, 0.05, alphabet=3)
    assert np.isnan(watched.evidence().distances).all()
    while not watched.stopped:
        assert watched.ask() == watched.ask()
        watched.tell({arm: rng.choice(3, n, p=pmfs[arm]) for arm, n in watched.ask().items()})
        watched = pickle.loads(pickle.dumps(watched))
        watched.recommend(), watched.evidence(), watched.guarantee()
    assert watched.rounds == run(TaSFW(4, 2, 0.05, alphabet=3), pmfs).rounds
    assert watched.rounds[-1].n_samples == watched.n_samples == watched.evidence().counts.sum()
    assert watched.ask() == {}
    with pytest.raises(ProtocolError, match="stopped"):
        watched.tell({})


def test_names_of_symbols_do_not_matter_and_a_row_is_a_symbol() -> None:
    pmfs, rng = [A, B, A], np.random.default_rng(1)
    rows = np.array([[0.0, 7.5], [0.0, -1.0], [3.0, 7.5]])
    plain = TaSFW(3, 2, 0.05, alphabet=[0, 1, 2])
    vectors, counted = TaSFW(3, 2, 0.05, alphabet=rows), TaSFW(3, 2, 0.05, alphabet=3)
    while not plain.stopped:
        told = {arm: rng.choice(3, n, p=pmfs[arm]) for arm, n in plain.ask().items()}
        assert vectors.ask() == counted.ask() == plain.ask()
        plain.tell(told)
        vectors.tell({arm: rows[codes] for arm, codes in told.items()})
        counted.tell({arm: -codes for arm, codes in told.items()})
    assert vectors.rounds == counted.rounds == plain.rounds


def test_a_batch_is_asked_for_in_one_round() -> None:
    strategy = TaSFW(3, 2, 0.05, alphabet=2, first=4, batch=7)
    assert strategy.ask() == {0: 4, 1: 4, 2: 4}
    strategy.tell({arm: [0, 0, 1, 1] for arm in range(3)})
    assert sum(strategy.ask().values()) == 7


@pytest.mark.parametrize(
    ("alphabet", "value", "message"),
    [
        (2, 5.0, "arm 2: .5.0,. is one symbol more than the alphabet allows of 2"),
        ([0, 1], 5.0, "arm 2: .5.0,. is not in the alphabet of 2"),
        (2, math.nan, "arm 2: .*nan"),
    ],
)
def test_a_foreign_symbol_is_refused_and_changes_nothing(alphabet: Any, value: float, message: str) -> None:
    strategy = TaSFW(3, 2, 0.05, alphabet=alphabet)
    strategy.ask()
    before = pickle.dumps(strategy)
    with pytest.raises(SampleError, match=message):
        strategy.tell({0: [0], 1: [1], 2: [value]})
    assert pickle.dumps(strategy) == before
    strategy.tell({0: [0], 1: [1], 2: [1]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TaSFW(4, 2, 0.1), "alphabet is needed"),
        (lambda: TaSFW(4, 2, 0.1, alphabet=1), "alphabet must be a whole number at least 2, got 1"),
        (lambda: TaSFW(4, 2, 0.1, alphabet=[3, 3]), "each once, got .3, 3."),
        (lambda: TaSFW(4, 2, 0.1, alphabet="ab"), "alphabet must be a whole number at least 2, got 'ab'"),
        (lambda: TaSFW(4, None, 0.1, alphabet=2), "n_clusters must be a whole number"),  # type: ignore[arg-type]
        (lambda: TaSFW(4, 2, 0.1, alphabet=2, task="odd"), "task must be one of"),  # type: ignore[arg-type]
        (lambda: TaSFW(4, 3, 0.1, alphabet=2, task="odd-arm"), "n_clusters=3; pass n_clusters=2"),
        (lambda: TaSFW(2, 2, 0.1, alphabet=2, task="odd-arm"), "2 arms and n_clusters=2"),
        (lambda: TaSFW(5, 2, 0.1, alphabet=2, task="matching-pairs"), "is 3 pairs.*n_clusters from 3 to 5"),
        (lambda: TaSFW(4, 2, 0.1, alphabet=2, sampling="best"), "got 'best'"),  # type: ignore[arg-type]
        (lambda: TaSFW(4, 2, 0.1, alphabet=2, batch=0), "batch must be a whole number"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], TaSFW], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


def test_it_runs_in_the_loop_and_says_that_it_is_a_reconstruction() -> None:
    def arm(p: float) -> Callable[[int, np.random.Generator], NDArray[Any]]:
        return lambda n, rng: rng.binomial(1, p, n)

    arms = {"a": arm(0.2), "b": arm(0.9), "c": arm(0.2)}
    result = kabc.cluster(arms, strategy=TaSFW(3, 2, 0.05, alphabet=[0, 1]), seed=0, progress=False)
    assert result.groups == (("a", "c"), ("b",))
    assert "reconstruction" in result.certificate() and "at most 2 different values" in result.certificate()
