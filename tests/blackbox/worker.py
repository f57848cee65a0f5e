"""A worker that speaks HTTP by itself, and a server for it."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import kabc
from tests.blackbox.shell import Served, serving


def packed(rows: Any) -> str:
    """Samples as the server takes them: a header, and the bytes of the columns, the first bytes first."""
    rows = np.asarray(rows)
    header: dict[str, Any] = {"t": rows.dtype.str, "s": rows.shape, "z": 0}
    table = rows.reshape(len(rows), -1)
    if rows.dtype.kind == "U":
        letters = np.ascontiguousarray(table).view("<u4").reshape(len(table), -1)
        columns, size = np.ascontiguousarray(letters.T), 4
    else:
        columns, size = np.ascontiguousarray(table.T), rows.dtype.itemsize
    body = np.moveaxis(columns.view(np.uint8).reshape(-1, len(table), size), -1, -2).tobytes()
    text = json.dumps(header).encode()
    return base64.b64encode(b"KR1" + struct.pack("<I", len(text)) + text + body).decode()


class Caller:
    """A worker that speaks HTTP."""

    def __init__(self, client: httpx.Client, study: str, name: str) -> None:
        self.client, self.name, self.title = client, name, study
        self.id = self.look()["id"]
        self.post("join", facts={"arms": ["a", "b"]})

    def look(self) -> Any:
        return self.client.get("/api/work", params={"study": self.title, "unfinished": True}).json()

    def post(self, what: str, **body: Any) -> httpx.Response:
        return self.client.post(f"/api/work/{self.id}/{what}", json={"worker": self.name, **body})

    def lease(self, want: int = 1) -> list[Any]:
        found: list[Any] = self.post("exchange", want=want).json()["leased"]
        return found

    def tell(self, ticket: Any, rows: Any, started: float = 1e9) -> httpx.Response:
        draw = {"ticket": ticket["id"], "lease": ticket["lease"], "rows": packed(rows)}
        return self.post("exchange", finished=[draw | {"kind": "draw", "started": started, "ended": 1e9}])


@contextmanager
def served_store(folder: Path) -> Iterator[Served]:
    """A server on a new store."""
    kabc.create_study("first", ["a", "b"], 2, seed=0, storage=folder / "kabc.db")
    with serving(folder) as served:
        yield served
