"""Strategies driven by hand, with right and wrong tells in random order."""

from __future__ import annotations

import pickle
import warnings
from typing import Any, get_args

import numpy as np
import pytest

import kabc
from kabc.strategies import Strategy, make_strategy, strategies
from kabc.strategies.answers import Status
from kabc.strategies.registry import needs_kernel
from tests.fuzz.harness import Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.test_cluster import HOSTILE_NUMBERS, NEEDED, bad_values, one_of

_MOST_STEPS = 25
_MOST_SAMPLES = 4000


def made(rng: np.random.Generator) -> Strategy:
    """A strategy with random settings, some of them wrong."""
    name = one_of(rng, ["anytime", "anytime", "kabc", "kabc-tight", *strategies()])
    n_arms, n_clusters, delta = int(rng.integers(2, 7)), one_of(rng, [2, 2, 3, None]), one_of(rng, [0.05, 0.5, 1.0])
    options = dict(NEEDED.get(name, {}))
    if rng.random() < 0.15:
        settings: list[Any] = [n_arms, n_clusters, delta]
        settings[rng.integers(3)] = one_of(rng, HOSTILE_NUMBERS)
        n_arms, n_clusters, delta = settings
    if rng.random() < 0.1:
        options[one_of(rng, ["sigma", "growth", "block", "patience", "samples_per_arm", "x", "seed"])] = one_of(
            rng, HOSTILE_NUMBERS
        )
    return make_strategy(name, n_arms, n_clusters, delta, kabc.Gaussian(1.0) if needs_kernel(name) else None, options)


def right(strategy: Strategy, rng: np.random.Generator, d: int) -> dict[int, Any]:
    return {
        arm: rng.integers(0, 4, (count, d)) if d == 1 else rng.normal(3.0 * (arm % 2), 1.0, (count, d))
        for arm, count in strategy.ask().items()
    }


def wrong(rng: np.random.Generator, good: dict[int, Any]) -> Any:
    """A tell that must be refused."""
    arm = int(one_of(rng, list(good)))
    rows = good[arm]
    return one_of(
        rng,
        [
            *(None, 3, [], {}, list(good.values()), good | {99: rows}, good | {-1: rows}),
            {key: value for key, value in good.items() if key != arm},
            *(good | {arm: bad} for bad in (rows[:-1], np.concatenate([rows, rows]), rows[:, :0], rows[None], None)),
            good | {arm: rows * np.nan},
            good | {arm: np.full(rows.shape, "x")},
            good | {arm: np.full(rows.shape, 1j)},
        ],
    )


def seen(strategy: Strategy) -> bytes:
    parts = (strategy.ask(), strategy.n_samples, strategy.rounds, strategy.status, strategy.recommend().labels)
    return pickle.dumps((parts, strategy.evidence().told_in_round))


def expect_sound_state(strategy: Strategy) -> None:
    n = strategy.n_arms
    labels, told = strategy.recommend().labels, strategy.evidence().told_apart
    assert len(labels) == n
    assert told.shape == (n, n) and (told == told.T).all() and not told.diagonal().any()
    assert strategy.status is None or strategy.status in get_args(Status)
    assert strategy.ask() == strategy.ask()
    assert all(0 <= arm < n and count >= 1 for arm, count in strategy.ask().items())
    assert strategy.guarantee().claim
    assert 1 <= strategy.n_groups_at_least <= n


def one_case(rng: np.random.Generator) -> Ended:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        strategy = made(rng)
        d = int(rng.choice([1, 2]))
        for _ in range(_MOST_STEPS):
            request = strategy.ask()
            if not request or sum(request.values()) > _MOST_SAMPLES:
                break
            good = right(strategy, rng, d)
            if rng.random() < 0.3:
                _refused(strategy, wrong(rng, good))
            before = strategy.n_samples
            strategy.tell(good)
            assert strategy.n_samples == before + sum(request.values())
            expect_sound_state(strategy)
        expect_sound_state(strategy)
        if strategy.stopped:
            _refused(strategy, {0: bad_values(rng, 2)})
    return "answered"


def _refused(strategy: Strategy, told: Any) -> None:
    before = seen(strategy)
    with pytest.raises(kabc.KabcError):
        strategy.tell(told)
    assert seen(strategy) == before


@every_part
@pytest.mark.timeout(1800)
def test_every_sequence_of_tells_keeps_a_sound_state(part: int, record_property: Record) -> None:
    expect_sound(fuzzed("ask and tell", 1000, one_case, part), 0.2, record_property)
