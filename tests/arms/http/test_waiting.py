"""Rate limits: they are waited for, and never seen as data."""

from __future__ import annotations

import random
import threading
import time
from email.utils import formatdate
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms import failures
from kabc.arms.failures import DrawError
from kabc.arms.http import http_arms
from kabc.arms.http.waiting import Host, asked_seconds, asks_to_wait, origin_of
from kabc.core.errors import ArmError
from tests.arms.http.limits import limited_server
from tests.arms.http.server import Server, draw, failure, one


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 0.002)


@pytest.mark.parametrize("kind", ["number", "latency"])
@pytest.mark.parametrize("on_failure", ["raise", "retry", "encode"])
@pytest.mark.parametrize(
    ("refusal", "headers"), [(429, {}), (429, {"Retry_After": "0.05"}), (503, {"Retry_After": "now"})]
)
def test_equal_endpoints_are_not_told_apart_because_one_of_them_is_limited(
    kind: Any, on_failure: Any, refusal: int, headers: dict[str, str]
) -> None:
    with limited_server(rate=12, refusal=refusal, **headers) as server:
        endpoints = {"fast": server.url("free"), "slow": server.url("limited")}
        arms = http_arms(endpoints, kind=kind, on_failure=on_failure, retries=0, warmup=0)
        result = kabc.cluster(arms, n_clusters=2, max_samples=24, seed=3, progress=False)
        refused = server.n_refused
    assert refused > 0  # the limit was reached
    assert result.status != "decided"
    assert result.n_groups_at_least == 1
    assert result.n_lost == refused  # refused calls are on the bill, and nothing else is
    if kind == "latency":  # a pause is no part of it: 12 calls at 12 a second take longer than all latencies
        assert result.samples["slow"][:, 0].sum() < 0.4
    if on_failure == "encode":
        assert not any(rows[:, -1].any() for rows in result.samples.values())


def test_samples_do_not_depend_on_a_rate_limit(server: Server) -> None:
    options: dict[str, Any] = {
        "body": {"messages": [{"content": "{prompt}"}]},
        "prompts": ["p" * size for size in range(1, 30)],
        "value": "n",
    }
    free = one(server.url("chat"), 8, **options)
    with limited_server(rate=50) as limited:
        limited_arm = http_arms({"x": limited.url("limited")})
        draw(limited_arm, 3)
        assert limited.n_refused
    assert np.array_equal(one(server.url("chat"), 8, **options), free)


@pytest.mark.parametrize("on_failure", ["raise", "retry", "encode"])
def test_a_host_that_refuses_for_too_long_ends_the_run_whatever_the_policy(server: Server, on_failure: Any) -> None:
    said = failure(server.url("always_busy"), on_failure=on_failure, max_wait=0.05, retries=0)
    origin = origin_of(server.url(""))
    assert f"{origin} has answered nothing but 429 (too many requests) for 1 second; max_wait=0.05 allows" in said
    assert said.endswith("lower rate= or concurrency=, or raise max_wait=")
    assert server.count("always_busy") > 2


def test_a_pause_that_is_too_long_is_refused_at_once() -> None:
    with limited_server(1e-9, Retry_After="3600") as server:
        with pytest.raises(ArmError, match="asks to wait 3,600 seconds; max_wait=300 allows no more") as caught:
            draw(http_arms({"x": server.url("limited")}), 2)
        assert not isinstance(caught.value, DrawError)


def test_the_answer_so_far_is_kept_when_a_host_refuses_for_too_long() -> None:
    with limited_server(1e-9) as server:
        urls = {"a": server.url("free"), "b": server.url("limited"), "c": server.url("free"), "d": server.url("free")}
        arms = http_arms(urls, max_wait=0.1, price=0.5)
        with pytest.raises(ArmError, match=r"arm 'b': .* nothing but 429") as caught:
            kabc.cluster(arms, n_clusters=2, seed=1, progress=False)
    result = caught.value.result
    assert result.status == "failed"
    assert result.spent == 0.5 * (result.n_samples + result.n_lost)
    assert result.n_lost >= server.n_refused


