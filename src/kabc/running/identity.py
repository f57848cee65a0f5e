"""Which process a worker is, and whether it is still there.

A process is known by its host, the boot of that host, its number, and the time when it started: numbers are used again.
Where a system does not show these, less is known, and a worker is taken to be alive: its leases lapse by themselves.
"""

from __future__ import annotations

import os
import platform
import secrets
import socket
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal

from kabc.storage.contract import Json, Storage

Role = Literal["run", "worker"]

_PROC = Path("/proc")
_RECENT = 3600.0  # seconds: a worker that was seen since may have a lease or the step


def worker_name() -> str:
    """A new name for this process as a worker."""
    host = "".join(one if one.isalnum() or one in "-._" else "-" for one in socket.gethostname())[:80] or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"


def worker_facts(role: Role, arms: Sequence[str], version: str) -> dict[str, Any]:
    """What a study keeps of a worker: which process it is, and which arms it can serve."""
    return {
        "role": role,
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": os.getpid(),
        "started": _start_time(os.getpid()),
        "arms": list(arms),
        "kabc": version,
        "python": platform.python_version(),
    }


def is_gone(facts: Json) -> bool:
    """Whether the process of a worker has ended for certain: it ran on this host, in this boot, and is not there."""
    if facts.get("host") != socket.gethostname() or facts.get("boot") != _boot():
        return False
    pid = facts.get("pid")
    if not isinstance(pid, int) or pid <= 0 or sys.platform == "win32":  # there, a look at a process may end it
        return False
    started = facts.get("started")
    if started:
        return bool(_start_time(pid) != started)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # of somebody else
        pass
    return False


def bury_dead(storage: Storage, study: int, role: Role, known: Collection[str] = ()) -> list[str]:
    """Let the leases of workers whose process is gone lapse at once. Returns their names, `known` ones left out.

    A lost draw counts as a death of its worker. Not so for a run that a new run replaces: people stopped it, or saw it
    end, and started it again.
    """
    busy = {ticket.worker for ticket in storage.leases(study)}
    since = storage.now() - _RECENT
    buried = []
    for worker in storage.workers(study):
        recent = worker.name in busy or worker.last_seen >= since
        if recent and worker.name not in known and is_gone(worker.facts):
            again = role == "run" and worker.facts.get("role") == "run"
            if storage.bury(study, worker.name, counted=not again) and again:
                storage.add_note(study, "restarted", {"worker": worker.name})
            buried.append(worker.name)
    return buried


def _boot() -> str:
    """The boot of this host, and the name space in which numbers of processes mean something; empty where unknown."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """When a process started, as the system writes it; empty where it is unknown or the process has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]  # a zombie has ended, though nobody has asked how
