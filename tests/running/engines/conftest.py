"""A real cluster of Dask, made once for the tests of this folder: even if idle, it takes a fifth of a processor."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from kabc.strategies.anytime import learning, teaching


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    distributed: Any = pytest.importorskip("distributed")
    dask: Any = pytest.importorskip("dask")
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "memory_limit": 0}
    with dask.config.set({"distributed.comm.timeouts.connect": "200s"}):  # a busy machine starts workers slowly
        found = distributed.LocalCluster(n_workers=4, silence_logs=logging.CRITICAL, **settings)
        yield found
        with suppress(KeyError):  # Dask stumbles over workers that died a moment ago
            found.close()


@pytest.fixture(scope="package")
def connected(cluster: Any) -> Iterator[Any]:
    distributed: Any = pytest.importorskip("distributed")
    with distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def client(connected: Any) -> Any:
    connected.wait_for_workers(2, timeout=200)  # those that died are on their way back
    return connected


@pytest.fixture(params=[2000, 10], ids=["few arms", "many arms"])
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_IN_PART", 12)
    monkeypatch.setattr(teaching, "AT_ONCE", 12)
    monkeypatch.setattr(learning, "_OVER_CORE", 1)
    monkeypatch.setattr(learning, "_MANY", request.param)
