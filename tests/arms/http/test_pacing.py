"""Pacing: calls at once, calls a second, and pauses that a server asks for."""

from __future__ import annotations

import threading
import time

import pytest

from kabc.arms.http.pacing import Pace, in_order
from tests.arms.http.server import Server, failure, one


def test_at_most_concurrency_calls_are_under_way(server: Server) -> None:
    one(server.url("slow"), 9, concurrency=3)
    assert server.most == 3


def test_a_rate_spaces_the_calls(server: Server) -> None:
    start = time.perf_counter()
    one(server.url("number"), 5, rate=40)
    assert time.perf_counter() - start >= 4 / 40


def test_a_stopped_arm_does_not_wait_for_its_next_call() -> None:
    pace, stop = Pace(1e-6), threading.Event()
    stop.set()
    for _ in range(3):
        pace.wait(stop)  # days, if it did not listen


def test_results_come_in_the_order_of_what_was_given() -> None:
    second = threading.Event()

    def make(number: int, stop: threading.Event) -> int:
        (second.set if number else second.wait)()  # the first ends after the second
        return -number

    assert in_order(make, [0, 1, 2], 2) == [0, -1, -2]


def test_the_first_error_tells_the_others_to_stop_and_is_raised() -> None:
    def make(number: int, stop: threading.Event) -> bool:
        if number:
            raise ZeroDivisionError
        return stop.wait(60)

    with pytest.raises(ZeroDivisionError):
        in_order(make, [0, 1, 1], 2)


def test_the_first_error_stops_the_other_samples(server: Server) -> None:
    failure(server.url("broken"), 400, concurrency=2)
    assert server.count("broken") < 200
