"""Processes that tests start: none of them outlives its test, however the test ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def running(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """The process, in a session of its own; at the end it is killed with all that it started."""
    process = subprocess.Popen([str(word) for word in command], text=True, start_new_session=True, **options)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # all of the session have ended already
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
