"""Endpoints are called at the same time by default; times are measured one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms.http import http_arms
from tests.arms.http.server import Server

NAMES = ("a", "b", "c", "d")


def answered(server: Server, path: str, workers: int | None, **options: Any) -> kabc.Result:
    arms = http_arms({name: server.url(path) for name in NAMES}, concurrency=1, **options)
    return kabc.cluster(arms, 2, seed=3, max_samples=24, workers=workers, progress=False, watch=False)


def test_endpoints_are_called_at_the_same_time_by_default(server: Server) -> None:
    answered(server, "slow", None)
    assert server.most > 1


def test_one_worker_by_wish_calls_one_after_another(server: Server) -> None:
    answered(server, "slow", 1)
    assert server.most == 1


def test_latencies_are_measured_one_at_a_time(server: Server) -> None:
    answered(server, "slow", None, kind="latency")
    assert server.most == 1


def test_a_latency_beside_other_endpoints_is_alone_too(server: Server) -> None:
    timed = http_arms({"a": server.url("slow")}, kind="latency")
    others = http_arms({"b": server.url("slow"), "c": server.url("slow")}, concurrency=1)
    kabc.cluster({**timed, **others}, 2, seed=3, max_samples=24, progress=False, watch=False)
    assert server.most == 1


@pytest.mark.parametrize("workers", [1, 3])
def test_the_answer_does_not_depend_on_it(server: Server, workers: int) -> None:
    prompts = [f"{number} words" for number in range(9)]
    body = {"messages": [{"content": "{prompt}"}]}
    options = {"body": body, "prompts": prompts, "value": "n"}
    default, other = answered(server, "chat", None, **options), answered(server, "chat", workers, **options)
    assert default.samples_per_arm == other.samples_per_arm
    assert all(np.array_equal(default.samples[name], other.samples[name]) for name in NAMES)
    assert np.array_equal(default.evidence.strength, other.evidence.strength)
