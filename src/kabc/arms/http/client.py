"""One HTTP call: the connections of an arm, what comes back, and what goes wrong on the way."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kabc.arms.failures import DrawError
from kabc.core.errors import SettingsError

if TYPE_CHECKING:
    import ssl

    import httpx


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    text: str = field(repr=False)  # a server may quote a key in it
    seconds: float
    retry_after: str


class Client:
    """The connections of one arm, at most `connections` at once."""

    def __init__(self, timeout: float, connections: int) -> None:
        self._timeout, self._connections = timeout, connections
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def send(self, sent: dict[str, Any]) -> Reply:
        """Make one call. `sent` are the arguments of httpx."""
        httpx, client = _httpx(), self._opened()
        kind, start = "connection", time.perf_counter()
        try:
            # read in parts, because the timeout of httpx is for one part: a slow stream of parts would never time out
            with client.stream(**sent) as response:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.perf_counter() - start > self._timeout:
                        raise httpx.ReadTimeout("")
            seconds = time.perf_counter() - start
            text = b"".join(parts).decode(errors="replace")
            return Reply(response.status_code, text, seconds, response.headers.get("retry-after", ""))
        except httpx.TimeoutException:
            kind = "timeout"
            problem = f"gave no answer within timeout={self._timeout:g} seconds; raise timeout="
        except httpx.ConnectError:
            problem = f"cannot be reached at {_origin(sent['url'])}; check the address and that it is running"
        except httpx.HTTPError as error:
            # its message could hold a header, so only its name is shown
            problem = f"broke off the call ({type(error).__name__}); call it by hand, or see on_failure="
        # raised outside of the except blocks: the error of httpx may hold a key and must not be attached to this one
        raise DrawError(problem, kind)

    def _opened(self) -> httpx.Client:
        with self._lock:  # calls come from several threads
            if self._client is None:
                httpx, most = _httpx(), self._connections
                limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
                # redirects are not followed: a key in a header would go to another host
                self._client = httpx.Client(timeout=self._timeout, limits=limits, verify=_certificates())
            return self._client


def parsed_url(url: str) -> httpx.URL | None:
    """The parts of an address; None where it is malformed."""
    library = _httpx()
    try:
        parsed: httpx.URL = library.URL(url)
    except library.InvalidURL:
        return None
    return parsed


def _origin(url: str) -> str:
    """Scheme, host and port of an address, without the parts that could hold a key."""
    parsed = _httpx().URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise SettingsError("HTTP endpoints as arms need httpx; pip install 'kabc[data]'") from error
    return httpx


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """The certificates that httpx trusts. Read once: reading them takes longer than most calls."""
    context: ssl.SSLContext = _httpx().create_ssl_context()
    return context
