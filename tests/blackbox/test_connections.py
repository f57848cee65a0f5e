"""Connections that ask nothing: they end, and all others are served meanwhile."""

from __future__ import annotations

import json
import resource
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

import kabc
from tests.blackbox.shell import PATIENCE, Served, serving

SILENT = 2_050
USUAL = 1_024  # files that a process may open on most machines, unless it asks for more


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "kabc.db"
    kabc.create_study("nightly", arms=["a", "b"], n_clusters=2, seed=1, storage=str(path))
    return path


@contextmanager
def files(most: int) -> Iterator[None]:
    """So many files may be open at a time, here and in programs that are started."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < most:
        pytest.skip(f"a process may open {hard} files here, and this needs {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


def opened(served: Served, source: str = "127.0.2.1") -> socket.socket:
    url = httpx.URL(served.address)
    return socket.create_connection((url.host, url.port), PATIENCE, (source, 0))


def head(served: Served, path: str = "/", method: str = "GET", *lines: str) -> bytes:
    host = httpx.URL(served.address).netloc.decode()
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines]).encode()


def ends(raw: socket.socket, drip: bytes = b"") -> bool:
    """Whether the server closes it, though a byte comes now and then."""
    until = time.monotonic() + PATIENCE
    raw.settimeout(0.5)
    while time.monotonic() < until:
        with suppress(TimeoutError):
            try:
                raw.send(drip)
                if not raw.recv(65_536):
                    return True
            except (ConnectionError, ssl.SSLError):
                return True
    return False


@pytest.mark.parametrize("hidden", [False, True], ids=["http", "https"])
def test_2000_silent_connections_leave_the_server_answering(
    store: Path, tmp_path: Path, hidden: bool, certificate: tuple[Path, Path]
) -> None:
    options = ("--certificate", certificate[0], "--key", certificate[1]) if hidden else ()
    with ExitStack() as stack:
        with files(USUAL):
            served = stack.enter_context(serving(tmp_path, *options, store=store))
        stack.enter_context(files(SILENT + 500))
        silent = [stack.enter_context(opened(served)) for _ in range(SILENT)]
        for source in ("127.0.0.1", "127.0.2.1"):  # another address, and the same one, as behind a proxy
            with served.client(served.admin, source) as client:
                assert [client.get("/api/studies").status_code for _ in range(3)] == [200] * 3
        # those that waited longest made room
        assert ends(silent[0])
        assert "Traceback" not in served.log and "out of system resource" not in served.log


def test_a_header_has_seconds_however_it_drips_and_those_who_are_in_stay(store: Path, tmp_path: Path) -> None:
    with serving(tmp_path, store=store) as served, ExitStack() as stack, ThreadPoolExecutor(10) as pool:
        client = stack.enter_context(served.client(served.admin))
        stream = stack.enter_context(client.stream("GET", "/api/studies/1/events"))
        lines = stream.iter_lines()
        assert event(lines)["state"] == "running"
        waits = pool.submit(waited, served)
        slow = pool.submit(told_slowly, served)

        good = f"Authorization: Bearer {served.admin}"
        raw = [stack.enter_context(opened(served)) for _ in range(6)]
        raw[1].sendall(head(served))  # and it goes on, letter by letter, as all that follow
        for one, asked in zip(raw[2:5], [("/",), ("/api/me",), ("/api/me", "GET", good)], strict=True):
            one.sendall(head(served, *asked) + b"\r\n\r\n")
            assert one.recv(65_536).startswith(b"HTTP/1.1 ")
            one.sendall(head(served))
        # nobody is let in here, and the body is never wanted
        raw[5].sendall(head(served, "/api/work/1/join", "POST", "Content-Length: 5000") + b"\r\n\r\n")
        found = list(pool.map(ends, raw, [b"", *[b"x"] * 5]))
        assert found == [True] * 6

        assert slow.result(PATIENCE).startswith(b"HTTP/1.1 200 ")
        with served.client(served.admin) as other:
            assert other.post("/api/studies/1/actions", json={"action": "pause"}).status_code == 200
        assert any(event(lines)["state"] == "paused" for _ in range(9))
        waits.result(PATIENCE)
        assert "Traceback" not in served.log


def waited(served: Served) -> None:
    """As a worker waits for changes, half a minute in one request, until the study is paused."""
    with served.client(served.admin) as client:
        asked = {"study": "nightly", "seconds": "30"}
        state, revision = "running", 0
        while state != "paused":
            answer = client.get("/api/work", params={**asked, "revision": str(revision)})
            assert answer.status_code == 200
            state, revision = answer.json()["state"], answer.json()["revision"]


def told_slowly(served: Served) -> bytes:
    """The answer to a body that takes longer than a header may."""
    body = b'{"worker": "slow", "facts": {}}'
    good = (f"Authorization: Bearer {served.admin}", "Content-Type: application/json", f"Content-Length: {len(body)}")
    with opened(served) as raw:
        raw.sendall(head(served, "/api/work/1/join", "POST", *good) + b"\r\n\r\n")
        for letter in body:
            time.sleep(0.4)
            raw.sendall(bytes([letter]))
        return raw.recv(65_536)


def event(lines: Iterator[str]) -> Any:
    """The next event of a stream."""
    return json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    try:
        subprocess.run(
            [*make, "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return files
