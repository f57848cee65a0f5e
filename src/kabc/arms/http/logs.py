"""Keys in logs: httpx writes the address of every call to its log, and httpcore what it sends and gets."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from kabc.arms.http.secrets import Keys
from kabc.core.secrets import hide_as

_LOGGERS = (
    "httpx",
    "httpcore",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)


class _KeyFilter(logging.Filter):
    """Hides the keys of all calls that are under way. A call may log in another thread than its own."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.active: Counter[tuple[str, str]] = Counter()  # key, and what stands for it

    def filter(self, record: logging.LogRecord) -> bool:
        with self.lock:
            marks = dict(self.active.keys())
        if marks:
            record.msg, record.args = hide_as(record.getMessage(), marks), None
        return True


_filter = _KeyFilter()


@contextmanager
def without_keys(keys: Keys) -> Iterator[None]:
    """Within the block, these keys are in no log of the HTTP client."""
    if not keys.marks:
        yield
        return
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_filter)  # added once: a logger knows its filters
    with _filter.lock:
        _filter.active.update(keys.marks.items())
    try:
        yield
    finally:
        with _filter.lock:
            _filter.active.subtract(keys.marks.items())
            _filter.active += Counter()  # without those that are not needed any more
