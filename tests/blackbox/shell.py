"""The doors that users have: the shell, a server with its tokens, HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.processes import running

KABC = Path(sys.executable).with_name("kabc")
PATIENCE = 60.0  # seconds for an answer, on a busy machine


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of this process with changes; None takes a variable away."""
    given = {**os.environ, **(changes or {})}
    return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def shell(
    *words: object,
    folder: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    given: str = "",
    seconds: float = 180,
) -> Said:
    """Run `kabc` with these words in a folder; `given` is its standard input."""
    done = subprocess.run(
        [str(word) for word in (KABC, *words)],
        cwd=folder,
        env=environment(env),
        input=given,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


class Served:
    """A server on a free port of this machine."""

    def __init__(self, store: Path | str, process: subprocess.Popen[str], log: Path) -> None:
        self.store, self.process, self._log = store, process, log
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], f"it did not start: {self.log}"
        said = json.loads("".join(lines))
        self.address: str = said["address"]
        self.admin: str = said["token"]

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def token(self, scope: str) -> str:
        """A token of this scope, as an operator makes it."""
        made = shell("serve", "token", "create", "test", "--scope", scope, "--storage", self.store, "--json")
        return str(made.json["token"])

    def client(self, token: str | None = None, source: str = "127.0.0.1") -> httpx.Client:
        """Somebody with this token, from an address of this machine."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        transport = httpx.HTTPTransport(local_address=source, verify=False)  # to read certificates takes long
        return httpx.Client(base_url=self.address, headers=headers, transport=transport, timeout=PATIENCE)


@contextmanager
def serving(folder: Path, *options: object, store: Path | str | None = None) -> Iterator[Served]:
    """`kabc serve` on a store (`kabc.db` in the folder); killed at the end with all that it started."""
    where, log = store or folder / "kabc.db", folder / "log"
    command = [KABC, "serve", "--storage", where, "--port", 0, "--json", *options]
    with log.open("w") as errors, running(command, stdout=subprocess.PIPE, stderr=errors) as process:
        yield Served(where, process, log)
