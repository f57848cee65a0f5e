"""A real PostgreSQL server for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

USER, PASSWORD = "postgres", "hidden-word"


class Server:
    """A server of its own, in a folder of its own. `durable`: what it commits survives a crash of the machine too."""

    def __init__(self, folder: Path, pg_ctl: str, *, durable: bool = False) -> None:
        self._folder, self._pg_ctl, self._fsync = folder, pg_ctl, "on" if durable else "off"
        self._data, self._port = folder / "data", _free_port()
        self._owner = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
        if self._owner is not None:
            shutil.chown(folder, self._owner)

    @property
    def url(self) -> str:
        """An empty database there."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self._port}/postgres"

    def _run(self, *command: str) -> None:
        # no pipes: the server would inherit them and hold them open
        with (self._folder / "output").open("a") as output:
            subprocess.run(command, check=True, user=self._owner, cwd=self._folder, stdout=output, stderr=output)

    def make(self, initdb: str) -> None:
        """The files of the server."""
        password = self._folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._run(initdb, "-D", str(self._data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}", "--no-sync")

    def start(self) -> None:
        """It answers from now on."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        options += f" -c fsync={self._fsync} -c max_connections=200"
        self._run(self._pg_ctl, "-D", str(self._data), "-w", "-l", str(self._data / "log"), "-o", options, "start")

    def stop(self) -> None:
        """As in a crash: no transaction is ended, no connection is told."""
        self._run(self._pg_ctl, "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def restart(self, after: float = 0.0) -> None:
        """A crash, and a new start after some seconds."""
        self.stop()
        time.sleep(after)
        self.start()


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[Server]:
    """A server that is stopped and deleted at the end."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    folder = Path(tempfile.mkdtemp(prefix="kabc-postgres-"))
    try:
        server = Server(folder, pg_ctl, durable=durable)
        server.make(initdb)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of an empty database on a server of its own, which is stopped and deleted afterwards."""
    with running_server() as server:
        yield server.url


def new_database(url: str) -> str:
    """URL of a new, empty database on the same server."""
    name = f"kabc_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{url.rpartition('/')[0]}/{name}"


def _program(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
