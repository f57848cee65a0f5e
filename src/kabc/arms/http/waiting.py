"""Waiting for a host that says "too many requests". This is never data: no failed sample, and no part of a latency.

All arms on one host wait together, with exponential backoff and full jitter, or for as long as the host asks for. The
jitter has a generator of its own: the samples of a seed do not depend on it.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from kabc.arms.failures import wait_before
from kabc.core.errors import ArmError
from kabc.core.words import counted

MAX_WAIT = 300.0  # seconds; a limit by the minute is over by then, one by the day is not worth waiting for

_TOO_MANY, _UNAVAILABLE = 429, 503
_PORTS = {"http": ":80", "https": ":443"}
_HIGHEST = 8  # from there on pauses do not grow
_LOOK = 0.02  # seconds between two looks at whether the run was stopped
_LONG = 2.0  # seconds of waiting that people are told of


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, without a user and its password."""
    parts = urlsplit(url.lower())
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host.removesuffix(_PORTS.get(parts.scheme, ''))}"


def asks_to_wait(status: int, retry_after: str) -> bool:
    """Whether an answer means: not now. Without a time, 503 is a failure like others."""
    return status == _TOO_MANY or (status == _UNAVAILABLE and asked_seconds(retry_after) is not None)


def asked_seconds(retry_after: str) -> float | None:
    """What a Retry-After header says, in seconds or as a date. None: nothing that can be understood."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


class Host:
    """One host, and how long calls to it wait after it has refused one.

    While it refuses calls, they are made one at a time. Each answer takes one step of the backoff back. `max_wait` are
    the seconds that an arm may be refused without an answer in between.
    """

    def __init__(self, name: str, max_wait: float = MAX_WAIT, jitter: random.Random | None = None) -> None:
        self.name, self._max_wait = name, max_wait
        self._jitter = jitter or random.Random()
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._step = self._wave = 0
        self._until = 0.0
        self._since: dict[str, float] = {}  # arm -> when it was refused first, without an answer after that
        self.n_refused = 0

    @property
    def waiting(self) -> str:
        """What people are told while calls wait for long; empty if they do not."""
        left = self._until - time.monotonic()
        with self._lock:
            first = min(self._since.values(), default=math.inf)
        if left <= 0 or self._until - first < _LONG:
            return ""
        return f"waiting for {self.name}: too many requests, {math.ceil(left)} s"

    @property
    def paused(self) -> bool:
        """Whether calls wait now."""
        return self._until > time.monotonic()

    @contextmanager
    def turn(self, stop: threading.Event) -> Iterator[int]:
        """Wait until a call may be made, or until `stop` is set. Gives the number that `refused` asks for."""
        alone = self._step > 0 and self._took_turn(stop)
        try:
            while (left := self._until - time.monotonic()) > 0 and not stop.wait(left):
                pass  # another call may have been refused meanwhile
            yield self._wave
        finally:
            if alone:
                self._turn.release()

    def _took_turn(self, stop: threading.Event) -> bool:
        while not stop.is_set():
            if self._turn.acquire(timeout=_LOOK):
                return True
        return False

    def answered(self, arm: str) -> None:
        """The host took a call of this arm."""
        with self._lock:
            self._step = max(self._step - 1, 0)
            self._since.pop(arm, None)

    def refused(self, arm: str, wave: int, status: int, retry_after: str) -> None:
        """The host did not take a call of this arm: all calls pause. An error if that would last too long."""
        now, asked = time.monotonic(), asked_seconds(retry_after) or 0.0
        with self._lock:
            self.n_refused += 1
            if wave == self._wave:  # calls that were under way together are refused together: that is one step
                self._wave += 1
                self._step = min(self._step + 1, _HIGHEST)
            since = self._since.setdefault(arm, now)
            left = since + self._max_wait - now
            if left <= 0 or asked > left:
                raise ArmError(self._gave_up(status, now - since, asked))
            jitter = self._jitter.uniform(0.0, wait_before(self._step - 1))
            self._until = max(self._until, now + min(asked + jitter, left))

    def _gave_up(self, status: int, waited: float, asked: float) -> str:
        answer = f"{status} (too many requests)" if status == _TOO_MANY else f"{status} (not available)"
        said = f"{self.name} has answered nothing but {answer} for {_seconds(waited)}"
        if waited + asked > self._max_wait and asked:
            said = f"{self.name} answered {answer} and asks to wait {_seconds(asked)}"
        allowed = f"max_wait={self._max_wait:g} allows no more"
        return f"{said}; {allowed}; lower rate= or concurrency=, or raise max_wait="


def _seconds(seconds: float) -> str:
    return counted(math.ceil(seconds), "second")


def hosts_of(urls: Iterable[str], max_wait: float) -> dict[str, Host]:
    """One host for each origin of these addresses."""
    return {origin: Host(origin, max_wait) for origin in map(origin_of, urls)}
