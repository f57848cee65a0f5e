"""How long a look at a large study takes (see `study_costs.py --only status`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import kabc
from kabc.storage.contract import Draw, NewTicket, Storage

ARMS, A_ROUND = 10, 2_000  # tickets of one sample each, a study with the most rows that there can be
COMMANDS = ("status", "list")


def look(n_samples: int, repeats: int, folder: str | None = None) -> dict[str, list[list[float]]]:
    """Seconds of `kabc study status` and `kabc study list` in processes of their own: by the clock, of computing."""
    with ExitStack() as stack:
        path = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()), "looked-at.db")
        path.parent.mkdir(exist_ok=True)
        _filled(path, n_samples)
        return {f"kabc study {one}": [_seconds(one, path) for _ in range(repeats)] for one in COMMANDS}


def shown(found: dict[str, list[list[float]]]) -> str:
    lines = [f"{'command':<20} {'runs':>5} {'':<10} {'least, s':>9} {'median':>7} {'most':>6}"]
    for name, runs in found.items():
        for what, times in zip(("clock", "computing"), zip(*runs, strict=True), strict=True):
            figures = f"{min(times):>9.2f} {np.median(times):>7.2f} {max(times):>6.2f}"
            lines.append(f"{name:<20} {len(runs):>5} {what:<10} {figures}")
    return "\n".join(lines)


def _filled(path: Path, n_samples: int) -> None:
    """A study with so many samples. Nobody asked for them: a look does not read them."""
    names = [f"arm {i}" for i in range(ARMS)]
    study = kabc.create_study("large", names, 2, storage=path, seed=0, if_exists="resume")
    number = study.storage.summary(study.record.id).n_rounds
    study.storage.register_worker(study.record.id, "filler", {"host": "elsewhere"})
    while number * A_ROUND < n_samples:
        _round(study.storage, study.record.id, number)
        number += 1
    study.storage.close()


def _round(storage: Storage, study: int, number: int) -> None:
    tickets = [NewTicket(place % ARMS, place // ARMS, 0, 1) for place in range(A_ROUND)]
    storage.open_round(study, number, tickets)
    rows = np.random.default_rng(number).normal(size=(A_ROUND, 1, 1))
    leased = storage.exchange(study, "filler", want=A_ROUND).leased
    drawn = [Draw(one.id, one.lease, "filler", row, 0.0, 1.0) for one, row in zip(leased, rows, strict=True)]
    storage.exchange(study, "filler", drawn)


def _seconds(command: str, path: Path) -> list[float]:
    words = ["study", command, *(["large"] if command == "status" else []), "--storage", str(path)]
    program = f"import sys; from kabc.cli import main; sys.exit(main({words!r}))"
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        sys.exit(f"kabc {' '.join(words)} ended with {process.returncode}")
    return [seconds, used.ru_utime + used.ru_stime]
