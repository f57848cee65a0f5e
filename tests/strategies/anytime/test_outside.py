"""Bets of arms outside the core in parts: in any order, after a journey, and of any size, they are the same."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.strategies.anytime import learning, teaching
from kabc.study.freeze import freeze, thaw

N_ARMS = 66


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def backwards(function: Callable[[Any, Any], Any], common: Any, parts: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """All parts are taken first, sent, computed from the last to the first, and come back."""
    taken = list(parts)
    found = [sent(function(sent(common), sent(part))) for part in reversed(taken)]
    return iter(list(zip(taken, reversed(found), strict=True)))


def played(compute: Any) -> kabc.AnytimeKABC:
    strategy = kabc.AnytimeKABC(N_ARMS, 3, 0.05)
    strategy.compute = compute
    rng = np.random.default_rng(0)
    while not strategy.stopped:
        strategy.tell({arm: rng.normal(6.0 * (arm % 3), 1.0, n) for arm, n in strategy.ask().items()})
    return strategy


def log_evidence(strategy: kabc.AnytimeKABC) -> Any:
    found = strategy.evidence()
    return found.values, found.told


@pytest.mark.parametrize("many", [2000, 10])
def test_parts_can_be_computed_anywhere_and_in_any_order(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_MANY", many)
    at_once = played(None)
    monkeypatch.setattr(learning, "_IN_PART", 12)
    monkeypatch.setattr(teaching, "AT_ONCE", 12)
    monkeypatch.setattr(learning, "_OVER_CORE", 1)
    n_parts = 0

    def counted(function: Any, common: Any, parts: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        nonlocal n_parts
        found = list(backwards(function, common, parts))
        n_parts += len(found)
        return iter(found)

    here, there = played(None), played(counted)
    assert n_parts > 3
    for one, other in zip(log_evidence(here), log_evidence(there), strict=True):
        assert np.array_equal(one, other)
    assert there.rounds == here.rounds and there.recommend() == here.recommend()
    for one, other in zip(log_evidence(here), log_evidence(at_once), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


def test_a_frozen_strategy_does_not_keep_where_it_computed() -> None:
    strategy = played(backwards)
    assert thaw(freeze(strategy, "mark"), "mark").compute is None
