"""Random generators by key, many at a time: the very streams that numpy's SeedSequence gives, without its overhead.

numpy turns (seed, key) into four words of 64 bits, by 32-bit arithmetic that it promises not to change, and seeds a
PCG64 with them. Here the words of many keys are computed at once. A test compares them with numpy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class Rounds:
    """`rngs_of` of keys that end with a round. With few keys, the words of the next rounds are made at once, too."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: dict[tuple[int, ...], NDArray[np.uint64]] = {}  # by key

    def rngs(self, keys: Sequence[tuple[int, ...]]) -> Iterator[np.random.Generator]:
        """`rng_of` of each key, in order."""
        if not all(key in self._states for key in keys):
            if len(keys) * _AHEAD > _MANY or max(map(max, keys)) > _MASK - _AHEAD:
                return rngs_of(self._seed, keys)
            known = [(*key[:-1], key[-1] + later) for later in range(_AHEAD) for key in keys]
            self._states = dict(zip(known, _states(self._seed, np.array(known, dtype=np.uint32)), strict=True))
        return (_generator(self._seed, key, self._states[key]) for key in keys)


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
    entropy = [np.full(len(keys), word, dtype=np.uint32) for word in _words(seed)] + list(keys.T)
    constant = _Constants(_INIT_A, _MULT_A)
    pool = [constant.hashed(word) for word in entropy[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], constant.hashed(pool[source]))
    for word in entropy[_POOL:]:
        pool = [_mixed(one, constant.hashed(word)) for one in pool]
    constant = _Constants(_INIT_B, _MULT_B)
    found = np.empty((len(keys), 2 * _STATE), dtype="<u4")
    for number in range(2 * _STATE):
        found[:, number] = constant.hashed(pool[number % _POOL])
    return found.view("<u8").astype(np.uint64)


def _words(seed: int) -> list[int]:
    """The seed in words of 32 bits, the lowest first, filled up to the size of the pool."""
    words = [seed & _MASK]
    while seed := seed >> 32:
        words.append(seed & _MASK)
    return words + [0] * (_POOL - len(words))


class _Constants:
    """Each hash takes the next constant."""

    def __init__(self, first: int, factor: int) -> None:
        self._now, self._factor = first, factor

    def hashed(self, words: Words) -> Words:
        words = words ^ np.uint32(self._now)
        self._now = self._now * self._factor & _MASK
        words = words * np.uint32(self._now)
        return np.asarray(words ^ (words >> _SHIFT))


def _mixed(one: Words, other: Words) -> Words:
    mixed = _MIX_L * one - _MIX_R * other
    return np.asarray(mixed ^ (mixed >> _SHIFT))
