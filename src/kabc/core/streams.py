"""Random generators by key, many at a time: the very streams that numpy's SeedSequence gives, without its overhead.

numpy turns (seed, key) into four words of 64 bits, by 32-bit arithmetic that it promises not to change, and seeds a
PCG64 with them. Here the words of many keys are computed at once. A test compares them with numpy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_SHIFT = np.uint32(16)
_MASK = 0xFFFFFFFF
_POOL = 4  # words that entropy is mixed into
_STATE = 4  # words of 64 bits that seed a generator
_FEW = 4  # keys below which one by one is as fast
_AHEAD = 8  # rounds whose words are made together
_MANY = 1024  # words of so many keys take as long as they are long

Words = NDArray[np.uint32]


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """A random generator for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def rngs_of(seed: int, keys: Sequence[tuple[int, ...]]) -> Iterator[np.random.Generator]:
    """`rng_of` of each key, in order. All keys are as long as the first one."""
    if len(keys) < _FEW or max(map(max, keys)) > _MASK:
        return (rng_of(seed, *key) for key in keys)
    states = _states(seed, np.array(keys, dtype=np.uint32))
    return (_generator(seed, key, state) for key, state in zip(keys, states, strict=True))


def made_ahead(n: int) -> bool:
    """Whether `rng_of_round` makes the words of n numbers for some rounds at once."""
    return n * _AHEAD <= _MANY


def rng_of_round(seed: int, n: int, one: int, number: int) -> np.random.Generator:
    """`rng_of` of (one, number) for one of the numbers below n. If they are few, words of next rounds are made, too."""
    if not made_ahead(n) or number > _MASK - _AHEAD:
        return rng_of(seed, one, number)
    return _generator(seed, (one, number), _ahead(seed, n, number // _AHEAD)[number % _AHEAD, one])


@lru_cache(maxsize=4)
def _ahead(seed: int, n: int, place: int) -> NDArray[np.uint64]:  # -> (8, n, 4)
    """The words of some rounds that come after one another."""
    keys = np.empty((_AHEAD, n, 2), dtype=np.uint32)
    keys[..., 0] = np.arange(n)
    keys[..., 1] = _AHEAD * place + np.arange(_AHEAD)[:, None]
    return _states(seed, keys.reshape(-1, 2)).reshape(_AHEAD, n, _STATE)


class _Known(ISpawnableSeedSequence):
    """A seed sequence whose first words are known already. Copies and children are made by numpy's own."""

    def __init__(self, seed: int, key: tuple[int, ...], state: NDArray[np.uint64]) -> None:  # (4,)
        self._own, self._state = (seed, key), state
        self._whole: np.random.SeedSequence | None = None

    def _sequence(self) -> np.random.SeedSequence:
        if self._whole is None:
            seed, key = self._own
            self._whole = np.random.SeedSequence(seed, spawn_key=key)
        return self._whole

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        if n_words == _STATE and dtype is np.uint64:
            return self._state
        return self._sequence().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> Any:
        return self._sequence().spawn(n_children)

    def __reduce__(self) -> Any:
        return self._sequence().__reduce__()


def _generator(seed: int, key: tuple[int, ...], state: NDArray[np.uint64]) -> np.random.Generator:  # (4,)
    known: Any = _Known(seed, key, state)  # numpy takes any seed sequence, but its types do not say so
    return np.random.Generator(np.random.PCG64(known))


# ---------------------------------------------------------------- numpy's arithmetic, for many keys at once


def _states(seed: int, keys: Words) -> NDArray[np.uint64]:  # (n, k) -> (n, 4)
    mixed, used = _mixed_seed(seed)
    pool = np.array(mixed, dtype=np.uint32)[:, None]  # (4, 1), then (4, n)
    factors = _constants(_INIT_A, _MULT_A, used + _POOL * keys.shape[1])[used:]
    for at, word in enumerate(keys.T):
        here = factors[_POOL * at : _POOL * (at + 1) + 1]
        pool = _mixed(pool, _hashed(word, here))
    twice = np.concatenate([pool, pool])
    found = np.empty((len(keys), 2 * _STATE), dtype="<u4")
    found[:] = _hashed(twice, _constants(_INIT_B, _MULT_B, 2 * _STATE)).T
    return found.view("<u8").astype(np.uint64)


@lru_cache(maxsize=16)
def _mixed_seed(seed: int) -> tuple[tuple[int, ...], int]:
    """What the pool holds before the key is mixed in, and how many constants were used up: the same for all keys."""
    words = [seed & _MASK]
    while seed := seed >> 32:
        words.append(seed & _MASK)
    words += [0] * (_POOL - len(words))
    n_hashed = _POOL * _POOL + _POOL * (len(words) - _POOL)
    constants = zip(*(_constants(_INIT_A, _MULT_A, n_hashed).tolist()[i:] for i in range(2)), strict=False)

    def hashed(word: int) -> int:
        first, factor = next(constants)
        word = (word ^ first) * factor & _MASK
        return word ^ word >> 16

    def mixed(one: int, other: int) -> int:
        both = (int(_MIX_L) * one - int(_MIX_R) * other) & _MASK
        return both ^ both >> 16

    pool = [hashed(word) for word in words[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in words[_POOL:]:
        pool = [mixed(one, hashed(word)) for one in pool]
    return tuple(pool), n_hashed


@lru_cache(maxsize=64)
def _constants(first: int, factor: int, n: int) -> Words:  # (n + 1,)
    """What n hashes take: each takes a constant and the next one."""
    found = [first]
    for _ in range(n):
        found.append(found[-1] * factor & _MASK)
    return np.array(found, dtype=np.uint32)


def _hashed(words: Words, constants: Words) -> Words:  # (n,) or (m, n), (m + 1,) -> (m, n)
    """The words, hashed m times."""
    hashed = (words ^ constants[:-1, None]) * constants[1:, None]
    return np.asarray(hashed ^ (hashed >> _SHIFT))


def _mixed(one: Words, other: Words) -> Words:
    mixed = _MIX_L * one - _MIX_R * other
    return np.asarray(mixed ^ (mixed >> _SHIFT))
