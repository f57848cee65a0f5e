"""Generators that are made many at a time are the very ones that numpy makes one by one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kabc.core.streams import made_ahead, rng_of, rng_of_round, rngs_of


def numpys_own(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63 - 5, 2**128 + 7, 12345678901234567890123])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 6])
def test_the_streams_are_those_of_numpy(seed: int, length: int) -> None:
    some = np.random.default_rng(length).integers(0, 2**32, (20, length))
    keys = [(0,) * length, *map(tuple, some.tolist())]
    for key, rng in zip(keys, rngs_of(seed, keys), strict=True):
        expected = numpys_own(seed, key)
        assert rng.bit_generator.state == expected.bit_generator.state
        assert rng.random() == expected.random()


@pytest.mark.parametrize("keys", [[], [(3, 1)], [(2**40, 1), (1, 2), (3, 4), (5, 6), (7, 8)]])
def test_few_keys_and_long_numbers_too(keys: list[tuple[int, ...]]) -> None:
    found = [rng.random() for rng in rngs_of(5, keys)]
    assert found == [rng_of(5, *key).random() for key in keys]


def test_children_and_copies_are_those_of_numpy() -> None:
    keys = [(arm, 9) for arm in range(8)]
    for key, rng in zip(keys, rngs_of(4, keys), strict=True):
        expected = numpys_own(4, key)
        assert pickle.loads(pickle.dumps(rng)).random() == numpys_own(4, key).random()
        assert [one.random() for one in rng.spawn(2)] == [one.random() for one in expected.spawn(2)]
        assert rng.spawn(1)[0].random() == expected.spawn(1)[0].random()  # the third child


@pytest.mark.parametrize("n", [1, 12, 128, 129])
def test_streams_of_rounds_are_the_same_whatever_was_made_ahead(n: int) -> None:
    assert made_ahead(n) == (n <= 128)
    for seed in (5, 2**40):
        for number in (0, 1, 2, 7, 8, 9, 100, 4, 2**32 - 9, 2**32 - 2):
            for one in {0, n // 2, n - 1}:
                assert rng_of_round(seed, n, one, number).random() == numpys_own(seed, (one, number)).random()
