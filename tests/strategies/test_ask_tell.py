"""What is told: faults are named with their arm, and numbers of all types are taken for what they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kabc import KABC, Cluster, Function, Gaussian, KabcError, KernelBoundsError, Linear, ProtocolError, SampleError
from kabc.strategies import Strategy
from kabc.strategies.answers import Round
from kabc.strategies.base import Rounds


def good(strategy: Strategy, seed: int = 0) -> dict[int, Any]:
    rng = np.random.default_rng(seed)
    return {arm: rng.normal(9.0 * (arm == 2), 1.0, (count, 2)) for arm, count in strategy.ask().items()}


def snapshot(strategy: Strategy) -> bytes:
    seen = strategy.evidence()
    parts = (strategy.ask(), strategy.n_samples, strategy.rounds, strategy.status, strategy.recommend().labels)
    return pickle.dumps((parts, seen.told_apart, seen.distances, seen.thresholds, seen.variances, seen.counts))


def without(samples: dict[int, Any], arm: int) -> dict[int, Any]:
    return {key: value for key, value in samples.items() if key != arm}


def spoilt(samples: dict[int, Any], value: float) -> dict[int, Any]:
    bad = samples[1].copy()
    bad[0, 1] = value
    return samples | {1: bad}


WRONG: dict[str, tuple[Callable[[dict[int, Any]], Any], type[KabcError], str]] = {
    "nothing": (lambda s: {}, ProtocolError, "arm 0 are missing"),
    "arm left out": (lambda s: without(s, 2), ProtocolError, "arm 2 are missing"),
    "arm not asked": (lambda s: s | {7: s[0]}, ProtocolError, "arm 7 was not asked for"),
    "not a mapping": (lambda s: list(s.values()), ProtocolError, "mapping"),
    "too few": (lambda s: s | {1: s[1][:-1]}, SampleError, r"arm 1: asked for \d+ samples, got \d+"),
    "too many": (lambda s: s | {1: np.concatenate([s[1], s[1]])}, SampleError, r"arm 1: asked for \d+ samples"),
    "empty": (lambda s: s | {0: np.empty((0, 2))}, SampleError, "arm 0: .*non-empty"),
    "nan": (lambda s: spoilt(s, np.nan), SampleError, "arm 1: .*nan in row 0, column 1"),
    "infinite": (lambda s: spoilt(s, -np.inf), SampleError, "arm 1: .*-inf in row 0, column 1"),
    "three axes": (lambda s: s | {2: s[2][None]}, SampleError, "arm 2: .*shape"),
    "other dimension": (lambda s: s | {2: s[2][:, :1]}, SampleError, "arm 2: .*1 column"),
    "text": (lambda s: s | {0: ["x"] * len(s[0])}, SampleError, "arm 0: .*numbers"),
    "none": (lambda s: s | {0: None}, SampleError, "arm 0: "),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_tell_is_named_and_changes_nothing(fault: str) -> None:
    strategy = KABC(3, 2, 1.0, Gaussian(1.0))
    spoil, error, message = WRONG[fault]
    before = snapshot(strategy)
    with pytest.raises(error, match=message):
        strategy.tell(spoil(good(strategy)))
    assert snapshot(strategy) == before


def test_a_tell_out_of_turn_is_told_why() -> None:
    strategy = Cluster(3, 6, 0.5, Gaussian(1.0))
    with pytest.raises(ProtocolError, match="without ask"):
        strategy.tell({})
    strategy.tell(good(strategy))
    assert strategy.ask() == {}
    with pytest.raises(ProtocolError, match="stopped"):
        strategy.tell({0: np.zeros((6, 2))})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, bool])
def test_narrow_numbers_are_widened_before_any_arithmetic(dtype: type) -> None:
    strategy, wide = (Cluster(3, 6, 0.5, Gaussian(1.0)) for _ in range(2))
    rng = np.random.default_rng(0)
    samples: dict[int, Any] = {arm: rng.integers(0, 120, (6, 2)).astype(dtype) for arm in range(3)}
    strategy.ask()
    strategy.tell(samples)
    wide.ask()
    wide.tell({arm: values.astype(np.float64) for arm, values in samples.items()})
    assert np.array_equal(strategy.evidence().distances, wide.evidence().distances)


def test_broken_bounds_of_a_declared_kernel_are_an_error_that_changes_nothing() -> None:
    kernel = Function(lambda x, y: x @ y.T, supremum=1.0, infimum=-1.0)
    strategy = KABC(2, 2, 0.5, kernel, keep_samples=True)
    before = snapshot(strategy)
    with pytest.raises(KernelBoundsError, match="took values from 9 to 9"):
        strategy.tell({arm: np.full(count, 3.0) for arm, count in strategy.ask().items()})
    assert snapshot(strategy) == before


def test_samples_outside_a_declared_radius_are_an_error() -> None:
    strategy = Cluster(2, 3, 0.5, Linear(radius=1.0))
    strategy.ask()
    with pytest.raises(KernelBoundsError, match=r"arm 1: .*norm 5.*radius 1"):
        strategy.tell({0: [0.1, 0.2, 0.3], 1: [0.1, 5.0, 0.3]})


def test_identical_samples_in_all_arms_are_one_group() -> None:
    strategy = Cluster(3, 6, 0.5, Gaussian(1.0))
    strategy.ask()
    strategy.tell({arm: np.full((6, 2), 4.2) for arm in range(3)})
    assert strategy.recommend().labels == (0, 0, 0)
    assert np.array_equal(strategy.evidence().distances, np.zeros((3, 3)))


@given(n=st.integers(0, 5), more=st.integers(0, 3), start=st.integers(-7, 7), stop=st.integers(-7, 7))
def test_rounds_are_a_tuple_that_does_not_grow_with_the_list_behind_it(
    n: int, more: int, start: int, stop: int
) -> None:
    growing = [Round(number, 0.1, 1, number, 1) for number in range(n)]
    rounds, like = Rounds(growing, n), tuple(growing)
    growing += [Round(n + number, 0.1, 1, 1, 1) for number in range(more)]
    assert rounds == like and hash(rounds) == hash(like) and repr(rounds) == repr(like)
    assert list(rounds) == list(like) and len(rounds) == n
    assert rounds[start:stop] == like[start:stop] and rounds[::-1] == like[::-1]
    if -n <= start < n:
        assert rounds[start] == like[start]
    else:
        with pytest.raises(IndexError):
            rounds[start]
    assert (rounds == growing) == (more == 0)
