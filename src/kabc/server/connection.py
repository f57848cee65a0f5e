"""JSON over HTTP to one server, with a token. Connections are kept, one for each thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from typing import TypeVar
from urllib.parse import urlsplit

from kabc.core.errors import SettingsError
from kabc.core.secrets import hide, hide_url
from kabc.core.words import shown
from kabc.server.access import token_of
from kabc.server.models.base import LARGE_BODY, Body, Model
from kabc.storage.errors import NoStudyError, StorageError, StoreAwayError

_SECONDS = 60.0  # until a server that does not answer is given up
_IDLE = 30.0  # seconds after which a connection is not used again: the server may have closed it
_MOST = 2**26  # bytes of an answer
_MAY_PASS = (408, 429, 500, 502, 503, 504)

Form = TypeVar("Form", bound=Model)


class Connection:
    """A server, by its URL."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.path.strip("/"):
            raise SettingsError(f"--server is an address such as https://studies.example.org, got {hide_url(url)!r}")
        self.url = f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port else "")
        self._host, self._port = parts.hostname, port
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._token = token_of(token, "the token for the server (KABC_TOKEN)")  # errors of HTTP quote what is no token
        self._here = threading.local()
        self._open: set[http.client.HTTPConnection] = set()  # of all threads

    def get(self, path: str, form: type[Form]) -> Form:
        """What the server says."""
        return self._form(self._asked("GET", path, None), form)

    def post(self, path: str, body: Body, form: type[Form]) -> Form:
        """What the server says to this."""
        sent = body.model_dump_json().encode()
        if len(sent) > LARGE_BODY:
            raise StorageError(
                f"one request has {len(sent):,} bytes, and the server takes {LARGE_BODY:,}; let rounds be smaller"
            )
        return self._form(self._asked("POST", path, sent), form)

    def close(self) -> None:
        """End all connections."""
        for opened in list(self._open):
            opened.close()

    def _drop(self) -> None:
        """End the connection of this thread."""
        opened = getattr(self._here, "connection", None)
        if opened is not None:
            opened.close()
            self._open.discard(opened)
            self._here.connection = None

    def _asked(self, method: str, path: str, body: bytes | None) -> bytes:
        opened = self._opened()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            opened.request(method, path, body, headers)
            answer = opened.getresponse()
            found = answer.read(_MOST + 1)
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise StoreAwayError(f"{self.url} does not answer ({why}); check the address, and that it runs") from None
        self._here.used = time.monotonic()
        if len(found) > _MOST:
            self._drop()
            raise StorageError(f"{self.url} answers with more than {_MOST:,} bytes; is it kabc serve?")
        if answer.status != 200:
            raise self._refusal(answer.status, found)
        return found

    def _opened(self) -> http.client.HTTPConnection:
        if time.monotonic() - getattr(self._here, "used", 0.0) > _IDLE:
            self._drop()
        opened: http.client.HTTPConnection | None = getattr(self._here, "connection", None)
        if opened is None:
            if self._tls is None:
                opened = http.client.HTTPConnection(self._host, self._port, timeout=_SECONDS)
            else:
                opened = http.client.HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=self._tls)
            self._here.connection, self._here.used = opened, time.monotonic()
            self._open.add(opened)
        return opened

    def _refusal(self, code: int, found: bytes) -> StorageError:
        try:
            said = str(json.loads(found)["error"])
        except (ValueError, KeyError, TypeError):
            said = "no reason is given; is it kabc serve?"
        said = hide(shown(said)[:1_000], [self._token])
        if code in _MAY_PASS:
            return StoreAwayError(f"{self.url} cannot serve this now ({code}): {said}")
        kind = NoStudyError if code == 404 else StorageError
        return kind(f"{self.url} refuses this ({code}): {said}")

    def _form(self, found: bytes, form: type[Form]) -> Form:
        try:
            return form.model_validate_json(found)
        except ValueError:
            raise StorageError(f"{self.url} answers in another form than this version of kabc reads") from None
