"""Fuzzers: random input from a seed. An answer passes the invariants, or the input is refused by name. Nothing else.

KABC_FUZZ is the share of the long form in per cent (default 4; `make soak` runs 100), KABC_FUZZ_SEED the seed of all
cases (default 0), and KABC_FUZZ_CASE the number of one case to run alone. A long form is cut into parts, a test each.
What became of all cases is printed at the end of the tests.
"""

from __future__ import annotations

import math
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

import numpy as np
import pytest

from kabc import KabcError

Ended = Literal["answered", "refused"]
Case = Callable[[np.random.Generator], Ended]
Record = Callable[[str, object], None]

SHARE = float(os.environ.get("KABC_FUZZ", "4"))
SEED = int(os.environ.get("KABC_FUZZ_SEED", "0"))
ONLY = os.environ.get("KABC_FUZZ_CASE")

_PART = 4.0  # per cent of the long form
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
        return said(self.what, {"answered": self.answered, "refused": self.refused, "crashed": len(self.crashed)})


def said(what: str, counts: Mapping[str, int]) -> str:
    """One line for people: the seed, and how many cases ended in which way."""
    ends = ", ".join(f"{end} {n:,}" for end, n in counts.items())
    return f"fuzz {what}: seed {SEED}, tried {sum(counts.values()):,}, {ends}"


every_part = pytest.mark.parametrize("part", range(max(1, math.ceil(SHARE / _PART)) if ONLY is None else 1))


def fuzzed(what: str, long_form: int, case: Case, part: int) -> Tally:
    """Run one part of the cases. A case that ends in any other way is kept with its number and traceback."""
    tally = Tally(what)
    for number in _numbers(long_form, part):
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
    return tally


def _numbers(long_form: int, part: int) -> Iterable[int]:
    if ONLY is not None:
        return [int(ONLY)]
    first, last = (
        math.ceil(long_form * share / 100) for share in (_PART * part, min(SHARE, 100.0, _PART * (part + 1)))
    )
    return range(first, last)


def rng_of(what: str, number: int) -> np.random.Generator:
    """The random numbers of one case; they depend on no other case."""
    return np.random.default_rng([SEED, *what.encode(), number])


def expect_sound(tally: Tally, least_answered: float, record: Record) -> None:
    """No case crashed, and enough were answered: a fuzzer whose cases are all refused tests little."""
    record("fuzz", [tally.what, tally.answered, tally.refused, len(tally.crashed)])
    assert not tally.crashed, f"{tally}\n" + "\n".join(tally.crashed[:5])
    if ONLY is None:
        assert tally.answered >= least_answered * tally.tried, tally
