"""Servers that do not play by the rules: each answers in its own wrong way until the other side hangs up."""

from __future__ import annotations

import gzip
import socket
import socketserver
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST = 20.0  # seconds after which a server of these gives up
PAUSE = 0.02  # seconds between two small parts

Behaviour = Callable[["Hostile", socket.socket], None]


class Hostile(socketserver.ThreadingTCPServer):
    """Answers every connection with one behaviour, and notes which side ended it first."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.leave, self.hung_up, self.gave_up = threading.Event(), threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(socketserver.BaseRequestHandler):
    server: Hostile

    def handle(self) -> None:
        try:
            self.server.behaviour(self.server, self.request)
            self.request.settimeout(LONGEST)
            if not self.request.recv(1):
                self.server.hung_up.set()
        except TimeoutError:
            self.server.gave_up.set()
        except OSError:  # a broken pipe: the other side is gone
            self.server.hung_up.set()


@contextmanager
def hostile(behaviour: Behaviour) -> Iterator[Hostile]:
    """A running server."""
    with Hostile(behaviour) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(0.01))
        thread.start()
        try:
            yield server
        finally:
            server.leave.set()
            server.shutdown()
            thread.join()


def endless(head: bytes, part: bytes, pause: float = PAUSE) -> Behaviour:
    """A head, and then the same part again and again."""

    def behave(server: Hostile, peer: socket.socket) -> None:
        _read_request(peer)
        peer.sendall(head)
        end = time.monotonic() + LONGEST
        while not server.leave.wait(pause):
            if time.monotonic() > end:
                raise TimeoutError
            peer.sendall(part)

    return behave


def answering(data: bytes, **headers: str) -> Behaviour:
    """A whole answer."""

    def behave(server: Hostile, peer: socket.socket) -> None:
        _read_request(peer)
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n{lines}\r\n".encode())
        peer.sendall(data)

    return behave


def _read_request(peer: socket.socket) -> None:
    peer.settimeout(LONGEST)
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += peer.recv(65536)


def silent(server: Hostile, peer: socket.socket) -> None:
    """Reads and says nothing: no TLS handshake either."""
    peer.settimeout(LONGEST)
    while peer.recv(65536):
        pass
    server.hung_up.set()


def slow_reader(server: Hostile, peer: socket.socket) -> None:
    """Reads a request in small parts."""
    end = time.monotonic() + LONGEST / 10
    while time.monotonic() < end and not server.leave.wait(PAUSE):
        peer.recv(1000)
    silent(server, peer)


def redirecting(server: Hostile, peer: socket.socket) -> None:
    """Points to itself."""
    _read_request(peer)
    peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")


def zeros(megabytes: int, encoding: str = "gzip") -> bytes:
    """A compressed bomb, made in little memory."""
    packer = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    parts = [packer.compress(bytes(2**20)) for _ in range(megabytes)]
    return b"".join(parts) + packer.flush()


def empty_gzip_head() -> bytes:
    """A chunked gzip body that has begun and has no data yet."""
    begun = gzip.compress(b"")[:10]
    return _CHUNKED + b"Content-Encoding: gzip\r\n\r\n" + chunk(begun)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"  # a stored block of deflate without data

ENDLESS: dict[str, Behaviour] = {
    "headers, byte by byte": endless(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "100 Continue, slowly": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 Continue, fast": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0),
    "a body, byte by byte": endless(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"1"),
    "a chunk extension": endless(_CHUNKED + b"\r\n1;", b"x"),
    "chunks of one byte with extensions": endless(_CHUNKED + b"\r\n", b"1;name=value\r\n1\r\n"),
    "trailers": endless(_CHUNKED + b"\r\n0\r\nX: ", b"x"),
    "empty gzip blocks, slowly": endless(empty_gzip_head(), chunk(_EMPTY_BLOCK)),
    "no word, no handshake": silent,
}


@contextmanager
def self_signed(folder: Path) -> Iterator[str]:
    """The address of a TLS server whose certificate nobody has signed."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def behave(server: Hostile, peer: socket.socket) -> None:
        with suppress(ssl.SSLError):
            context.wrap_socket(peer, server_side=True)

    with hostile(behave) as server:
        yield server.url.replace("http://", "https://")