def test_arms_on_one_host_wait_together_and_others_do_not() -> None:
    arms: Any = http_arms(
        {"a": "http://h:80/x", "b": "http://me:word@H/y?q=1", "c": "https://h/x", "d": "http://h:81/"}
    )
    assert arms["a"]._host is arms["b"]._host
    assert len({id(arm._host) for arm in arms.values()}) == 3
    assert origin_of("http://me:word@H:81/x?key=1") == "http://h:81"


def host(max_wait: float = 300.0) -> Host:
    return Host("http://h", max_wait, random.Random(0))


def test_pauses_have_full_jitter_and_grow_with_each_wave_of_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 1.0)
    for step in range(1, 6):
        pauses = []
        for seed in range(50):
            one_host, start = Host("h", 300.0, random.Random(seed)), time.monotonic()
            one_host._step = one_host._wave = step - 1
            one_host.refused("a", step - 1, 429, "")
            one_host.refused("a", 0, 429, "")  # of an earlier wave: no further step
            assert one_host._step == step
            pauses.append(one_host._until - start)
        most = failures.wait_before(step - 1)
        assert 0 <= min(pauses) < most / 2 < max(pauses) < most + 1


def test_an_answer_takes_one_step_back() -> None:
    one_host = host()
    for wave in range(3):
        one_host.refused("a", wave, 429, "")
    for left in (2, 1, 0, 0):
        one_host.answered("b")
        assert one_host._step == left


def test_the_time_of_an_arm_runs_until_it_gets_an_answer_whatever_others_get() -> None:
    one_host = host(max_wait=0.02)
    one_host.refused("a", 0, 429, "")
    time.sleep(0.03)
    one_host.answered("b")
    with pytest.raises(ArmError, match="nothing but 429"):
        one_host.refused("a", 1, 429, "")
    one_host.answered("a")
    one_host.refused("a", 2, 429, "")


def test_a_stopped_run_does_not_wait() -> None:
    one_host, stop = host(1e9), threading.Event()
    one_host.refused("a", 0, 429, "100000")
    threading.Timer(0.05, stop.set).start()
    with one_host.turn(stop), one_host.turn(stop):  # a day, if it did not listen; the second has no turn
        pass


def test_a_draw_that_waits_for_its_host_ends_when_the_run_does() -> None:
    with limited_server(1e-9, Retry_After="200") as server:
        arms: Any = http_arms({"x": server.url("limited")})
        draw(arms, 1)
        threading.Timer(0.3, arms["x"].stop).start()
        with pytest.raises(ArmError, match="was stopped"):
            draw(arms, 1)


def test_a_draw_that_gets_answers_goes_on_when_the_run_ends(server: Server) -> None:
    arms: Any = http_arms({"x": server.url("slow")}, concurrency=1)
    threading.Timer(0.08, arms["x"].stop).start()
    assert len(draw(arms, 4)) == 4


def test_people_are_told_of_a_long_pause_only() -> None:
    one_host = host()
    one_host.refused("a", 0, 429, "0.5")
    assert one_host.waiting == ""
    one_host.refused("a", 1, 429, "11")
    assert one_host.waiting in [f"waiting for http://h: too many requests, {seconds} s" for seconds in (11, 12)]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("100000", 100000), ("-3", 0), ("", None), ("soon", None), ("nan", None), ("inf", None)],
)
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    assert asked_seconds(header) == seconds


def test_retry_after_as_a_date() -> None:
    asked = asked_seconds(formatdate(time.time() + 30, usegmt=True))
    assert asked is not None and 25 < asked <= 30
    assert asked_seconds(formatdate(time.time() - 30, usegmt=True)) == 0


def test_only_429_and_503_with_a_time_ask_to_wait() -> None:
    assert asks_to_wait(429, "") and asks_to_wait(429, "3") and asks_to_wait(503, "3")
    assert not asks_to_wait(503, "") and not asks_to_wait(500, "3") and not asks_to_wait(200, "3")
