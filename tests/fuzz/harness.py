"""Fuzzers: random input from a seed. An answer passes the invariants, or the input is refused by name. Nothing else.

KABC_FUZZ is the share of the long form in per cent (default 4; `make soak` runs 100), KABC_FUZZ_SEED the seed of all
cases (default 0), and KABC_FUZZ_CASE the number of one case to run alone.
"""

from __future__ import annotations

import math
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

import numpy as np

from kabc import KabcError

Ended = Literal["answered", "refused"]
Case = Callable[[np.random.Generator], Ended]

SHARE = float(os.environ.get("KABC_FUZZ", "4"))
SEED = int(os.environ.get("KABC_FUZZ_SEED", "0"))
ONLY = os.environ.get("KABC_FUZZ_CASE")

_LONGEST = 60.0  # seconds of computing; a case takes far less than one


class Hang(BaseException):
    """A case that computes on and on. No Exception: code under test must not catch it."""


@contextmanager
def bounded(seconds: float = _LONGEST) -> Iterator[None]:
    """Raise Hang after so much computing. Time of the process, not of the clock: the machine may be busy.

    pytest-timeout has the alarm of the clock; it ends what waits and does not compute.
    """

    def late(number: int, frame: FrameType | None) -> None:
        raise Hang(f"still computing after {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass
class Tally:
    """What became of the cases."""

    what: str
    answered: int = 0
    refused: int = 0
    crashed: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.answered + self.refused + len(self.crashed)

    def __str__(self) -> str:
        return (
            f"fuzz {self.what}: seed {SEED}, tried {self.tried}, answered {self.answered}, refused {self.refused}, "
            f"crashed {len(self.crashed)}"
        )


def fuzzed(what: str, long_form: int, case: Case) -> Tally:
    """Run the share of the long form. A case that ends in any other way is kept with its number and traceback."""
    tally = Tally(what)
    numbers = range(max(math.ceil(long_form * SHARE / 100), 3)) if ONLY is None else [int(ONLY)]
    for number in numbers:
        try:
            with bounded():
                ended = case(rng_of(what, number))
        except KabcError:
            ended = "refused"
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            cure = f"KABC_FUZZ_SEED={SEED} KABC_FUZZ_CASE={number} repeats it"
            tally.crashed.append(f"case {number} of {what} ({cure}):\n{traceback.format_exc()}")
            continue
        setattr(tally, ended, getattr(tally, ended) + 1)
    print(tally)
    return tally


def rng_of(what: str, number: int) -> np.random.Generator:
    """The random numbers of one case; they depend on no other case."""
    return np.random.default_rng([SEED, *what.encode(), number])


def expect_sound(tally: Tally, least_answered: float) -> None:
    """No case crashed, and enough were answered: a fuzzer whose cases are all refused tests little."""
    assert not tally.crashed, f"{tally}\n" + "\n".join(tally.crashed[:5])
    if ONLY is None:
        assert tally.answered >= least_answered * tally.tried, tally
