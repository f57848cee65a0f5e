"""`kabc serve`: listen, say where, and serve until told to end."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kabc.core.errors import SettingsError

if TYPE_CHECKING:
    import uvicorn

    from kabc.server.visits import Lobby

_NEEDS = ("starlette", "uvicorn", "sqlalchemy")
_GRACE_SECONDS = 2  # for requests that are being served when it ends
_MOST_CONNECTIONS = 4_000  # those that only wait are far fewer


@dataclass(frozen=True)
class Place:
    """Where to listen.

    Attributes
    ----------
    host, port : address; port 0 is a free one.
    public_url : the address that people use, where a proxy stands in front; empty: none does.
    certificate, key : files for TLS; None: without.
    token : whether a token is needed to read.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str = ""
    certificate: Path | None = None
    key: Path | None = None
    token: bool = True

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def secure(self) -> bool:
        """Whether browsers come by https."""
        return self.certificate is not None or urlsplit(self.public_url).scheme == "https"

    def check(self) -> None:
        """Refuse what is not safe, or cannot be."""
        if not self.token and not self.local:
            raise SettingsError(
                f"--no-token would let everybody who reaches {self.host} read all studies; leave it out, or listen on "
                "127.0.0.1"
            )
        if (self.certificate is None) != (self.key is None):
            raise SettingsError("TLS needs both files, --certificate and --key")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise SettingsError(f"there is no file {str(file)!r}; check --certificate and --key")
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/")):
            raise SettingsError(
                f"--public-url is an address such as https://studies.example.org, without a path, got "
                f"{self.public_url!r}"
            )
        if not self.local and not self.secure:
            logging.getLogger("kabc.server").warning(
                "without TLS everybody on the way can read tokens and samples; give --certificate and --key, or put "
                "a proxy with TLS in front and say --public-url https://..."
            )

    def hosts(self, port: int) -> set[str]:
        """The values of Host that are answered."""
        names = {"127.0.0.1", "localhost", "[::1]", _bracketed(self.host)} - {"0.0.0.0", "[::]"}
        usual = 443 if self.certificate is not None else 80
        found = {f"{name}:{port}" for name in names} | (names if port == usual else set())
        if self.public_url:
            parts = urlsplit(self.public_url)
            name = _bracketed(parts.hostname or "")
            usual = 443 if parts.scheme == "https" else 80
            found |= {f"{name}:{parts.port or usual}"} | ({name} if parts.port in (None, usual) else set())
        return found

    def address(self, port: int) -> str:
        """Where people open it."""
        if self.public_url:
            return self.public_url.rstrip("/")
        scheme = "http" if self.certificate is None else "https"
        anywhere = self.host in ("0.0.0.0", "::")
        return f"{scheme}://{'127.0.0.1' if anywhere else _bracketed(self.host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@dataclass(frozen=True)
class Listening:
    """What people are told when the server listens."""

    address: str
    token: str | None

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        return f"{self.address}/" if self.token is None else f"{self.address}/?token={self.token}"


def serve(storage: str, place: Place, say: Callable[[Listening], None]) -> None:
    """Serve the studies of a store until a signal ends it. `say` is told where, once it listens."""
    place.check()
    for module in _NEEDS:
        if find_spec(module) is None:
            raise SettingsError(f"kabc serve needs {module}; pip install 'kabc[server]'")
    from kabc.server.access import new_token
    from kabc.server.app import make_app
    from kabc.server.service import Service
    from kabc.server.visits import allow_files
    from kabc.storage.opening import open_storage

    allow_files()
    token = new_token() if place.token else None
    with closing(_bound(place)) as listener, closing(open_storage(storage, create=False)) as store:
        port = listener.getsockname()[1]
        cookie = f"{'__Host-' if place.secure else ''}kabc-{port}"
        service = Service(store, storage, token, cookie, secure=place.secure)
        app = make_app(service, place.hosts(port), listener)
        say(Listening(place.address(port), token))
        _server(app, place, service.hub.release).run(sockets=[listener])


def _bound(place: Place) -> Lobby:
    from kabc.server.visits import Lobby

    try:
        family, *_, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        listener = Lobby(family, socket.SOCK_STREAM)
    except OSError as error:
        raise SettingsError(f"--host {place.host!r} is not an address of this machine: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        where = f"{place.host}, port {place.port}"
        raise SettingsError(f"cannot listen on {where}: {error.strerror}; choose another --port") from None
    return listener


def _server(app: object, place: Place, release: Callable[[], None]) -> uvicorn.Server:
    import uvicorn

    class Ending(uvicorn.Server):
        """Lets those go who wait for events, before it waits for them."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            release()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        access_log=False,  # it would have tokens in addresses
        log_config=None,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        loop="asyncio",
        http="h11",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=2**16,
        ssl_certfile=None if place.certificate is None else str(place.certificate),
        ssl_keyfile=None if place.key is None else str(place.key),
    )
    return Ending(config)
