"""One call: what goes wrong on the way, and connections that are closed."""

from __future__ import annotations

import builtins
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kabc.arms.http import http_arms
from kabc.core.errors import SettingsError
from tests.arms.http.server import Server, draw, failure, one


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        ("closed", {}, "broke off the call (RemoteProtocolError)"),
        ("stuck", {"timeout": 0.1}, "timed out after 0.1 s"),
        ("drip", {"timeout": 0.2}, "timed out after 0.2 s"),
    ],
)
def test_a_call_without_a_whole_answer_is_raised_with_its_arm_and_cause_or_encoded(
    server: Server, path: str, options: dict[str, Any], said: str
) -> None:
    assert said in failure(server.url(path), **options)
    assert one(server.url(path), 2, on_failure="encode", **options).tolist() == [[0.0, 1.0]] * 2


def test_a_server_that_is_not_there_is_a_failure_that_shows_its_address_without_user_and_query(server: Server) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        port = other.server_address[1]
    said = failure(f"http://me:word@127.0.0.1:{port}/path?key=abc")
    assert f"cannot be reached at http://127.0.0.1:{port}; check the address" in said


def test_a_closed_arm_can_be_drawn_from_again(server: Server) -> None:
    arms = http_arms({"x": server.url("number")})
    assert draw(arms).tolist() == draw(arms).tolist()
    arms["x"].close()  # type: ignore[attr-defined]


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return ordinary(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"httpx; pip install 'kabc\[data\]'"):
        http_arms({"x": "http://host"})
