"""Answers: numbers, texts, seconds, and every wrong answer."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from kabc.arms.http import http_arms
from tests.arms.http.server import Server, draw, failure, one


def test_numbers_come_from_the_whole_answer_or_from_a_path(server: Server) -> None:
    assert one(server.url("number"), 3).tolist() == [[4.5]] * 3
    assert one(server.url("number"), method="GET").tolist() == [[4.5]]
    assert one(server.url("number"), body="two numbers").tolist() == [[1.5, 2]]
    body = {"messages": [{"content": "four"}]}
    assert one(server.url("chat"), body=body, value="n").tolist() == [[4]]
    assert [method for _, method, *_ in server.seen] == ["POST"] * 3 + ["GET", "POST", "POST"]


def test_a_latency_is_the_time_of_the_call_after_one_that_does_not_count(server: Server) -> None:
    arms = http_arms({"x": server.url("slow")}, kind="latency", price=2.5)
    start = time.perf_counter()
    seconds = draw(arms, 1)[0, 0]
    assert 0.05 <= seconds <= time.perf_counter() - start
    assert server.count("slow") == 2
    assert (arms.columns, arms.price) == (("latency",), 2.5)


def test_texts_become_features_of_their_own(server: Server) -> None:
    prompts = ["the cat sat", "completely different words"]
    body = '{"messages": [{"content": "{prompt}"}]}'
    options: dict[str, Any] = {"body": body, "value": "choices.0.message.content", "kind": "text"}
    cat = one(server.url("chat"), 2, prompts=prompts[:1], **options)
    words = one(server.url("chat"), 1, prompts=prompts[1:], **options)
    assert cat.shape == (2, 256)
    assert np.array_equal(cat[0], cat[1])
    assert not np.array_equal(cat[0], words[0])
    assert np.array_equal(one(server.url("words"), kind="text").shape, (1, 256))
    assert one(server.url("words"), kind="text", text="characters").shape == (1, 64)
    assert any("n-grams" in note for note in http_arms({"x": server.url("words")}, kind="text").notes)


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        ("broken", {}, "answered 500: 'an internal error'; call it by hand"),
        ("words", {}, "answered '<html>hello</html>', which is not JSON"),
        ("nonsense", {}, "expected a finite number or a list of them, got"),
        ("nonsense", {"value": "answer.x"}, "expected a finite number or a list of them, got 'None'"),
        ("nonsense", {"value": "answer.y"}, "there is no 'y' of the path 'answer.y'"),
        ("nonsense", {"value": "answer.y", "kind": "latency", "warmup": 0}, "there is no 'y' of the path 'answer.y'"),
        ("nonsense", {"value": "answer.x", "kind": "text"}, "expected text, got 'None'; set value="),
        ("moved", {}, "answered 302"),
        ("418", {}, "answered 418"),
    ],
)
def test_a_wrong_answer_is_raised_with_its_arm_and_cause_or_encoded(
    server: Server, path: str, options: dict[str, Any], said: str
) -> None:
    url = server.url(path)
    assert said in failure(url, **options)
    encoded = one(url, 2, on_failure="encode", **options)
    width = 256 if options.get("kind") == "text" else 1
    assert encoded.tolist() == [[0.0] * width + [1.0]] * 2


@pytest.mark.parametrize(
    ("status", "cure"), [(401, "check the key"), (404, "check the address"), (405, "check method=")]
)
@pytest.mark.parametrize("on_failure", ["raise", "retry", "encode"])
def test_a_status_that_every_sample_would_get_ends_the_run_at_once(
    server: Server, status: int, cure: str, on_failure: str
) -> None:
    assert cure in failure(server.url(str(status)), on_failure=on_failure)
    assert server.count(str(status)) == 1
