"""One HTTP call: the connections of an arm, what comes back, and what goes wrong on the way."""

from __future__ import annotations

import ssl
import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kabc.arms.failures import DrawError
from kabc.arms.http.bodies import ENCODINGS, text_of
from kabc.arms.http.deadlines import Deadline, bounded
from kabc.core.errors import ArmError, SettingsError

if TYPE_CHECKING:
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
        self._deadline = Deadline()

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def send(self, sent: dict[str, Any]) -> Reply:
        """Make one call. `sent` are the arguments of httpx."""
        httpx, client = _httpx(), self._opened()
        kind, refused = "connection", None
        start = time.perf_counter()
        try:
            with self._deadline.within(self._timeout), client.stream(**sent) as response:
                text = text_of(response)
            seconds = time.perf_counter() - start
            return Reply(response.status_code, text, seconds, response.headers.get("retry-after", ""))
        except httpx.TimeoutException:
            kind, problem = "timeout", f"timed out after {self._timeout:g} s without a whole answer; raise timeout="
        except httpx.ConnectError as error:
            refused = _tls_problem(error)
            problem = f"cannot be reached at {_origin(sent['url'])}; check the address and that it is running"
        except httpx.HTTPError as error:
            # its message could hold a header, so only its name is shown
            problem = f"broke off the call ({type(error).__name__}); call it by hand, or see on_failure="
        # raised outside of the except blocks: the error of httpx may hold a key and must not be attached to this one
        if refused is not None:  # the same for every sample, so no policy applies
            raise ArmError(refused)
        raise DrawError(problem, kind)

    def _opened(self) -> httpx.Client:
        with self._lock:  # calls come from several threads
            if self._client is None:
                httpx, most = _httpx(), self._connections
                limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
                # redirects are not followed: a key in a header would go to another host
                headers = {"Accept-Encoding": ENCODINGS}
                client = httpx.Client(timeout=self._timeout, limits=limits, headers=headers, verify=_certificates())
                self._client = bounded(client, self._deadline)
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


def _tls_problem(error: BaseException | None) -> str | None:
    """What is wrong with the encryption, if that is why there is no connection."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"its TLS certificate is not trusted ({error.verify_message}); put the certificate of its authority "
                "into a file and name it in the variable SSL_CERT_FILE"
            )
        if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            return "does not speak TLS; write http:// instead of https://"
        error = error.__cause__ or error.__context__
    return None


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
