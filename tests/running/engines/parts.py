"""A run that bets in parts, and functions that leave marks where a part is computed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import kabc
from kabc.strategies.anytime import outside
from tests.running.live import normal, same

HERE = os.getpid()
ARMS: dict[str, Any] = {f"arm {number}": partial(normal, mean=6.0 * (number % 3)) for number in range(66)}
ASKED: dict[str, Any] = {"strategy": "anytime", "n_clusters": 3}


def noted(folder: Path, shared: Any, part: Any) -> Any:
    """Leaves a mark with the number of its process."""
    (folder / f"{os.getpid()}-{len(list(folder.iterdir()))}").touch()
    return outside.won(shared, part)


def deadly(folder: Path, parent: int, shared: Any, part: Any) -> Any:
    """The second part that is begun elsewhere kills its process."""
    if os.getpid() != parent:
        calls = len(list(folder.iterdir()))
        (folder / f"{os.getpid()}-{calls}").touch()
        if calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return outside.won(shared, part)


def pids_in(folder: Path) -> set[int]:
    return {int(mark.name.split("-")[0]) for mark in folder.iterdir()}


def equal(one: kabc.Result, other: kabc.Result) -> bool:
    return same(one, other) and one.rounds == other.rounds
