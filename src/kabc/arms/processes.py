"""One run of a program: how long it took, how much processor time and memory it used, and how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from kabc.core.errors import ArmError

_MOST_OUTPUT = 2**24  # bytes read back from the end of an output
_RSS_UNIT = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes on macOS, in kilobytes elsewhere

# On Linux a new program starts with the peak memory of the process that started it. Started from here, it would measure
# at least as much as this Python with all its data. So a bare Python of about 10 MB stands in between.
_WEIGH = """
import os, signal, sys
nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
try:
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing, setsigdef=[signal.SIGPIPE])
except OSError as error:
    sys.exit(126 if isinstance(error, PermissionError) else 127)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


class NotStartedError(ArmError):
    """A program cannot be started, for the reason in the message."""


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int  # negative: the signal that killed it
    timed_out: bool
    wall: float  # seconds
    cpu: float  # seconds
    output: str  # of a run that ended well, if it was kept
    errors: str  # of a run that failed


def weighing(words: Sequence[str]) -> list[str]:
    """The words of a program that runs these words and prints their peak memory."""
    return [sys.executable, "-I", "-S", "-c", _WEIGH, *words]


def megabytes(output: str) -> float:
    """Peak memory in MB (2**20 bytes), from the output of `weighing`."""
    return float(output) * _RSS_UNIT / 2**20


def run_to_end(
    words: Sequence[str], env: Mapping[str, str], cwd: str | None, timeout: float, *, keep_output: bool
) -> Ended:
    """Run a program and wait for its end, or kill it at the timeout, with every process that it started."""
    # files instead of pipes: no thread has to read them, and a process left behind cannot delay the end
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output if keep_output else subprocess.DEVNULL,
                stderr=errors,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise NotStartedError(error.strerror) from error
        code, cpu, timed_out = _wait(process, timeout)
        wall = time.perf_counter() - start
        return Ended(code, timed_out, wall, cpu, "" if code else _tail(output), _tail(errors) if code else "")


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, float, bool]:
    """Exit code, seconds of processor time, and whether it was killed at the timeout."""
    timed_out = threading.Event()

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: not permitted for a dead group
            os.killpg(process.pid, signal.SIGKILL)

    def too_long() -> None:
        timed_out.set()
        kill()

    # a blocking wait4 with a timer beside it: polling would make the wall time less exact
    timer = threading.Timer(timeout, too_long)
    try:
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        kill()
        process.wait()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, timed_out.is_set()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_OUTPUT))
    return file.read().decode(errors="replace")
