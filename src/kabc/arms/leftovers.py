"""Ends processes that a command has left behind, also those that left its session. Linux only.

Every command gets a mark in its environment, which its descendants inherit. The system shows the environment of a
process in /proc. So a process of another program is never ended: it has no mark.

This file is also a program of its own, the guard: it waits until kabc has ended, however that happens, and ends what is
left then. It imports nothing but the standard library, so that it starts fast and stays small.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "KABC_COMMAND"
WORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")

_ROUNDS = 20
_PAUSE = 0.001  # seconds before the next look where something could not be seen
_PATIENCE = 1_000  # milliseconds until a killed process is gone
_KERNEL = 0x200000  # the flag of a thread of the kernel


def end_marked(mark: str, after: int | None = None) -> None:
    """Kill all processes with this mark; with `after`, look only at processes that were started after this one."""
    if not WORKS:
        return
    for _ in range(_ROUNDS):
        last = _last()
        found = [_end(pid, mark.encode()) for pid in _processes(after)]
        if None in found:
            time.sleep(_PAUSE)
        elif True not in found and last == _last():  # none was started while we looked
            return


def _end(pid: int, mark: bytes) -> bool | None:
    """Whether a process had the mark and was killed. None: that cannot be seen now, so look again."""
    marked = _has(pid, mark)
    if not marked:
        return marked
    with suppress(OSError):  # it has ended by itself
        process = os.pidfd_open(pid)
        try:
            if _has(pid, mark):  # still: from here on the number cannot mean another process
                signal.pidfd_send_signal(process, signal.SIGKILL)
                gone = select.poll()
                gone.register(process, select.POLLIN)
                gone.poll(_PATIENCE)
                return True
        finally:
            os.close(process)
    return None


def _has(pid: int, mark: bytes) -> bool | None:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:
        return False
    except OSError:
        environment = b""
    if environment:
        return mark in environment
    # It has just ended, maybe after it started another one, or it is just being replaced by another program.
    with suppress(OSError, ValueError, IndexError):
        flags = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[6]
        if int(flags) & _KERNEL:
            return False
    return None


def _last() -> int | None:
    """The number of the newest process."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[-1])
    except (OSError, ValueError, IndexError):
        return None


def _processes(after: int | None) -> list[int]:
    """Numbers of processes; none where the system does not show them."""
    try:
        pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
        largest = int(Path("/proc/sys/kernel/pid_max").read_text())
    except (OSError, ValueError):
        return []
    last = _last()
    if after is None or last is None:
        return pids
    # numbers are given in turn, and begin again after the largest: few are newer than a command that just ended
    return [pid for pid in pids if 0 < (pid - after) % largest <= (last - after) % largest]


def guard(mark: str) -> None:
    """Wait until standard input is closed or the parent has ended. Then end what has the mark."""
    for polite in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(polite, signal.SIG_IGN)  # they are for kabc, and the guard stays as long as kabc does
    over = select.poll()
    over.register(sys.stdin.fileno(), select.POLLIN)
    with suppress(OSError):
        over.register(os.pidfd_open(os.getppid()), select.POLLIN)
    os.write(sys.stdout.fileno(), b"\n")  # ready
    over.poll()
    end_marked(mark)


if __name__ == "__main__":
    guard(sys.argv[1])
