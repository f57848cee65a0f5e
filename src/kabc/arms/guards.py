"""The guard of commands: a small process that ends what is left of them when kabc has ended, even by SIGKILL."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
import weakref
from typing import Any

from kabc.arms import leftovers

_PATIENCE = 10.0  # seconds


class Guard:
    """Watches over the commands of several arms, from the first draw until the last arm is closed."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(8)  # in the mark of each command
        self._lock = threading.Lock()
        self._watched: set[str] = set()
        self._stop: weakref.finalize[[subprocess.Popen[bytes]], Guard] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Guard, ()  # a copy has commands of its own

    def watch(self, arm: str) -> None:
        """Called before a command is run."""
        if not leftovers.WORKS or arm in self._watched:
            return
        with self._lock:  # arms are drawn in several threads
            self._watched.add(arm)
            if self._stop is None:
                self._start()

    def leave(self, arm: str) -> None:
        """Called when an arm is closed. After the last one, what is left of the commands is ended."""
        with self._lock:
            self._watched.discard(arm)
            if not self._watched and self._stop is not None:
                self._stop()
                self._stop = None

    def _start(self) -> None:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", leftovers.__file__, self.token],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # Ctrl-C is not for it
            )
        except OSError:  # commands work without it
            return
        self._stop = weakref.finalize(self, _stopped, process)
        assert process.stdout is not None
        process.stdout.read(1)  # until it is ready: its start must not disturb the first measurement


def _stopped(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
