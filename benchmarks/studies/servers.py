"""A PostgreSQL server of one's own: started, killed and started again at will."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD = "postgres", "hidden-word"


def program(name: str) -> str | None:
    """The program of the newest PostgreSQL that is installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Server:
    """PostgreSQL with the durability that it has by default: what it committed survives a crash."""

    def __init__(self, folder: Path) -> None:
        initdb, pg_ctl = program("initdb"), program("pg_ctl")
        if initdb is None or pg_ctl is None:
            raise FileNotFoundError("PostgreSQL's initdb and pg_ctl are not installed")
        self._folder, self._pg_ctl = folder, pg_ctl
        self._owner = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
        if self._owner is not None:
            shutil.chown(folder, self._owner)
        self._data, self._port = folder / "data", free_port()
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._run(initdb, "-D", str(self._data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}")

    def _run(self, *command: str) -> None:
        # no pipes: the server would inherit them and hold them open
        with (self._folder / "output").open("a") as output:
            subprocess.run(command, check=True, user=self._owner, cwd=self._folder, stdout=output, stderr=output)

    @property
    def version(self) -> str:
        shown = subprocess.run([self._pg_ctl, "--version"], capture_output=True, text=True, check=True)
        return f"PostgreSQL {shown.stdout.split()[-1]}"

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        log = str(self._folder / "log")
        self._run(self._pg_ctl, "-D", str(self._data), "-w", "-l", log, "-o", options, "start")

    def stop_at_once(self) -> None:
        """As if it crashed: no transaction is finished, and the next start recovers from its log."""
        self._run(self._pg_ctl, "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def database(self, name: str) -> str:
        """URL of a new, empty database."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self._port}/{database}"


@contextmanager
def postgresql() -> Iterator[Server]:
    """A server that runs, which is stopped and deleted afterwards: also if this process is asked to end."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="kabc-postgresql-"))
    try:
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop_at_once()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
