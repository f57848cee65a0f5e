"""Connections: without a good token nobody holds one for long, nor many.

A visit waits until it is let in. It has ten seconds for the whole header of a request, with the handshake of TLS,
however the bytes drip in, and a minute for what is served without a token. If more than a thousand wait, the address
that has most of them loses the one that waits longest: so whoever comes and asks is served, from that address too, as
behind a proxy. Who has been let in may stay, as streams and long polls do, and has ten seconds again after an answer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from starlette.types import Scope

_HEADER_SECONDS = 10.0
_OUTSIDE_SECONDS = 60.0
_MOST_WAITING = 1_000
_FILES = 8_192  # that may be open: far more than there are connections

Ends = tuple[Any, Any]  # address and port of a connection at both ends


class Visit(socket.socket):
    """A connection. `ends` is how requests find it, `crowd` are all that wait and come from there."""

    def __init__(self, lobby: Lobby, ends: Ends, crowd: dict[Visit, None], fileno: int) -> None:
        super().__init__(fileno=fileno)
        self.lobby, self.ends, self.crowd = lobby, ends, crowd
        self.timer: asyncio.TimerHandle | None = None
        self.known = False  # whether it came with a good token
        self.n_requests = 0

    def give(self, seconds: float | None) -> None:
        """From now on it has so long; None: as long as it likes."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self.end)

    def let_in(self) -> None:
        """It came with a good token."""
        self.known = True
        self.crowd.pop(self, None)
        self.give(None)

    def end(self) -> None:
        """Read no more of it. If it was let in, what is on its way is still sent."""
        self.forget()
        with suppress(OSError):  # it has left
            self.shutdown(socket.SHUT_RD if self.known else socket.SHUT_RDWR)

    def close(self) -> None:
        """It has ended."""
        self.forget()
        super().close()

    def forget(self) -> None:
        """It counts no more."""
        self.give(None)
        self.crowd.pop(self, None)
        if self.lobby.visits.get(self.ends) is self:  # the next one may have the same port already
            del self.lobby.visits[self.ends]


class Lobby(socket.socket):
    """Listens, and knows all visits."""

    def __init__(self, family: int, kind: int) -> None:
        super().__init__(family, kind)
        self.visits: dict[Ends, Visit] = {}
        self._crowds: dict[bytes, dict[Visit, None]] = {}  # network -> visits that wait, those that came first first

    def accept(self) -> tuple[socket.socket, Any]:
        """The next visit. It waits."""
        taken, address = super().accept()
        self._crowds = {network: crowd for network, crowd in self._crowds.items() if crowd}
        crowd = self._crowds.setdefault(_network(address[0]), {})
        here = None
        with suppress(OSError):  # it has left
            here = taken.getsockname()[:2]
        visit = Visit(self, (address[:2], here), crowd, taken.detach())
        self.visits[visit.ends] = visit
        crowd[visit] = None
        visit.give(_HEADER_SECONDS)
        if sum(map(len, self._crowds.values())) > _MOST_WAITING:
            largest = max(self._crowds.values(), key=len)
            next(iter(largest)).end()
        return visit, address

    @contextmanager
    def serving(self, scope: Scope) -> Iterator[None]:
        """A request is served in here. `scope["let_in"]` is to be called when it is known who asks."""
        visit = self.visits.get((scope["client"], scope["server"]))
        scope["let_in"] = visit.let_in if visit is not None else lambda: None
        if visit is None:  # it has left
            yield
            return
        visit.n_requests = number = visit.n_requests + 1
        visit.give(_OUTSIDE_SECONDS)
        try:
            yield
        finally:
            if visit.n_requests == number and visit.fileno() >= 0:  # the next one may be there already
                visit.give(_HEADER_SECONDS)


def _network(host: str) -> bytes:
    """What one customer has: an address, or of IPv6 the first half of one."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).packed[:8]


def allow_files() -> None:
    """Let this process open as many files as there may be connections: often 1,024 are allowed until one asks."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
        if now != resource.RLIM_INFINITY and now < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
