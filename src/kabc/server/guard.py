"""What holds for every request, whatever it asks for: the name it was sent to, and headers of the answer."""

from __future__ import annotations

import logging
from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kabc.server.visits import Lobby

log = logging.getLogger("kabc.server")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests for other hosts, so that no foreign name can be made to point here; adds headers to all answers.

    No header allows another origin to read anything: there is no CORS.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], lobby: Lobby, *, secure: bool) -> None:
        self._app, self._hosts, self._lobby = app, frozenset(one.lower() for one in hosts), lobby
        self._headers = _HEADERS | ({"strict-transport-security": "max-age=31536000"} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._lobby.serving(scope):
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1 or given[0].decode("latin-1").lower() not in self._hosts:
            log.warning("refused, 421: a request for another host, from %s", address_of(scope))
            problem = {"error": "this server does not answer to that name; see --public-url of kabc serve"}
            await JSONResponse(problem, 421)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def address_of(scope: Scope) -> str:
    """Where a request comes from. Headers that a proxy may add are not believed: anybody can."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
