"""A run as a script that asks for rounds, and who runs it.

A script is a generator: it yields the number and the request of a round, and is sent what was drawn. It knows no store
and no arms that are drawn. Whoever runs it decides where samples come from. So a run that goes on after a crash is the
same script, with samples from the log first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Generic, TypeVar

from kabc.running.intake import Intake, Pieces
from kabc.running.shift import Shift
from kabc.strategies.base import Request
from kabc.study.ledger import Ledger

Found = TypeVar("Found")
Asked = tuple[int, Request]  # number of the round, arm -> samples
Script = Generator[Asked, Pieces, Found]


class Stepper(Generic[Found]):
    """Runs a script as far as the rounds of a study go."""

    def __init__(self, script: Script[Found], ledger: Ledger, intake: Intake) -> None:
        self._script, self._ledger, self._intake = script, ledger, intake
        self._asked: Asked | None = None
        self._broken: BaseException | None = None  # what the script failed with: it cannot go on
        self.found: Found | None = None  # what the script returned
        self.told: Callable[[int, float], None] | None = None  # hears which round was told, and how long it took

    def advance(self) -> bool:
        """Tell all rounds that are whole, and open the next one. False: the script has ended."""
        if self._broken is not None:
            raise self._broken
        if self._asked is None and not self._run_on(lambda: next(self._script)):
            return False
        assert self._asked is not None
        while (pieces := self._round(*self._asked)) is not None:
            number, started = self._asked[0], time.perf_counter()
            if not self._run_on(partial(self._script.send, pieces)):
                return False
            if self.told is not None:
                self.told(number, time.perf_counter() - started)
        return True

    def _round(self, number: int, request: Request) -> Pieces | None:
        """The samples of a round: recorded ones first, if there are any; None as long as some are not drawn."""
        reuse = self._intake.reuse
        if reuse is None:
            return self._ledger.round(number, request, self._intake.drawn)
        rest = reuse.rest(request)
        drawn = self._ledger.round(number, rest, reuse.drawn) if rest else {}
        return None if drawn is None else reuse.merged(request, drawn)

    def _run_on(self, go_on: Callable[[], Asked]) -> bool:
        try:
            self._asked = go_on()
        except StopIteration as end:
            self.found = end.value
            return False
        except BaseException as error:
            self._broken = error
            raise
        return True

    def close(self) -> None:
        """Leave the script. What was drawn of a round that will not be finished is counted."""
        self._script.close()
        self._intake.close()
        self._intake.take_part(self._ledger.part())
        self._intake.count_unread()


def run_here(stepper: Stepper[Found], shift: Shift) -> Found | None:
    """Run a script to its end, all draws by this process. Returns what the script returned."""
    while stepper.advance():
        shift.work()
    return stepper.found


def whole_rounds(stepper: Stepper[Found]) -> Found | None:
    """Run a script as far as the log goes, and no further. Returns what it returned, None if it did not end."""
    if stepper.found is None:
        stepper.advance()
    return stepper.found
