"""One endpoint as an arm: its prompts, its tries, its end."""

from __future__ import annotations

import numpy as np

from kabc.arms.base import Arm
from kabc.arms.http import http_arms
from tests.arms.http.server import Server, draw, failure, one


def test_http_arms_are_arms_without_an_end_and_only_latencies_are_drawn_one_at_a_time(server: Server) -> None:
    arm, timed = (
        http_arms({"x": server.url("number")})["x"],
        http_arms({"x": server.url("number")}, kind="latency")["x"],
    )
    assert isinstance(arm, Arm)
    assert arm.remaining is None
    assert (arm.one_at_a_time, timed.one_at_a_time) == (False, True)  # type: ignore[attr-defined]


def test_prompts_depend_on_the_seed_alone_and_answers_come_in_their_order(server: Server) -> None:
    prompts = ["p" * size for size in range(1, 30)]
    answers = [
        draw(
            http_arms(
                {"x": server.url("chat")},
                body={"messages": [{"content": "{prompt}"}]},
                prompts=prompts,
                value="n",
                concurrency=concurrency,
            ),
            12,
            seed,
        ).ravel()
        for concurrency, seed in [(1, 0), (6, 0), (6, 1)]
    ]
    assert np.array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])
    assert len(set(answers[0])) > 5


def test_a_retry_goes_on_after_failures_and_says_so(server: Server) -> None:
    arms = http_arms({"x": server.url("flaky")}, on_failure="retry", concurrency=1)
    assert draw(arms, 2).tolist() == [[4.5]] * 2
    assert any("samples that succeed" in note for note in arms.notes)
    assert "3 tries failed; the last failure: answered 500" in failure(
        server.url("broken"), on_failure="retry", retries=2
    )
    assert server.count("broken") == 3


def test_too_many_requests_is_no_failure(server: Server) -> None:
    assert one(server.url("busy"), on_failure="raise").tolist() == [[4.5]]
    assert server.count("busy") == 3
