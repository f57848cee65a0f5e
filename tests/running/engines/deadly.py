"""Arms for tests of engines: some kill the process that draws from them."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.running.live import Rows, normal

in_the_long_form = pytest.mark.skipif(os.environ.get("KABC_FUZZ") != "100", reason="make soak")

FEW: dict[str, Any] = {"n_clusters": 2, "strategy": "anytime"}
MEANS = (("a", 0.0), ("b", 2.5), ("c", 2.5), ("d", 0.0), ("e", 2.5), ("f", 0.0))


@dataclass(frozen=True)
class Deadly:
    """Kills the process that draws from it, `deaths` times, from its call number `first` on. It has failed samples."""

    marks: Path
    deaths: int
    mean: float = 0.0
    first: int = 3
    remaining = None

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        calls = len(list(self.marks.glob("call-*")))
        (self.marks / f"call-{calls}").touch()
        if self.first <= calls < self.first + self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return rng.normal(self.mean, 1.0, n)

    def failed(self, n: int) -> Rows:
        return np.full(n, -99.0)


@dataclass(frozen=True)
class Living:
    """The same without an end, and with the same failed samples."""

    mean: float
    seconds: float = 0.0
    remaining = None

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        time.sleep(self.seconds)
        return normal(n, rng, self.mean)

    def failed(self, n: int) -> Rows:
        return np.full(n, -99.0)


def living(seconds: float = 0.0) -> dict[str, Any]:
    return {name: Living(mean, seconds) for name, mean in MEANS}


def with_a_deadly_one(marks: Path, deaths: int) -> dict[str, Any]:
    return living() | {"a": Deadly(marks, deaths)}


def n_calls(marks: Path) -> int:
    return len(list(marks.glob("call-*")))


def n_calls_without_deaths(marks: Path) -> int:
    """How often arm a is drawn where it kills nobody; marks go to a folder of their own."""
    (marks / "usual").mkdir()
    kabc.cluster(with_a_deadly_one(marks / "usual", 0), **FEW, seed=5, progress=False)
    return n_calls(marks / "usual")


def raises(n: int, rng: np.random.Generator) -> Rows:
    raise ValueError(f"no sample today, {n} wanted")


class OddError(Exception):
    """An error that cannot be sent."""

    def __init__(self) -> None:
        super().__init__("odd")
        self.lock = threading.Lock()


def raises_oddly(n: int, rng: np.random.Generator) -> Rows:
    raise OddError


@dataclass
class Counting:
    """Keeps something from draw to draw, which it must not."""

    n_draws: int = 0
    remaining = None

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        self.n_draws += 1
        return np.full(n, float(self.n_draws))


def of_process(n: int, rng: np.random.Generator, offset: float, seconds: float = 0.0) -> Rows:
    time.sleep(seconds)
    return np.full(n, os.getpid() + offset)


pid_arms = {name: partial(of_process, offset=offset) for name, offset in (("a", 0.0), ("b", 0.5))}


def one_too_many(n: int, rng: np.random.Generator) -> Rows:
    return rng.normal(size=n + 1)
