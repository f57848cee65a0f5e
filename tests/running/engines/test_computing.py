"""What a strategy computes in parts, on an engine: the same answer wherever it is computed, and whoever dies there."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.running import computing
from kabc.running.computing import Computing
from kabc.strategies.anytime import inference
from tests.running.engines.parts import ARMS, ASKED, HERE, deadly, equal, noted, pids_in
from tests.running.live import run


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        yield executor


# ---------------------------------------------------------------- on a real engine


@pytest.mark.usefixtures("small_parts")
def test_a_pool_computes_parts_and_the_answer_is_the_same(
    pool: ProcessPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run(ARMS, **ASKED)
    monkeypatch.setattr(inference, "won", partial(noted, tmp_path))
    assert equal(run(ARMS, **ASKED, executor=pool), usual)
    assert usual.status == "decided"
    assert pids_in(tmp_path) and HERE not in pids_in(tmp_path)


@pytest.mark.usefixtures("small_parts")
def test_so_does_a_cluster(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run(ARMS, **ASKED)
    monkeypatch.setattr(inference, "won", partial(noted, tmp_path))
    assert equal(run(ARMS, **ASKED, executor=client), usual)
    assert len(pids_in(tmp_path)) > 1 and HERE not in pids_in(tmp_path)


@pytest.mark.parametrize("small_parts", [2000], indirect=True)
@pytest.mark.usefixtures("small_parts")
def test_a_worker_of_a_pool_that_dies_is_no_lost_draw(
    pool: ProcessPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run(ARMS, **ASKED)
    monkeypatch.setattr(inference, "won", partial(deadly, tmp_path, HERE))
    result = run(ARMS, **ASKED, executor=pool, on_worker_loss="raise")
    assert equal(result, usual)
    assert result.n_lost == 0 and result.notes == usual.notes
    assert len(pids_in(tmp_path)) > 1  # the pool was made anew


@pytest.mark.parametrize("small_parts", [2000], indirect=True)
@pytest.mark.usefixtures("small_parts")
def test_nor_is_one_of_a_cluster(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run(ARMS, **ASKED)
    monkeypatch.setattr(inference, "won", partial(deadly, tmp_path, HERE))
    result = run(ARMS, **ASKED, executor=client, on_worker_loss="raise")
    assert equal(result, usual)
    assert result.n_lost == 0 and result.notes == usual.notes
    assert len(pids_in(tmp_path)) > 1


# ---------------------------------------------------------------- whatever an engine does


class Stub:
    """An engine that gives the futures of a function."""

    shares_memory = deserted = False
    slots = 2

    def __init__(self, future: Callable[[int], Future[int]], *, falls_as_one: bool = False) -> None:
        self._future, self.falls_as_one = future, falls_as_one
        self.n_sent = 0

    def compute(self, function: Callable[[int, int], int], common: int) -> Callable[[int], Future[int]]:
        def send(part: int) -> Future[int]:
            self.n_sent += 1
            return self._future(part)

        return send


def done(part: int, error: Exception | None = None) -> Future[int]:
    found: Future[int] = Future()
    found.set_result(100 + part) if error is None else found.set_exception(error)
    return found


def there(engine: Any, n_parts: int) -> tuple[list[tuple[int, int]], Computing]:
    found = Computing(engine)
    return list(found(lambda common, part: -common * part, 1, range(n_parts))), found


def test_parts_come_in_their_order_and_few_are_sent_ahead() -> None:
    engine: Any = Stub(done)
    under_way = Computing(engine)(lambda common, part: 0, 1, range(20))
    assert engine.n_sent == 4  # at once: two for each slot
    assert next(under_way) == (0, 100)
    assert engine.n_sent == 5
    assert list(under_way) == [(part, 100 + part) for part in range(1, 20)]


def test_a_part_that_is_lost_is_computed_here_and_the_next_ones_are_sent() -> None:
    engine = Stub(lambda part: done(part, BrokenExecutor() if part == 3 else None))
    found, lent = there(engine, 6)
    assert found == [(part, -3 if part == 3 else 100 + part) for part in range(6)]
    assert not lent.broken and engine.n_sent == 6


def test_a_pool_that_broke_gets_no_more() -> None:
    engine = Stub(lambda part: done(part, BrokenExecutor() if part >= 3 else None), falls_as_one=True)
    found, lent = there(engine, 20)
    assert found == [(part, -part if part >= 3 else 100 + part) for part in range(20)]
    assert lent.broken and engine.n_sent < 10


def test_so_does_an_engine_that_cannot_send_them() -> None:
    engine = Stub(lambda part: done(part, pickle.PicklingError("cannot be sent")))
    found, lent = there(engine, 20)
    assert found == [(part, -part) for part in range(20)]
    assert not lent.broken and engine.n_sent < 10


def test_a_function_that_fails_fails_here() -> None:
    def fails(common: int, part: int) -> int:
        raise ZeroDivisionError(part)

    engine: Any = Stub(lambda part: done(part, ZeroDivisionError(part)))
    with pytest.raises(ZeroDivisionError):
        list(Computing(engine)(fails, 1, range(3)))


def test_nobody_waits_for_a_cluster_without_workers() -> None:
    engine = Stub(lambda part: Future())
    engine.deserted = True
    assert there(engine, 3)[0] == [(part, -part) for part in range(3)]


def test_nor_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(computing, "_PATIENCE", 0.02)
    assert there(Stub(lambda part: Future()), 3)[0] == [(part, -part) for part in range(3)]


def test_a_strategy_has_the_engine_for_a_round_only(pool: ProcessPoolExecutor) -> None:
    strategy = kabc.AnytimeKABC(3, 2, 0.05)
    seen: list[object] = []
    arms = dict(list(ARMS.items())[:3])
    run(arms, strategy=strategy, n_clusters=None, executor=pool, on_round=lambda _: seen.append(strategy.compute))
    assert seen and set(seen) == {None}
    assert np.isfinite(strategy.evidence().values).any()
