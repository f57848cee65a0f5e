"""A real server on this machine that answers well and in every wrong way, and how the tests call it."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.arms.base import NamedArms
from kabc.arms.http import http_arms
from kabc.core.errors import ArmError


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, str], str]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.leave = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def count(self, path: str) -> int:
        return sum(seen == f"/{path}" for seen, *_ in self.seen)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other
    server: Server

    def log_message(self, *_: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        path = self.path.split("?")[0]
        with self.server.lock:
            self.server.seen.append((path, self.command, dict(self.headers.items()), body))
            number = self.server.count(path[1:])
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            getattr(self, "at_" + path.strip("/").replace("/", "_"), self.at_nowhere)(number, body)
        finally:
            with self.server.lock:
                self.server.now -= 1

    do_GET = do_POST  # noqa: N815 - the name that http.server calls

    def say(self, text: str, status: int = 200, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def at_number(self, number: int, body: str) -> None:
        self.say("[1.5, 2]" if "two" in body else "4.5")

    def at_chat(self, number: int, body: str) -> None:
        prompt = json.loads(body)["messages"][0]["content"]
        time.sleep(0.01 * (number % 3))  # later calls may come back first
        self.say(json.dumps({"choices": [{"message": {"content": prompt}}], "n": len(prompt)}))

    def at_token(self, number: int, body: str) -> None:
        token = {"token": "Paris", "logprob": -0.25}
        self.say(json.dumps({"choices": [{"logprobs": {"content": [token]}}]}))

    def at_slow(self, number: int, body: str) -> None:
        self.server.leave.wait(0.05)
        self.say("1")

    def at_stuck(self, number: int, body: str) -> None:
        self.server.leave.wait(20)

    def at_drip(self, number: int, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "60")
        self.end_headers()
        with contextlib.suppress(OSError):  # the other side hangs up
            for _ in range(60):
                self.server.leave.wait(0.05)
                self.wfile.write(b"1")
                self.wfile.flush()
        self.close_connection = True

    def at_broken(self, number: int, body: str) -> None:
        self.say("an internal error", 500)

    def at_late(self, number: int, body: str) -> None:
        self.say("an internal error", 500) if number == 20 else self.say("4.5")

    def at_flaky(self, number: int, body: str) -> None:
        self.say("again", 503) if number % 3 else self.say("4.5")

    def at_busy(self, number: int, body: str) -> None:
        self.say("later", 429, Retry_After="0") if number < 3 else self.say("4.5")

    def at_always_busy(self, number: int, body: str) -> None:
        self.say("later", 429)

    def at_words(self, number: int, body: str) -> None:
        self.say("<html>hello</html>")

    def at_nonsense(self, number: int, body: str) -> None:
        self.say('{"answer": {"x": null}}')

    def at_closed(self, number: int, body: str) -> None:
        self.close_connection = True

    def at_moved(self, number: int, body: str) -> None:
        self.say("", 302, Location="/number")

    def at_echo(self, number: int, body: str) -> None:
        """As services do that quote the key which they refuse; a message is cut somewhere else in it each time."""
        self.say("x" * (number % 32) + self.headers.get("Authorization", "") * 30, 400)

    def at_echo_json(self, number: int, body: str) -> None:
        self.say(json.dumps({"error": "x" * 100 + self.headers.get("Authorization", "")}))

    def at_echo_words(self, number: int, body: str) -> None:
        self.say("your key is " + self.headers.get("Authorization", ""))

    def at_echo_all(self, number: int, body: str) -> None:
        """As services do that log what they got, in whatever form."""
        said = " ".join([self.path, body, *(f"{name}={text}" for name, text in self.headers.items())])
        self.say(said[:500] if number % 2 else base64.b64encode(said.encode()).decode(), 400)

    def at_nowhere(self, number: int, body: str) -> None:
        self.say("nothing here", int(self.path.strip("/")) if self.path.strip("/").isdigit() else 404)


def draw(arms: NamedArms, n: int = 1, seed: int = 0, name: str = "x") -> NDArray[np.float64]:
    arm = arms[name]
    try:
        return np.asarray(arm.draw(n, np.random.default_rng(seed)))
    finally:
        arm.close()  # type: ignore[attr-defined]


def one(url: str, n: int = 1, **options: Any) -> NDArray[np.float64]:
    return draw(http_arms({"x": url}, **options), n)


def failure(url: str, n: int = 1, **options: Any) -> str:
    with pytest.raises(ArmError) as caught:
        one(url, n, **options)
    assert caught.value.arm == "x"
    return str(caught.value)
