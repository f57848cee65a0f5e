"""Failed calls: counted for each arm, and not paid for without an end."""

from __future__ import annotations

from typing import Any

import pytest

import kabc
from kabc.arms.failures import DrawError
from kabc.arms.http import http_arms
from kabc.arms.tallies import Failures, failures_of
from kabc.core.errors import ArmError
from tests.arms.http.server import Server, draw


@pytest.mark.parametrize("on_failure", ["encode", "retry"])
def test_a_wrong_path_of_the_value_does_not_spend_all_the_money(server: Server, on_failure: Any) -> None:
    arms = http_arms(
        {"a": server.url("chat"), "b": server.url("chat")},
        body={"messages": [{"content": "hi"}]},
        value="choices.0.mesage.content",
        kind="text",
        price=0.01,
        max_spend=5.0,
        on_failure=on_failure,
        retries=20,
        concurrency=1,
    )
    with pytest.raises(ArmError) as caught:
        kabc.cluster(arms, n_clusters=2, seed=0, progress=False)
    said = str(caught.value)
    assert "its first 5 tries all failed" in said
    assert "there is no 'mesage' of the path 'choices.0.mesage.content'" in said
    assert "correct the path" in said
    assert len(server.seen) <= 14  # five tries of each arm, and what was under way then


@pytest.mark.parametrize(
    ("path", "options", "kind"),
    [
        ("broken", {}, "status 500"),
        ("stuck", {"timeout": 0.1}, "timeout"),
        ("closed", {}, "connection"),
        ("words", {}, "not JSON"),
        ("nonsense", {"value": "answer.y"}, "no value at the path"),
        ("nonsense", {"value": "answer.x"}, "not a number"),
        ("number", {"kind": "text", "value": "x"}, "no value at the path"),
        ("nonsense", {"kind": "text", "value": "answer"}, "not a text"),
        ("number", {"columns": ["a", "b"]}, "other columns"),
    ],
)
def test_kinds_of_failed_calls(server: Server, path: str, options: dict[str, Any], kind: str) -> None:
    arms = http_arms({"x": server.url(path)}, **options)
    with pytest.raises(DrawError) as caught:
        draw(arms)
    assert caught.value.kind == kind
    found = failures_of(arms["x"])
    assert (found.kinds, found.count, found.tries) == ({kind: 1}, 1, 1)
    assert found.last and found.last in str(caught.value)


def test_text_and_json_count_the_failures_of_each_arm(server: Server) -> None:
    arms = http_arms({"good": server.url("number"), "bad": server.url("flaky")}, on_failure="retry", concurrency=1)
    result = kabc.cluster(arms, n_clusters=2, max_samples=16, seed=0, progress=False)
    found = result.failures["bad"]
    assert result.failures.keys() == {"bad"}
    assert found == Failures(found.count, {"status 503": found.count}, found.last, server.count("flaky"), 0)
    line = f"failures: {found.count} of {found.tries} tries of bad (status 503: {found.count}; last: answered 503: "
    assert line in str(result) and line in result.certificate()
    assert result.to_dict()["failures"]["bad"]["count"] == found.count


def test_a_call_that_waits_for_a_rate_limit_is_no_failure(server: Server) -> None:
    arms = http_arms({"x": server.url("busy")})
    draw(arms, 2)
    assert failures_of(arms["x"]) == Failures(tries=2)
