"""A running server for the tests of this folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kabc.arms import failures
from tests.arms.http.server import Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(failures, "FIRST_WAIT", 0.001)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = threading.Thread(target=lambda: running.serve_forever(0.01))
        thread.start()
        try:
            yield running
        finally:
            running.leave.set()
            running.shutdown()
            thread.join()
