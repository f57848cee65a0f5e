"""Whatever a server does, a call ends at its timeout, in little memory, and its connection is closed."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from socket import socket

import pytest

from kabc.arms.http import bodies
from tests.arms.http.hostile import (
    ENDLESS,
    Behaviour,
    answering,
    endless,
    hostile,
    redirecting,
    self_signed,
    silent,
    slow_reader,
    zeros,
)
from tests.arms.http.server import failure, one

TIMEOUT = 0.5
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def timed_out(behaviour: Behaviour, *, tls: bool = False, body: str | None = None) -> None:
    with hostile(behaviour) as server:
        before = set(threading.enumerate())
        url = server.url.replace("http://", "https://") if tls else server.url
        said = failure(url, timeout=TIMEOUT, body=body)
        assert not server.gave_up.is_set()
        assert "timed out after 0.5 s without a whole answer; raise timeout=" in said
        assert server.hung_up.wait(10)
        left = set(threading.enumerate()) - before
        assert [one.name for one in left if "process_request_thread" not in one.name] == []  # those of the server


@pytest.mark.parametrize("way", ENDLESS)
def test_a_call_without_an_end_times_out_and_is_closed(way: str) -> None:
    timed_out(ENDLESS[way])


def test_a_tls_handshake_that_never_comes_times_out() -> None:
    timed_out(silent, tls=True)


def test_a_server_that_hardly_reads_times_out() -> None:
    timed_out(slow_reader, body="x" * 20_000_000)


def test_a_proxy_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile(ENDLESS["headers, byte by byte"]) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        assert "timed out after 0.5 s" in failure("http://example.invalid/", timeout=TIMEOUT)
        assert not server.gave_up.is_set()
        assert server.hung_up.wait(10)


def test_a_redirect_to_itself_is_not_followed() -> None:
    with hostile(redirecting) as server:
        assert "answered 302" in failure(server.url, timeout=TIMEOUT)


def test_headers_without_an_end_are_cut_off() -> None:
    with hostile(endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 60_000, 0)) as server:
        assert "broke off the call (RemoteProtocolError)" in failure(server.url, timeout=20)
        assert server.hung_up.wait(10)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip", "identity"])
def test_what_is_compressed_is_read(encoding: str) -> None:
    data = b"4.5" + b" " * 100_000
    packed = {"deflate": zlib.compress(data), "identity": data}.get(encoding, gzip.compress(data))
    with hostile(answering(packed, Content_Encoding=encoding)) as server:
        assert one(server.url).tolist() == [[4.5]]


def test_deflate_without_its_header_and_two_encodings_are_read() -> None:
    raw = zlib.compress(b"4.5", wbits=-15)
    twice = gzip.compress(zlib.compress(b"4.5"))
    for data, encoding in [(raw, "deflate"), (twice, "deflate, gzip")]:
        with hostile(answering(data, Content_Encoding=encoding)) as server:
            assert one(server.url).tolist() == [[4.5]]


@pytest.mark.parametrize(
    ("data", "encoding", "said"),
    [
        (b"no gzip", "gzip", "sent a body that cannot be decompressed"),
        (b"no deflate", "deflate", "sent a body that cannot be decompressed"),
        (b"x", "br", "answered in the encoding 'br', and kabc reads gzip, deflate"),
        (b"x", "gzip, gzip, gzip", "answered in the encoding 'gzip, gzip, gzip'"),
    ],
)
def test_what_cannot_be_decompressed_is_a_failure(data: bytes, encoding: str, said: str) -> None:
    with hostile(answering(data, Content_Encoding=encoding)) as server:
        assert said in failure(server.url)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "gzip, gzip"])
def test_a_body_is_bounded_after_decompression(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_TEXT", 2**21)
    data = zeros(3, encoding.split(",")[0])
    if encoding.endswith("gzip, gzip"):
        data = gzip.compress(data)
    with hostile(answering(data, Content_Encoding=encoding)) as server:
        assert "answered with more than 2 MB after decompression" in failure(server.url)


def test_a_body_of_just_the_allowed_size_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_TEXT", 2**21)
    text = b"4.5".ljust(2**21)
    for data, answered in [(text, True), (text + b" ", False)]:
        with hostile(answering(gzip.compress(data), Content_Encoding="gzip")) as server:
            if answered:
                assert one(server.url).tolist() == [[4.5]]
            else:
                assert "more than 2 MB after decompression" in failure(server.url)


@pytest.mark.parametrize("depth", [300, 900, 1_000, 100_000])  # some can be read, but not shown
@pytest.mark.parametrize("value", [None, "0.0"])
def test_deep_json_is_a_failure(depth: int, value: str | None) -> None:
    with hostile(answering(b"[" * depth + b"]" * depth)) as server:
        failure(server.url, value=value)
        assert one(server.url, value=value, on_failure="encode").tolist() == [[0.0, 1.0]]


def test_a_body_is_bounded_as_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SENT", 2**21)
    with hostile(endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 100_000, 0)) as server:
        assert "answered with more than 2 MB; ask for a shorter answer" in failure(server.url)
        assert server.hung_up.wait(10)


PEAK = """
import resource, sys
from tests.arms.http.server import failure, one
one(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(failure(sys.argv[2], timeout=60))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak memory is that of Linux")
def test_a_bomb_takes_little_memory() -> None:
    bomb = zeros(400)
    with hostile(answering(b"4.5")) as plain, hostile(answering(bomb, Content_Encoding="gzip")) as server:
        words = [sys.executable, "-c", PEAK, plain.url, server.url]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=ROOT, check=True)
    said, peak = done.stdout.strip().rsplit("\n", 1)
    assert "more than 16 MB after decompression" in said
    assert float(peak) < 128  # MB


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_a_certificate_that_is_not_trusted_is_said_as_such(tmp_path: Path) -> None:
    with self_signed(tmp_path) as url:
        for policy in ("raise", "encode"):
            said = failure(url, on_failure=policy, timeout=20)
            assert "its TLS certificate is not trusted (self-signed certificate); put the certificate" in said
            assert "SSL_CERT_FILE" in said


def test_words_in_answer_to_a_handshake_are_no_tls() -> None:
    def behave(_: object, peer: socket) -> None:
        peer.recv(1000)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with hostile(behave) as server:
        said = failure(server.url.replace("http://", "https://"), timeout=20)
    assert "does not speak TLS; write http:// instead of https://" in said
