"""Rounds that are told as sums: the same as the samples themselves, and refused before anything changes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from kabc import KABC, Cluster, Gaussian, Hamming, KabcError, Kernel, Linear, ProtocolError, RandomFeatures, SampleError
from kabc.core.arrays import Array
from kabc.core.embeddings import FeatureSums
from kabc.strategies.base import TakesSums

KERNEL = RandomFeatures(Gaussian(1.0), 64)
MAKERS: dict[str, Callable[[Kernel], Any]] = {
    "kabc": lambda kernel: KABC(4, 2, 0.1, kernel),
    "kabc-tight": lambda kernel: KABC.tight(4, 2, 0.1, kernel),
    "cluster": lambda kernel: Cluster(4, 150, 0.1, kernel, comparisons="representatives"),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


def drawn(request: Mapping[int, int], rng: np.random.Generator, columns: int = 2) -> dict[int, Array]:
    return {arm: rng.normal(1.5 * (arm == 2), 1.0, (n, columns)) for arm, n in request.items()}


def sums_of(samples: Mapping[int, Array], kernel: Any = KERNEL, n_arms: int = 4) -> FeatureSums:
    none = np.zeros((0, samples[0].shape[1]))
    return FeatureSums(kernel, n_arms).extended([samples.get(arm, none) for arm in range(n_arms)])


@every
def test_sums_are_as_good_as_the_samples(make: Callable[[Kernel], Any]) -> None:
    by_samples, by_sums, rng = make(KERNEL), make(KERNEL), np.random.default_rng(0)
    takes_sums: object = by_sums
    assert isinstance(takes_sums, TakesSums) and takes_sums.sums_of is KERNEL
    while not by_samples.stopped:
        samples = drawn(by_samples.ask(), rng)
        assert by_sums.ask() == by_samples.ask()
        by_samples.tell(samples)
        by_sums.tell_sums(sums_of(samples))
        one, other = by_samples.evidence(), by_sums.evidence()
        np.testing.assert_array_equal(one.told, other.told)
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_allclose(one.values, other.values, atol=1e-12)
        np.testing.assert_allclose(one.limits, other.limits, atol=1e-12)
    assert by_sums.status == by_samples.status
    assert by_sums.recommend() == by_samples.recommend()
    assert by_sums.rounds == by_samples.rounds and by_sums.n_samples == by_samples.n_samples


@every
def test_rounds_may_be_told_either_way(make: Callable[[Kernel], Any]) -> None:
    by_samples, mixed, rng = make(KERNEL), make(KERNEL), np.random.default_rng(1)
    while not by_samples.stopped:
        samples = drawn(by_samples.ask(), rng)
        mixed.ask()
        by_samples.tell(samples)
        if len(mixed.rounds) % 2:
            mixed.tell_sums(sums_of(samples))
        else:
            mixed.tell(samples)
    assert mixed.recommend() == by_samples.recommend() and mixed.rounds == by_samples.rounds


@every
def test_wrong_sums_change_nothing(make: Callable[[Kernel], Any]) -> None:
    strategy, rng = make(KERNEL), np.random.default_rng(0)
    samples = drawn(strategy.ask(), rng)
    short = samples | {2: samples[2][1:]}
    before = pickle.dumps(strategy)
    wrong: list[tuple[Any, type[KabcError], str]] = [
        (sums_of(short), SampleError, rf"arm 2: asked for {len(samples[2])} samples, got the sums of "),
        (sums_of(samples, Linear(99.0)), ProtocolError, r"takes FeatureSums of RandomFeatures\("),
        (sums_of({arm: samples[arm] for arm in range(3)}, n_arms=3), ProtocolError, "sums of 3 arms.* arm 3"),
        (samples, ProtocolError, r"takes FeatureSums of RandomFeatures\("),
    ]
    for sums, error, said in wrong:
        with pytest.raises(error, match=said):
            strategy.tell_sums(sums)
    assert pickle.dumps(strategy) == before
    strategy.tell_sums(sums_of(samples))
    with pytest.raises(ProtocolError, match=r"tell came without ask|has stopped"):
        strategy.tell_sums(sums_of(samples))


def test_later_rounds_have_the_columns_of_the_first() -> None:
    strategy, rng = KABC(4, 2, 0.1, KERNEL), np.random.default_rng(0)
    strategy.tell_sums(sums_of(drawn(strategy.ask(), rng)))
    with pytest.raises(SampleError, match="samples with 3 columns, those before have 2"):
        strategy.tell_sums(sums_of(drawn(strategy.ask(), rng, columns=3)))


@every
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Hamming()], ids=repr)
def test_kernels_without_features_need_the_samples(make: Callable[[Kernel], Any], kernel: Kernel) -> None:
    assert make(kernel).sums_of is None
