"""Calls that end at their timeout, whatever the server does.

The timeout of httpx is for one read. A server that sends one byte a second never reaches it. So the connections of
httpx are wrapped: each step of a call gets the time that is left until the end of the whole call.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import httpcore
    import httpx

_PIECE = 2**14  # bytes that are sent at a time: httpcore would begin a new timeout after each part that was sent


class Deadline(threading.local):
    """When the call of the current thread must have ended. A call makes all its steps in one thread."""

    at = math.inf  # time.monotonic

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """The call in the block ends within these seconds."""
        self.at = time.monotonic() + seconds
        try:
            yield
        finally:
            self.at = math.inf

    def left(self, timeout: float | None, late: type[Exception]) -> float | None:
        """The seconds that a step may take. Nothing left raises `late`, even if there is something to read."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise late
        step = math.inf if timeout is None else timeout
        return None if math.isinf(min(step, left)) else min(step, left)


def bounded(client: httpx.Client, deadline: Deadline) -> httpx.Client:
    """The client, with connections that keep the deadline: direct ones, and those through proxies."""
    # httpx has no door for a network backend, so the one of its connection pools is replaced
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            pool: Any = transport._pool  # type: ignore[attr-defined]
            pool._network_backend = Backend(pool._network_backend, deadline)
    return client


class Backend:
    """Opens connections that keep the deadline. A network backend of httpcore."""

    def __init__(self, inner: httpcore.NetworkBackend, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> Stream:
        """A connection to the first address that answers. The addresses share the time that is left."""
        import httpcore

        problem: Exception = httpcore.ConnectError("no address")
        addresses = _addresses(host, port)
        for number, address in enumerate(addresses):
            left = self._deadline.left(timeout, httpcore.ConnectTimeout)
            share = None if left is None else left / (len(addresses) - number)
            try:
                return Stream(self._inner.connect_tcp(address, port, timeout=share, **options), self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> Stream:
        """A connection to a socket of this machine."""
        import httpcore

        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return Stream(self._inner.connect_unix_socket(path, timeout=left, **options), self._deadline)

    def sleep(self, seconds: float) -> None:
        """Wait before a new try to connect."""
        self._inner.sleep(seconds)


def _addresses(host: str, port: int) -> list[str]:
    """All addresses of a host. How long that takes is up to the resolver of the system."""
    import httpcore

    if "%" in host:  # its scope would be lost
        return [host]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(address[0]) for *_, address in found]


class Stream:
    """A connection whose steps end at the deadline. A network stream of httpcore."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has arrived."""
        import httpcore

        return self._inner.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        import httpcore

        for start in range(0, len(buffer), _PIECE):
            left = self._deadline.left(timeout, httpcore.WriteTimeout)
            self._inner.write(buffer[start : start + _PIECE], left)

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        """The same connection, encrypted."""
        import httpcore

        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about a connection."""
        return self._inner.get_extra_info(info)
