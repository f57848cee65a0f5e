"""A real server in a process of its own, and those who call it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from kabc.server.access import digest_of, new_token
from kabc.storage.contract import Scope, Storage
from kabc.storage.opening import open_storage
from tests.processes import running

KABC = (sys.executable, "-c", "import sys; from kabc.cli import main; sys.exit(main())")
PATIENCE = 60.0  # seconds for an answer, on a busy machine


class Served:
    """A server with its store, and what it has logged."""

    def __init__(self, place: str, process: subprocess.Popen[str], log: Path) -> None:
        self.place, self.process, self._log = place, process, log
        self.storage: Storage = open_storage(place)
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], f"it did not start: {log.read_text()}"
        said = json.loads("".join(lines))
        self.address: str = said["address"]
        self.token: str | None = said["token"]
        self.url: str = said["url"]

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def new_token(self, scope: Scope, seconds: float | None = None) -> str:
        """A token of the store."""
        token = new_token()
        self.storage.add_token("test", scope, digest_of(token), seconds)
        return token

    def client(self, token: str | None = None, source: str = "127.0.0.1", **headers: str) -> httpx.Client:
        """Somebody with this token, from an address of this machine."""
        given = {"authorization": f"Bearer {token}"} if token else {}
        transport = httpx.HTTPTransport(local_address=source, verify=False)  # to read certificates takes long
        return httpx.Client(base_url=self.address, headers=given | headers, transport=transport, timeout=PATIENCE)

    def end(self) -> int:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait()


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory, where there is one: a store waits for its disk at each call, and disks are shared."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="kabc-served-", dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def serving(folder: Path, *options: object, place: str | None = None) -> Iterator[Served]:
    """`kabc serve` on a free port of this machine; killed at the end with all that it started."""
    where = place or str(folder / "kabc.db")
    open_storage(where).close()
    command = [*KABC, "serve", "--storage", where, "--port", 0, "--json", *options]
    log = folder / "log"
    with log.open("w") as errors, running(command, stdout=subprocess.PIPE, stderr=errors) as process:
        served = Served(where, process, log)
        try:
            yield served
        finally:
            served.storage.close()


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """The code and the one line of a request that was refused."""
    said = answer.json()
    assert list(said) == ["error"]
    assert said["error"] and "\n" not in said["error"]
    return answer.status_code, said["error"]
