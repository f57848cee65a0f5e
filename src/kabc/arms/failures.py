"""What counts as a failed sample of a live arm, and what happens to it. A failure is never dropped.

Without its failures, an arm has another distribution: a service that fails on hard questions would look like one that
answers them. So there are three policies. "raise" ends the run. "retry" tries again: then the distributions *given
success* are compared, and the result says so. "encode" makes a failure a value of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kabc.arms.checks import expect, is_whole
from kabc.arms.tallies import ENCODED, FIRST_TRIES, Tally
from kabc.arms.words import cut
from kabc.core.errors import ArmError
from kabc.core.words import counted

OnFailure = Literal["raise", "retry", "encode"]

FIRST_WAIT = 0.5  # seconds before the second try, doubled before each later one; an arbitrary but common choice
LONGEST_WAIT = 60.0


class DrawError(ArmError):
    """One try to get a sample failed. The policy decides what happens next. `kind` says how, in a few words."""

    def __init__(self, text: str, kind: str = "failure") -> None:
        super().__init__(text)
        self.kind = kind


class SpendError(ArmError):
    """The next call would cost more than max_spend allows. The samples of the current round are lost."""


@dataclass(frozen=True)
class Policy:
    """What happens after a failure.

    `columns` name the numbers of one sample. None means that the first sample decides how many there are. With "encode"
    the first sample may be a failure, and its number of zeros must be known: there None means one number.
    """

    on_failure: OnFailure = "raise"
    retries: int = 3
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        expect(
            self.on_failure in ("raise", "retry", "encode"),
            "on_failure",
            self.on_failure,
            "'raise' (the run ends), 'retry' (tried again) or 'encode' (a failure is a value)",
        )
        expect(is_whole(self.retries) and self.retries >= 0, "retries", self.retries, "a whole number, 0 or more")

    @property
    def sample_columns(self) -> tuple[str, ...]:
        """Names of the columns of a sample, as far as they are known."""
        if self.on_failure == "encode":
            return (*(self.columns or ("value",)), "failed")
        return self.columns or ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result says of failures that may be in its samples, or are missing there."""
        if self.on_failure == "raise":  # then there are none
            return ()
        if self.on_failure == "encode":
            return (ENCODED,)
        tries = counted(self.retries, "time")
        return (f"failures: tried again up to {tries}; the distributions compared are those of samples that succeed",)

    def sample(
        self,
        attempt: Callable[[], Sequence[float]],
        pause: Callable[[float], object] = time.sleep,
        tally: Tally | None = None,
    ) -> list[float]:
        """One sample: the result of the attempt, or what the policy makes of its failures. The tally counts them."""
        tries = 1 + (self.retries if self.on_failure == "retry" else 0)
        for number in range(tries):
            try:
                row = self._checked(attempt())
            except DrawError as error:
                failure = error
            else:
                if tally is not None:
                    tally.succeeded()
                return [*row, 0.0] if self.on_failure == "encode" else row
            if tally is not None and tally.failed(failure.kind, str(failure)):
                # whatever the policy: a wrong path or address would be paid for until the money is spent
                raise ArmError(
                    f"its first {FIRST_TRIES} tries all failed, so it is not measured; the last failure: {failure}; "
                    "make one try work first"
                )
            if number + 1 < tries:
                pause(wait_before(number))
        if self.on_failure == "encode":
            return [0.0] * (len(self.sample_columns) - 1) + [1.0]
        if tries > 1:
            raise DrawError(f"{tries} tries failed; the last failure: {failure}", failure.kind)
        raise failure

    def _checked(self, row: Sequence[float]) -> list[float]:
        if self.columns is not None and len(row) != len(self.columns):
            raise DrawError(
                f"gave {counted(len(row), 'number')} instead of {len(self.columns)} ({', '.join(self.columns)}); "
                "every sample must have the numbers that columns= names",
                "other columns",
            )
        if self.columns is None and self.on_failure == "encode" and len(row) != 1:
            # not a failure of the arm: encoding it would make every sample a failed one
            raise ArmError(
                f"gave {counted(len(row), 'number')}; on_failure='encode' must know their names before the first "
                "failure; set e.g. columns=['mean', 'p99']"
            )
        return list(row)


def wait_before(number: int) -> float:
    """Seconds to wait after try `number`, counted from 0: exponential backoff."""
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**number))


def numbers(value: Any) -> list[float]:
    """The finite numbers in a value from outside: a number, the text of one, or a list of them."""
    try:
        row = [float(item) for item in (value if isinstance(value, list) else [value])]
    except (TypeError, ValueError, OverflowError):
        row = []
    if not row or not all(map(math.isfinite, row)):
        hint = "; set the path to one of its parts" if isinstance(value, dict) else ""
        raise DrawError(f"expected a finite number or a list of them, got {cut(value)}{hint}", "not a number")
    return row


def picked(value: Any, path: str) -> Any:
    """The part of a JSON value at a path of keys and positions, separated by dots: "choices.0.text"."""
    for key in path.split("."):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            said = f"there is no {key!r} of the path {path!r} in {cut(value)}; correct the path"
            raise DrawError(said, "no value at the path") from None
    return value
