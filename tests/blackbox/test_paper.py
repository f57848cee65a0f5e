"""The published rule, as Algorithms 1 and 2 of the paper print it: groups are connected components, nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.kernels import Function, Gaussian
from kabc.strategies import KABC, Cluster
from tests import literal
from tests.blackbox.shell import shell

STEP = 0.6  # neighbours at this distance are linked in the rounds below, arms two steps apart are not
DELTA = 0.1


def components(n_arms: int, edges: set[tuple[int, int]]) -> tuple[int, ...]:
    """Labels by first appearance, from the edges alone."""
    root = list(range(n_arms))
    for i, j in edges:
        root = [root[i] if one == root[j] else one for one in root]
    seen = list(dict.fromkeys(root))
    return tuple(seen.index(one) for one in root)


def distance(x: float, y: float) -> float:
    """Eq. empdist of two arms that always give x and y, Gaussian kernel with bandwidth 1."""
    return math.sqrt(2 - 2 * math.exp(-((x - y) ** 2) / 2))


def threshold(n_arms: int, n: int, delta: float) -> float:
    """Eq. threshold without variances, Gaussian kernel."""
    return 32 / 3 * math.log(8 * (n_arms**2 - n_arms) / delta) / n


def graph(places: Sequence[float], limit: float) -> set[tuple[int, int]]:
    """The edges of Algorithm 1."""
    pairs = itertools.combinations(range(len(places)), 2)
    return {(i, j) for i, j in pairs if distance(places[i], places[j]) <= limit}


def told(strategy: kabc.strategies.Strategy, places: Sequence[float]) -> None:
    """One round of arms that always give the same number."""
    strategy.tell({arm: np.full(n, places[arm]) for arm, n in strategy.ask().items()})


def apart(strategy: kabc.strategies.Strategy) -> set[tuple[int, int]]:
    """Pairs told apart."""
    pairs = np.argwhere(np.triu(strategy.evidence().told_apart))
    return {(i, j) for i, j in pairs.tolist()}


CHAINS = {
    "three in a chain": [0, 1, 2],
    "four in a chain": [0, 1, 2, 3],
    "five in a chain": [0, 1, 2, 3, 4],
    "four in a chain, in another order": [2, 0, 3, 1],
    "a chain and one alone": [0, 30, 1, 2],
    "a chain, and two that are equal": [0, 30, 1, 2, 30],
    "two chains": [0, 30, 1, 31, 32],
}


@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("comparisons", ["all", "representatives"])
def test_groups_of_cluster_are_the_components_of_its_graph(steps: list[int], comparisons: Any) -> None:
    places, n_arms = [STEP * step for step in steps], len(steps)
    edges = graph(places, threshold(n_arms, 100, DELTA))
    expected = components(n_arms, edges)
    linked = {pair for pair in itertools.combinations(range(n_arms), 2) if expected[pair[0]] == expected[pair[1]]}
    assert linked - edges, "a group with a pair told apart, or this says nothing"

    strategy = Cluster(n_arms, 100, DELTA, Gaussian(1.0), comparisons=comparisons)
    told(strategy, places)
    assert strategy.recommend().labels == expected
    assert not strategy.recommend().certified
    assert strategy.n_groups_at_least == len(set(expected))
    if comparisons == "all":
        assert not apart(strategy) & edges
        assert apart(strategy) | edges == set(itertools.combinations(range(n_arms), 2))


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_random_samples_are_those_of_the_equations_written_out(seed: int) -> None:
    n, n_arms, rng = 90, 4, np.random.default_rng(seed)
    means = 0.65 * rng.permutation(n_arms)
    samples = [rng.normal(mean, 0.2, (n, 1)) for mean in means]
    labels, distances, _, limits = literal.cluster(
        literal.gaussian(1.0), [[tuple(row) for row in rows.tolist()] for rows in samples], 0.9, 1.0
    )
    linked = [(i, j) for i, j in itertools.combinations(range(n_arms), 2) if labels[i] == labels[j]]
    assert any(distances[i][j] > limits[i][j] for i, j in linked), "a group with a pair told apart"

    strategy = Cluster(n_arms, n, 0.9, Gaussian(1.0))
    strategy.ask()
    strategy.tell(dict(enumerate(samples)))
    assert strategy.recommend().labels == tuple(labels)


def tied(n_arms: int) -> list[Cluster]:
    """CLUSTER on arms 0, 1, ... of which neighbours have a distance that is equal to the threshold, to the last bit.

    n = 128 and log(8 (N^2 - N) / delta) = 6 make the threshold 32/3 * 6 / 128 = 1/2; the kernel gives distances of 1/2
    to neighbours and 1 to others. Numbers near this delta are tried until nothing is left of rounding.
    """

    def near(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        steps = np.abs(x[:, :1] - y[:, 0])
        return np.where(steps == 0, 1.0, np.where(steps == 1, 0.875, 0.5))

    found = []
    delta = 8 * (n_arms**2 - n_arms) * math.exp(-6)
    for _ in range(40):
        delta = math.nextafter(delta, 0.0)
    for _ in range(80):
        delta = math.nextafter(delta, 1.0)
        strategy = Cluster(n_arms, 128, delta, Function(near, supremum=1.0, infimum=0.0))
        told(strategy, range(n_arms))
        evidence = strategy.evidence()
        if all(evidence.distances[arm, arm + 1] == evidence.thresholds[arm, arm + 1] for arm in range(n_arms - 1)):
            found.append(strategy)
    return found


@pytest.mark.parametrize("n_arms", [2, 3])
def test_a_distance_equal_to_the_threshold_is_an_edge(n_arms: int) -> None:
    strategies = tied(n_arms)
    assert strategies
    for strategy in strategies:
        assert strategy.recommend().labels == (0,) * n_arms
        assert apart(strategy) == ({(0, 2)} if n_arms == 3 else set())


def test_groups_of_kabc_before_its_end_are_the_components_of_the_last_round() -> None:
    places = [STEP * arm for arm in range(4)]
    strategy = KABC(4, 2, DELTA, Gaussian(1.0))
    for k in range(1, 6):
        delta_k = DELTA / (4 * k * k)
        n_k = math.ceil(2**k * math.log(8 * 12 / delta_k))
        assert strategy.ask() == dict.fromkeys(range(4), n_k)
        told(strategy, places)
        expected = components(4, graph(places, threshold(4, n_k, delta_k)))
        assert strategy.recommend().labels == expected
        assert apart(strategy) == ({(0, 2), (0, 3), (1, 3)} if k == 4 else set() if k < 4 else apart(strategy))
    assert expected == (0, 1, 2, 3)  # more than K: the published rule goes on
    assert not strategy.stopped


def test_what_an_earlier_round_told_apart_does_not_change_the_groups_of_the_last_one() -> None:
    strategy = KABC(3, 3, DELTA, Gaussian(1.0))
    for k in range(1, 5):
        told(strategy, [0.0, 0.0, 9.0] if k == 4 else [0.0, 0.0, 0.0])
    assert strategy.recommend().labels == (0, 0, 1)
    told(strategy, [0.0, 0.0, 0.0])
    assert strategy.recommend().labels == (0, 0, 0)
    assert strategy.n_groups_at_least == 2
    assert apart(strategy) == {(0, 2), (1, 2)}


def test_groups_of_a_refuted_number_are_components_too() -> None:
    strategy = KABC(5, 2, DELTA, Gaussian(1.0), refute=True)
    while not strategy.stopped:
        told(strategy, [0.0, STEP, 2 * STEP, 4 * STEP, 6 * STEP])
    assert strategy.status == "contradicted"
    assert strategy.recommend().labels == (0, 0, 0, 1, 2)
    assert (0, 2) in apart(strategy)


# ---------------------------------------------------------------- answers

NAMES = ("a", "b", "c", "d")


def chained(**asked: Any) -> kabc.Result:
    """Four arms in a chain; round 4 of the published rule links neighbours only."""
    arms = {name: np.full(4000, STEP * step) for step, name in enumerate(NAMES)}
    return kabc.cluster(
        arms, delta=DELTA, kernel=Gaussian(1.0), watch=False, seed=0, progress=False, strategy="kabc", **asked
    )


def budget(rounds: int) -> int:
    """All samples of so many rounds of KABC."""
    return sum(4 * math.ceil(2**k * math.log(8 * 12 * 4 * k * k / DELTA)) for k in range(1, rounds + 1))


@pytest.mark.parametrize("asked", [{"n_clusters": 2, "max_samples": budget(4)}, {"max_samples": 400}], ids=str)
def test_an_answer_shows_the_components_and_notes_what_the_evidence_says_beyond(asked: dict[str, Any]) -> None:
    result = chained(**asked)
    assert result.status == "budget" and not result.certified
    assert result.labels == (0, 0, 0, 0)
    assert result.n_groups_at_least == 1
    assert result.evidence.told_apart[0, 2]
    notes = [note for note in result.notes if "told apart" in note]
    assert notes == ["a and c, a and d, b and d are told apart, though others link them: their group is more than one"]
    assert f"note: {notes[0]}" in str(result)
    assert notes[0] in result.certificate()
    assert notes[0] in result.to_dict()["notes"]
    assert "3 of 6 pairs are told apart" in str(result)


def test_of_many_pairs_the_first_are_named_and_the_others_counted() -> None:
    arms = {f"host {arm}": np.full(400, STEP * arm) for arm in range(8)}
    result = kabc.cluster(
        arms,
        delta=DELTA,
        kernel=Gaussian(1.0),
        watch=False,
        seed=0,
        progress=False,
        strategy="kabc",
        max_samples=960,
    )
    assert result.labels == (0,) * 8
    (note,) = (note for note in result.notes if "told apart" in note)
    assert note == (
        "host 0 and host 2, host 0 and host 3, host 0 and host 4 and 18 more pairs are told apart, though others link "
        "them: their group is more than one"
    )


def test_pairs_told_apart_in_one_group_are_shown_as_different(tmp_path: Any) -> None:
    result = chained(max_samples=400)
    result.save(tmp_path / "answer.json")
    assert kabc.load(tmp_path / "answer.json") == result
    pairs = {tuple(pair["arms"]) for pair in result.to_dict(full=True)["told_apart"]}
    assert pairs == {("a", "c"), ("a", "d"), ("b", "d")}
    graph = kabc.report.apart_graph(result)
    assert {NAMES[edge.first] + NAMES[edge.second] for edge in graph.edges if edge.link == "conflict"} == {
        "ac",
        "ad",
        "bd",
    }
    assert "told apart, but are in the same guessed group" in kabc.report.report_html(result)


def test_a_certified_group_with_a_pair_told_apart_is_noted_too() -> None:
    places = {"a": 0.0, "b": STEP, "c": 2 * STEP, "far": 4 * STEP, "as far": 4 * STEP}
    arms = {name: np.full(4000, place) for name, place in places.items()}
    result = kabc.cluster(
        arms, 2, delta=DELTA, kernel=Gaussian(1.0), watch=False, seed=0, progress=False, strategy="kabc"
    )
    assert result.labels == (0, 0, 0, 1, 1)  # K components, the rule of the paper
    assert result.certified
    assert "note: a and c are told apart, though others link them: their group is more than one" in str(result)


# ---------------------------------------------------------------- the price of adaptivity


@pytest.mark.parametrize("separation", [1.3, 0.7, 0.25, 0.0625])
@pytest.mark.parametrize(("n_arms", "delta"), [(2, 0.5), (12, 0.05)])
def test_a_plan_says_what_it_costs_not_to_know_the_separation(separation: float, n_arms: int, delta: float) -> None:
    gap = separation**0.5  # with a variance of 1: s_*^2 = gap^2, as gap <= 2
    plan: Any = kabc.plan(n_arms, 2, delta, embedded_gap=gap, variances=1.0, kernel=Gaussian(1.0), strategy="kabc")
    log_term = math.log(8 * (n_arms**2 - n_arms) / delta)
    known = math.ceil(128 / separation * log_term)  # n_* of the paper's Discussion
    assert plan.known_samples == n_arms * known
    last = math.ceil(math.log2(128 / separation))  # k_*
    logs = [math.log(32 * (n_arms**2 - n_arms) * k * k / delta) for k in range(1, last + 1)]
    drawn = sum(math.ceil(2**k * log) for k, log in enumerate(logs, 1))
    assert plan.price_at_most == pytest.approx(drawn / known)
    assert 2 < plan.price_at_most < 4 * logs[-1] / log_term
    assert plan.price_expected == pytest.approx(plan.expected_samples / (n_arms * known))
    (line,) = (line for line in str(plan).split("\n") if line.startswith("price of adaptivity"))
    assert f"at most {plan.price_at_most:.3g} times the {n_arms * known:,} samples of CLUSTER with s_* known" in line
    assert f"{plan.price_expected:.2g} expected" in line and "measured" in line


def test_the_shell_says_it_too_and_of_the_published_rule_alone() -> None:
    words = ("plan", "--gap", 2, "--arms", 6, "--clusters", 2, "--seed", 1)
    prices = {row["strategy"]: row["price_of_adaptivity"] for row in shell(*words, "--json").json["plans"]}
    assert prices["anytime"] is None and prices["kabc-tight"] is None
    plan: Any = kabc.plan(6, 2, gap=2.0, strategy="kabc")
    assert prices["kabc"] == {
        "known_samples": plan.known_samples,
        "at_most": pytest.approx(plan.price_at_most),
        "expected": pytest.approx(plan.price_expected),
    }
    assert sum("price of adaptivity" in line for line in shell(*words).out.split("\n")) == 1
    assert "price of adaptivity" not in str(kabc.plan(6, 2, gap=2.0, strategy="kabc-tight"))


def test_runs_of_the_published_rule_cost_less_than_to_know_the_separation() -> None:
    """Two points: the separation is known exactly, and both find the groups."""
    gap = distance(0.0, 1.0)
    known = Cluster.for_separation(4, math.sqrt(2 * gap), DELTA, Gaussian(1.0))  # without variance s_*^2 = 2 gap
    strategy = KABC(4, 2, DELTA, Gaussian(1.0))
    for one in (known, strategy):
        while not one.stopped:
            told(one, [0.0, 1.0, 0.0, 1.0])
        assert one.recommend().labels == (0, 1, 0, 1) and one.recommend().certified
    plan: Any = kabc.plan(
        4, 2, DELTA, embedded_gap=gap, variances=0.0, kernel=Gaussian(1.0), strategy="kabc", progress=False
    )
    assert known.n_samples == plan.known_samples
    assert strategy.n_samples / known.n_samples == pytest.approx(plan.price_expected)
    assert strategy.n_samples < plan.price_at_most * known.n_samples
