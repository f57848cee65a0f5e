"""One run of a program: how long it took, how much processor time and memory it used, and how it ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kabc.arms.leftovers import VARIABLE, end_marked
from kabc.arms.outputs import Outputs
from kabc.core.errors import ArmError

if TYPE_CHECKING:
    import resource

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
    too_much: bool  # it was killed because it printed more than MOST_OUTPUT
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
    words: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    timeout: float,
    *,
    keep_output: bool,
    token: str = "",
) -> Ended:
    """Run a program and wait for its end. It is killed at the timeout, or when it prints too much.

    However it ends, the processes that it started end with it. `token` is a part of their mark.
    """
    mark = f"{token}-{secrets.token_hex(4)};"
    marked = {**env, VARIABLE: env.get(VARIABLE, "") + mark}  # a command may run kabc: then both marks stay
    with Outputs(keep_output=keep_output) as outputs:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=outputs.stdout,
                stderr=outputs.stderr,
                env=marked,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise NotStartedError(error.strerror) from error
        except ValueError as error:  # a zero byte in its words or variables
            raise NotStartedError(str(error)) from error
        running = _Running(process)
        try:
            outputs.start(timeout, running.kill)
            end, usage = running.wait()
        finally:
            running.leave_nothing(mark)
        outputs.finish()
        code = process.returncode
        return Ended(
            code,
            outputs.timed_out,
            outputs.too_much,
            wall=end - start,
            cpu=usage.ru_utime + usage.ru_stime,
            output="" if code else outputs.output,
            errors=outputs.errors if code else "",
        )


class _Running:
    """A process that leads a group of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()  # between the waiting thread and the one that keeps the time

    def kill(self) -> None:
        """Kill the whole group, as long as its number is certain to be that of this group."""
        with self._lock:
            if self._process.returncode is None:
                self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: not permitted for a dead group
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> tuple[float, resource.struct_rusage]:
        """When it ended (time.perf_counter) and what it used. The rest of its group is killed."""
        pid = self._process.pid
        # blocking: polling would make the wall time less exact
        if hasattr(os, "waitid"):  # not on macOS before Python 3.13
            # not yet collected, so that its number cannot be given to another process before its group is killed
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            end = time.perf_counter()
            with self._lock:
                self._kill_group()
                _, status, usage = os.wait4(pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)
            return end, usage
        _, status, usage = os.wait4(pid, 0)
        end = time.perf_counter()
        with self._lock:
            self._kill_group()
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return end, usage

    def leave_nothing(self, mark: str) -> None:
        """End what still runs of it, whether the wait for it ended well or was interrupted."""
        self.kill()
        self._process.wait()
        end_marked(mark, after=self._process.pid)
