"""The loop that running, planning and bench share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.running.loop import Loop, blas_threads
from kabc.strategies import BOC
from kabc.strategies.base import Request

KERNEL = kabc.Gaussian(bandwidth=1.0)


class Draws:
    """Two normal arms, 9 apart; remembers what was asked for."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> dict[int, Any]:
        self.requests.append(request)
        return {arm: self.rng.normal(9.0 * arm, 1.0, n) for arm, n in request.items()}


def strategy() -> kabc.AnytimeKABC:
    return kabc.AnytimeKABC(2, 2, 0.05)


def test_it_asks_draws_and_tells_until_the_strategy_stops() -> None:
    one, draw = strategy(), Draws()
    assert list(Loop[None](one, draw)) == list(range(1, len(one.rounds) + 1))
    assert one.status == "decided"
    assert sum(sum(request.values()) for request in draw.requests) == one.n_samples


def test_a_request_that_is_forbidden_is_not_drawn_and_the_reason_is_kept() -> None:
    one, draw = strategy(), Draws()
    loop = Loop(one, draw, lambda request: "too much" if one.n_samples + sum(request.values()) > 6 else None)
    rounds = list(loop)
    assert loop.reason == "too much"
    assert len(draw.requests) == len(rounds) == len(one.rounds) > 0
    assert one.n_samples <= 6


def test_the_caller_may_leave_between_rounds_and_go_on_later() -> None:
    halved, whole, draw = strategy(), strategy(), Draws()
    for _ in Loop[None](halved, draw):
        break
    assert len(halved.rounds) == 1
    assert list(Loop[None](halved, draw))
    list(Loop[None](whole, Draws()))
    assert halved.evidence() == whole.evidence()


def test_a_stopped_strategy_is_not_asked() -> None:
    one, draw = strategy(), Draws()
    list(Loop[None](one, draw))
    n = len(draw.requests)
    assert list(Loop[None](one, draw)) == []
    assert len(draw.requests) == n


def test_requests_can_be_taken_one_by_one_and_told_by_the_caller() -> None:
    one, draw = strategy(), Draws()
    for request in Loop[None](one).asks():
        one.tell(draw(request))
    assert one.status == "decided"
    assert one.n_samples == sum(sum(request.values()) for request in draw.requests)


@pytest.mark.parametrize(
    ("made", "limited"),
    [(strategy(), True), (BOC(3, 2, 0.1), True), (kabc.KABC(2, 2, 0.1, KERNEL), False), (object(), False)],
)
def test_strategies_with_small_matrices_get_one_thread_of_blas(made: Any, limited: bool) -> None:
    from threadpoolctl import ThreadpoolController, threadpool_limits

    def threads() -> set[int]:
        return {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        with blas_threads(made):
            assert threads() == ({1} if limited else {2})
        assert threads() == {2}
