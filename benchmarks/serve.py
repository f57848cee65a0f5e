"""What `kabc serve` bears: open event streams, and workers that tell.

    python -m benchmarks.serve [--seconds 20] [--workers 50] [--rate 1000] [--streams 200] [--memory] [--json]

A real server on this machine, in a process of its own, with one study of which all draws are open. Workers lease and
tell over HTTP, each its share of the rate, in exchanges a fifth of a second apart, as `kabc worker` does. Streams
listen meanwhile; one more takes nothing. Counted is what the store has in the end: a tell that was acknowledged and is
not there is lost. `--memory`: the store is in /dev/shm, so that a disk that others use is not measured.

"late" is how far behind the plan the last exchange was: near 0 if the server keeps up with the rate. "processor ms" is
what the server computed for one draw, in the first and in the last quarter of the time: equal if a tell costs the same
however long the round is. On a busy machine these say more than the clock; "machine load" is how many processes wanted
a core, at the start and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kabc.storage.contract import NewTicket, Storage
from kabc.storage.opening import open_storage
from kabc.storage.rows import encode

EXCHANGE_SECONDS = 0.2
ARMS = 50
ROWS = base64.b64encode(encode(np.array([0.5]))).decode()
KABC = (sys.executable, "-c", "import sys; from kabc.cli import main; sys.exit(main())")


@dataclass
class Seen:
    """What the load saw."""

    told: set[int] = field(default_factory=set)  # tickets that were acknowledged
    seconds: list[float] = field(default_factory=list)  # of each exchange
    late: float = 0.0
    refused: int = 0
    events: list[int] = field(default_factory=list)  # of each stream
    lag: list[float] = field(default_factory=list)  # between two events of a stream, while draws were told
    memory: list[float] = field(default_factory=list)  # MB of the server, now and then
    computed: list[tuple[float, int]] = field(default_factory=list)  # its processor seconds, and draws told until then


class Line:
    """One connection to the server."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    async def open(self, taker: socket.socket | None = None, **options: Any) -> None:
        taker = socket.socket() if taker is None else taker
        taker.setblocking(False)
        await asyncio.get_running_loop().sock_connect(taker, ("127.0.0.1", self._port))
        self.reader, self.writer = await asyncio.open_connection(sock=taker, **options)

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    def send(self, method: str, path: str, body: bytes = b"") -> None:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {self._token}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.writer.write(f"{head}\r\n".encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        parts = [line.lower().partition(": ") for line in lines[1:] if line]
        headers = {name: value for name, _, value in parts}
        return int(lines[0].split()[1]), headers

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        self.send("POST", path, json.dumps(body).encode())
        code, headers = await self.head()
        return code, json.loads(await self.reader.readexactly(int(headers["content-length"])))


async def work(line: Line, study: int, name: str, rate: float, until: float, seen: Seen) -> None:
    """A worker that tells at this rate."""
    await line.open()
    at_once = max(1, round(rate * EXCHANGE_SECONDS))
    pause, planned = at_once / rate, time.monotonic()
    finished: list[dict[str, Any]] = []
    while True:
        over = time.monotonic() >= until
        asked = {"worker": name, "finished": finished, "want": 0 if over else at_once}
        began = time.monotonic()
        code, answer = await line.post(f"/api/work/{study}/exchange", asked)
        seen.seconds.append(time.monotonic() - began)
        if code != 200:
            seen.refused += 1
            return
        done = zip(finished, answer["outcomes"], strict=True)
        seen.told |= {one["ticket"] for one, outcome in done if outcome == "done"}
        if over:
            seen.late = max(seen.late, time.monotonic() - until)
            return
        finished = [
            {"ticket": one["id"], "lease": one["lease"], "kind": "draw", "rows": ROWS, "started": 0.0, "ended": 0.0}
            for one in answer["leased"]
        ]
        planned += pause
        await asyncio.sleep(max(0.0, planned - time.monotonic()))


async def listen(line: Line, study: int, number: int, seen: Seen) -> None:
    """A stream, counted event by event."""
    await line.open()
    line.send("GET", f"/api/studies/{study}/events")
    await line.head()
    last = time.monotonic()
    while text := await line.reader.readline():
        if text.startswith(b"id: "):
            seen.events[number] += 1
            seen.lag.append(time.monotonic() - last)
            last = time.monotonic()


async def deaf(line: Line, study: int) -> None:
    """A stream that is opened, and takes nothing: there is no room for what it is sent either."""
    taker = socket.socket()
    taker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    await line.open(limit=1, taker=taker)
    line.send("GET", f"/api/studies/{study}/events")
    line.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(3600)


async def load(port: int, token: str, server: int, study: int, given: argparse.Namespace) -> Seen:
    """Streams first, then workers."""
    seen = Seen(events=[0] * given.streams)
    lines = [Line(port, token) for _ in range(given.streams + 1 + given.workers)]
    *hearing, silent = lines[: given.streams + 1]
    listening = [asyncio.create_task(listen(line, study, i, seen)) for i, line in enumerate(hearing)]
    listening.append(asyncio.create_task(deaf(silent, study)))
    while not all(seen.events):  # each has heard how things are
        await asyncio.sleep(0.05)
    seen.lag.clear()
    watching = asyncio.create_task(watch(server, seen))
    until = time.monotonic() + given.seconds
    each = given.rate / given.workers
    await asyncio.gather(
        *(work(line, study, f"worker-{i}", each, until, seen) for i, line in enumerate(lines[given.streams + 1 :]))
    )
    for task in [*listening, watching]:
        task.cancel()
    await asyncio.gather(*listening, watching, return_exceptions=True)
    await asyncio.gather(*(line.close() for line in lines))
    return seen


async def watch(server: int, seen: Seen) -> None:
    """What the server takes, every half second."""
    with suppress(OSError):
        while True:
            pages = int(Path(f"/proc/{server}/statm").read_text().split()[1])
            seen.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
            ticks = sum(map(int, Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[11:13]))
            seen.computed.append((ticks / os.sysconf("SC_CLK_TCK"), len(seen.told)))
            await asyncio.sleep(0.5)


@contextmanager
def served(place: str) -> Iterator[tuple[int, str, int]]:
    """Port, token and process of a server."""
    command = [*KABC, "serve", "--storage", place, "--port", "0", "--json", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        said = json.loads("".join(lines))
        yield int(said["address"].rpartition(":")[2]), said["token"], process.pid
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def study_of(store: Storage, n_draws: int) -> int:
    """A study with one round of so many draws."""
    study = store.create_study("load", {}, {}).id
    store.open_round(study, 1, [NewTicket(i % ARMS, i // ARMS, i // ARMS, 1) for i in range(n_draws)])
    return study


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """One load, in figures."""
    memory = "/dev/shm" if given.memory else None
    with tempfile.TemporaryDirectory(prefix="kabc-load-", dir=memory) as folder:
        place = str(Path(folder) / "kabc.db")
        store = open_storage(place)
        study = study_of(store, int(2 * given.rate * given.seconds) + 10 * given.workers)
        load_before = os.getloadavg()[0]
        with served(place) as (port, token, server):
            began = time.monotonic()
            seen = asyncio.run(load(port, token, server, study, given))
            seconds = time.monotonic() - began
        kept = {ticket.id for ticket, _ in store.draws(study, 0, 1)}
        store.close()
    return {
        "workers": given.workers,
        "streams": given.streams,
        "asked": given.rate,
        "told_per_second": round(len(seen.told) / given.seconds),
        "told": len(seen.told),
        "lost": len(seen.told - kept),
        "not_acknowledged": len(kept - seen.told),
        "refused": seen.refused,
        "late_seconds": round(seen.late, 2),
        "exchange_ms_median": round(1e3 * float(np.median(seen.seconds)), 1),
        "exchange_ms_p99": round(1e3 * float(np.quantile(seen.seconds, 0.99)), 1),
        "events_of_a_stream_least": min(seen.events),
        "events_of_a_stream_most": max(seen.events),
        "between_events_ms_median": round(1e3 * float(np.median(seen.lag)), 0),
        "between_events_ms_p99": round(1e3 * float(np.quantile(seen.lag, 0.99)), 0),
        "processor_ms_of_a_draw_at_first": per_draw(seen.computed[: len(seen.computed) // 4]),
        "processor_ms_of_a_draw_at_last": per_draw(seen.computed[-(len(seen.computed) // 4) :]),
        "streams_that_take_nothing": 1,
        "machine_load_first": round(load_before, 1),
        "machine_load_last": round(os.getloadavg()[0], 1),
        "server_mb_first": round(seen.memory[0]) if seen.memory else None,
        "server_mb_most": round(max(seen.memory)) if seen.memory else None,
        "seconds": round(seconds, 1),
    }


def per_draw(computed: list[tuple[float, int]]) -> float | None:
    """Milliseconds of the processor for one draw."""
    if len(computed) < 2 or computed[-1][1] == computed[0][1]:
        return None
    return round(1e3 * (computed[-1][0] - computed[0][0]) / (computed[-1][1] - computed[0][1]), 3)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    found = measured(given)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<{width}}  {value:>12,}" if value is not None else f"{name:<{width}}")


if __name__ == "__main__":
    main()
