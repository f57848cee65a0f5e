"""A real PostgreSQL server for the tests of this room."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

USER, PASSWORD = "postgres", "hidden-word"


def _program(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of an empty database on a server of its own, which is stopped and deleted afterwards."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    owner = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="kabc-postgres-"))
    if owner is not None:
        shutil.chown(folder, owner)
    password = folder / "password"
    password.write_text(PASSWORD)
    password.chmod(0o644)
    data, port = folder / "data", _free_port()

    def run(*command: str) -> None:
        # no pipes: the server would inherit them and hold them open
        with (folder / "output").open("a") as output:
            subprocess.run(command, check=True, user=owner, cwd=folder, stdout=output, stderr=output)

    try:
        run(initdb, "-D", str(data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run(pg_ctl, "-D", str(data), "-w", "-l", str(data / "log"), "-o", options, "start")
        yield f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"
        run(pg_ctl, "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
