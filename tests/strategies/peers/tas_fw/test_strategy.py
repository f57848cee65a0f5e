"""TaS-FW: answers by truth, ask and tell."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc import ProtocolError, SampleError, SettingsError
from kabc.strategies.peers.tas_fw import TaSFW, Task
from tests.strategies.peers.tas_fw.examples import TRUTHS, A, B, C, run, truth_of


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


def test_a_class_is_judged_at_one_over_delta_and_pairs_at_their_number_over_delta() -> None:
    for n_arms, threshold in ((4, 1 / 0.05), (20, 190 / 0.05)):
        strategy = TaSFW(n_arms, 3, 0.05, alphabet=3)
        strategy.ask()
        strategy.tell({arm: [[0]] for arm in range(n_arms)})
        assert strategy.judged_whole == (n_arms == 4)
        assert strategy.evidence().log_threshold == pytest.approx(np.full((n_arms, n_arms), math.log(threshold)))


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
    text = result.certificate()
    assert "CERTIFICATE of TaS-FW (a reconstruction), " in text and "at most 2 different values" in text
    assert "If there are exactly 2 groups, this grouping is wrong with probability at most 5 %." in text
    assert "every later one 1 sample in all" in text


@pytest.mark.parametrize(
    ("task", "condition"),
    [
        ("clustering", "If there are exactly 3 groups, "),
        ("odd-arm", "If one arm differs from all others and these are the same, "),
        ("matching-pairs", "If 2 pairs of arms are the same and no other two arms are, "),
    ],
)
def test_the_claim_names_the_class_that_the_truth_must_be_in(task: Task, condition: str) -> None:
    n_clusters, pmfs = TRUTHS[task]
    claim = TaSFW(len(pmfs), n_clusters, 0.05, task=task, alphabet=3).guarantee().claim
    assert condition + "a decided grouping is wrong with probability at most 5 %." in claim
