"""A real server with a rate limit: a bucket of tokens for each of its paths that begins with "limited"."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LimitedServer(ThreadingHTTPServer):
    """All paths answer with the same distribution. Paths that begin with "limited" refuse what is over the rate."""

    daemon_threads = True

    def __init__(self, rate: float, refusal: int, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rate, self.refusal, self.headers = rate, refusal, headers
        self.tokens, self.filled = 1.0, time.monotonic()
        self.n_refused = 0
        self.lock = threading.Lock()
        self.random = random.Random(1)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def takes(self) -> bool:
        with self.lock:
            now = time.monotonic()
            self.tokens = min(1.0, self.tokens + (now - self.filled) * self.rate)
            self.filled = now
            if self.tokens >= 1:
                self.tokens -= 1
                return True
            self.n_refused += 1
            return False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: LimitedServer

    def log_message(self, *_: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        refused = self.path.startswith("/limited") and not self.server.takes()
        with self.server.lock:
            number = self.server.random.random()
        if not refused:
            time.sleep(0.002 * number)  # latencies have a distribution too
        data = str(number).encode()
        self.send_response(self.server.refusal if refused else 200)
        for name, value in {**(self.server.headers if refused else {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, formatdate(time.time(), usegmt=True) if value == "now" else value)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def limited_server(rate: float, refusal: int = 429, **headers: str) -> Iterator[LimitedServer]:
    with LimitedServer(rate, refusal, {name.replace("_", "-"): text for name, text in headers.items()}) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(0.01))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
