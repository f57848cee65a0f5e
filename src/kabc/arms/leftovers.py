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
from typing import Literal

VARIABLE = "KABC_COMMAND"
WORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")

_ROUNDS = 20
_PAUSE = 0.001  # seconds before the next look where something could not be seen
_PATIENCE = 1_000  # milliseconds until a killed process is gone
_KERNEL = 0x200000  # the flag of a thread of the kernel

State = Literal["marked", "other", "dead", "unclear"]


def end_marked(mark: str, after: int | None = None) -> None:
    """Kill all processes with this mark; with `after`, look only at processes that were started after this one."""
    if not WORKS:
        return
    dead: set[int] = set()  # since an earlier look: they start nothing any more
    for _ in range(_ROUNDS):
        states = {pid: _state(pid, mark.encode()) for pid in _processes(after) if pid not in dead}
        for pid, state in states.items():
            if state == "marked":
                _kill(pid, mark.encode())
        # One that died or was killed while we looked may have started another one just before: look again. If there is
        # none, nothing can be missing: whatever is alive was started by one that is alive, or before we looked.
        if set(states.values()) <= {"other"}:
            return
        dead |= {pid for pid, state in states.items() if state == "dead"}
        if "unclear" in states.values():
            time.sleep(_PAUSE)


def _kill(pid: int, mark: bytes) -> None:
    with suppress(OSError):  # it has ended by itself
        process = os.pidfd_open(pid)
        try:
            if _state(pid, mark) == "marked":  # still: from here on the number cannot mean another process
                signal.pidfd_send_signal(process, signal.SIGKILL)
                gone = select.poll()
                gone.register(process, select.POLLIN)
                gone.poll(_PATIENCE)
        finally:
            os.close(process)


def _state(pid: int, mark: bytes) -> State:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:
        return "other"
    except OSError:
        environment = b""
    if environment:
        return "marked" if mark in environment else "other"
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return "dead"
    if fields[0] in "ZX":
        return "dead"
    # without an environment, or just being replaced by another program
    return "other" if int(fields[6]) & _KERNEL else "unclear"


def _processes(after: int | None) -> list[int]:
    """Numbers of processes; none where the system does not show them."""
    try:
        pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
        if after is None:
            return pids
        last = int(Path("/proc/loadavg").read_text().split()[-1])
        largest = int(Path("/proc/sys/kernel/pid_max").read_text())
    except (OSError, ValueError, IndexError):
        return []
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
