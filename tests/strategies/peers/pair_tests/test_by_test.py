"""What KABC by other tests has in common: delta kept for equal arms, easy groups found."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import kabc
from kabc import Function, Gaussian, Hamming, KernelBoundsError, RandomFeatures, SettingsError
from kabc.strategies.peers.pair_tests import by_test
from kabc.strategies.peers.pair_tests.by_test import prior_sums
from tests.strategies.peers.pair_tests.examples import KERNELS, MAKERS, TRUTH, Array, Maker, answers, run


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("maker", MAKERS)
def test_easy_groups_are_found_and_certified(maker: str, kernel: str) -> None:
    strategy = run(MAKERS[maker](5, 3, 0.1, KERNELS[kernel]))
    assert strategy.status == "decided"
    assert strategy.recommend().matches(TRUTH)
    assert strategy.recommend().certified
    assert strategy.n_groups_at_least == 3
    apart = np.array(TRUTH.labels)[:, None] != np.array(TRUTH.labels)
    assert np.array_equal(strategy.evidence().told_apart, apart)
    assert strategy.n_samples == 5 * strategy.rounds[-1].n


@pytest.mark.parametrize("maker", MAKERS)
def test_equal_arms_are_told_apart_at_any_look_in_at_most_delta_of_the_runs(maker: str) -> None:
    runs, looks, delta = 60, 5 if maker == "permutation" else 10, 0.3
    kernel = RandomFeatures(Gaussian(1.0), 32, seed=3)
    parted = 0
    for number in range(runs):
        rng = np.random.default_rng([number, 5])
        strategy = MAKERS[maker](3, 2, delta, kernel)
        while not strategy.stopped and len(strategy.rounds) < looks:
            strategy.tell({arm: rng.standard_exponential((n, 1)) for arm, n in strategy.ask().items()})
        parted += strategy.n_groups_at_least > 1 or bool(strategy.evidence().told_apart.any())
    assert parted <= binom.ppf(1 - 1e-6, runs, delta)


@pytest.mark.parametrize("maker", MAKERS)
def test_more_groups_than_asked_for_refute_k(maker: str) -> None:
    strategy = MAKERS[maker](3, 2, 0.1, Gaussian(1.0))
    while not strategy.stopped:  # all pairs are equally far apart, so that all are told apart in the same round
        strategy.tell({arm: np.full(n, 1e6 * arm) for arm, n in strategy.ask().items()})
    assert strategy.status == "contradicted"
    assert strategy.n_groups_at_least == 3
    assert not strategy.recommend().certified


@pytest.mark.parametrize("maker", MAKERS)
def test_a_guess_respects_the_pairs_told_apart(maker: str) -> None:
    strategy, rng = MAKERS[maker](5, 4, 0.1, Gaussian(1.0)), np.random.default_rng(2)
    assert strategy.recommend().n_groups == 1
    for _ in range(6):
        strategy.tell(answers(strategy, rng))
        now = strategy.evidence().told_apart
        guess = strategy.recommend()
        labels = np.array(guess.labels)
        parts = np.array(kabc.core.partitions.graphs.components(~now).labels)
        assert not guess.certified
        assert guess.n_groups == 4
        assert ((parts[:, None] == parts) | (labels[:, None] != labels)).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_rounds_grow_by_the_factor_and_spend_no_more_than_delta(maker: str) -> None:
    strategy, rng = MAKERS[maker](5, 5, 0.1, Gaussian(1.0), growth=1.5), np.random.default_rng(0)
    sizes = []
    for _ in range(4):
        strategy.tell(answers(strategy, rng))
        sizes.append(strategy.rounds[-1].n)
    assert all(later == math.ceil(1.5 * earlier) for earlier, later in itertools.pairwise(sizes))
    assert sum(r.delta for r in strategy.rounds) <= 0.1 or all(r.delta == 0.1 for r in strategy.rounds)


def one_sample_fewer(test: Any) -> Maker:
    """The same test with one sample fewer in the first round."""

    class Fewer(test):  # type: ignore[misc]
        def _first(self) -> int:
            return int(super()._first()) - 1

    return Fewer


@pytest.mark.parametrize("maker", ["witness", "manole-ramdas", "bernstein"])
def test_fewer_samples_than_the_first_round_tell_nothing_apart(maker: str) -> None:
    """The farthest possible arms, one sample fewer than the first round asks for."""
    strategy = one_sample_fewer(MAKERS[maker])(2, 2, 0.1, Gaussian(1.0))
    strategy.tell({arm: np.full(count, 1e6 * arm) for arm, count in strategy.ask().items()})
    assert not strategy.stopped
    whole = MAKERS[maker](2, 2, 0.1, Gaussian(1.0), growth=1.01)
    while not whole.stopped:
        whole.tell({arm: np.full(count, 1e6 * arm) for arm, count in whole.ask().items()})
    # Newton steps take a few samples to reach the largest bet; the others need no more samples
    assert len(whole.rounds) <= (8 if maker == "witness" else 1)


def product(x: Array, y: Array) -> Array:
    """No kernel with the bounds that are declared for it."""
    return x @ y.T


@pytest.mark.parametrize("maker", MAKERS)
def test_broken_bounds_of_a_declared_kernel_change_nothing(maker: str) -> None:
    strategy = MAKERS[maker](2, 2, 0.5, Function(product, supremum=1.0, infimum=-1.0))
    request = strategy.ask()
    before = pickle.dumps(strategy)
    with pytest.raises(KernelBoundsError):
        strategy.tell({arm: np.full(count, 3.0) for arm, count in request.items()})
    assert pickle.dumps(strategy) == before


@pytest.mark.parametrize("maker", MAKERS)
def test_bad_settings_are_refused_by_name(maker: str) -> None:
    for wrong, message in (({"growth": 1.0}, "growth"), ({"n_clusters": 6}, "n_clusters"), ({"delta": 0}, "delta")):
        given_settings: dict[str, Any] = {"n_clusters": 3, "delta": 0.1} | wrong
        with pytest.raises(SettingsError, match=message):
            MAKERS[maker](n_arms=5, kernel=Gaussian(1.0), **given_settings)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_run_prints_a_certificate_with_the_rule(maker: str) -> None:
    strategy = MAKERS[maker](3, 2, 0.1, Gaussian(1.0))
    laws = [lambda n, rng, c=c: rng.normal(c, 1.0, n) for c in (0.0, 6.0, 0.0)]
    result = kabc.cluster(laws, strategy=strategy, seed=1, progress=False)
    assert result.certified
    assert result.groups == ((0, 2), (1,))
    text = result.certificate()
    assert "If there are exactly 2 groups, this grouping is wrong with probability at most 10 %." in text
    assert "With probability at least 90 % no two arms of one group are ever told apart." in text
    assert strategy.guarantee().strategy in text
    assert "told apart when" in text
    assert ("different arms are independent" in text) == (maker != "bernstein")
    assert ("theorem of arXiv 2409.06060 holds with ln(2/alpha)" in text) == (maker == "bernstein")


@pytest.mark.parametrize("maker", MAKERS)
def test_arms_of_one_value_each_are_no_trouble(maker: str) -> None:
    strategy = MAKERS[maker](3, 2, 0.1, Gaussian(1.0))
    while not strategy.stopped:
        strategy.tell({arm: np.full(n, 9.0 * (arm == 2)) for arm, n in strategy.ask().items()})
    assert strategy.recommend().labels == (0, 0, 1)
    assert strategy.recommend().certified


@pytest.mark.parametrize("kernel", ["exact", "features"])
@pytest.mark.parametrize("values", [1, 50, 2**21])
def test_prior_sums_are_the_sums_over_earlier_samples(kernel: str, values: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(by_test, "_VALUES", values)
    rng = np.random.default_rng(0)
    samples = tuple(rng.normal(size=(3, 9, 2)))
    weights = rng.uniform(0.2, 1.0, (3, 9))
    g = KERNELS[kernel]
    for held in (0, 5, 8):
        sums, level = prior_sums(g, samples, weights, held)
        for i, j, t in itertools.product(range(3), range(3), range(held, 9)):
            column = g(samples[i], samples[j][t : t + 1])[:, 0]
            assert sums[i, j, t - held] == pytest.approx(float(weights[i, :t] @ column[:t]), abs=1e-6)
            assert level[i, j, t - held] == pytest.approx(column[t], abs=1e-6)


def test_texts_and_categories_can_be_tested_too() -> None:
    rng = np.random.default_rng(0)
    for maker in MAKERS.values():
        strategy = maker(3, 2, 0.2, Hamming())
        while not strategy.stopped:
            chances = {0: [0.9, 0.1], 1: [0.1, 0.9], 2: [0.9, 0.1]}
            strategy.tell({arm: rng.choice(["a", "b"], (n, 1), p=chances[arm]) for arm, n in strategy.ask().items()})
        assert strategy.recommend().labels == (0, 1, 0)
