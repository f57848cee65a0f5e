"""What counts as a failed sample of a live arm, and what becomes of it. A failure is never dropped.

Leaving failures out would compare other distributions than those of the arms: a service that fails on hard questions
would look like one that answers them. So a failure ends the run ("raise"), or is tried again ("retry": what is compared
is then the distribution *given success*, and the result says so), or is a value of its own ("encode").
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kabc.core.errors import ArmError, SettingsError
from kabc.core.samples import describe

OnFailure = Literal["raise", "retry", "encode"]

FIRST_WAIT = 0.5  # seconds before the first new try, doubled for each further one; arbitrary, as services advise
LONGEST_WAIT = 60.0
_CUT = 200


class DrawError(ArmError):
    """One try to get a sample failed; the policy decides what becomes of it."""


class SpendError(ArmError):
    """The next call would cost more than max_spend allows; the samples of the round so far are lost."""


@dataclass(frozen=True)
class Policy:
    """What becomes of a failure.

    `columns` name the numbers of one sample; None when the first sample tells. "encode" must know how many zeros to
    write for a failure that comes first, so there None means one.
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
    def note(self) -> str:
        """The sentence that the result repeats."""
        return {
            "raise": "failures: a failed sample ends the run",
            "retry": f"failures: tried again up to {self.retries} time(s), so that the distributions compared are "
            "those of samples that succeed",
            "encode": "failures: encoded as a value of their own (last column 'failed' is 1, the others are 0)",
        }[self.on_failure]

    def sample(
        self, attempt: Callable[[], Sequence[float]], pause: Callable[[float], object] = time.sleep
    ) -> list[float]:
        """One sample: what the attempt gives, or what the policy makes of its failures."""
        tries = 1 + (self.retries if self.on_failure == "retry" else 0)
        for number in range(tries):
            try:
                row = self._checked(attempt())
            except DrawError as error:
                failure = error
            else:
                return [*row, 0.0] if self.on_failure == "encode" else row
            if number + 1 < tries:
                pause(wait_before(number))
        if self.on_failure == "encode":
            return [0.0] * (len(self.sample_columns) - 1) + [1.0]
        if tries > 1:
            raise DrawError(f"{tries} tries failed, the last one so: {failure}")
        raise failure

    def _checked(self, row: Sequence[float]) -> list[float]:
        if self.columns is not None and len(row) != len(self.columns):
            raise DrawError(
                f"gave {len(row)} number(s) where {len(self.columns)} are expected: {', '.join(self.columns)}; "
                "set columns= to what it gives, or let it give the same every time"
            )
        if self.columns is None and self.on_failure == "encode" and len(row) != 1:
            # not a failure of the arm: encoding it would make every sample a failed one
            raise ArmError(
                f"gave {len(row)} numbers; on_failure='encode' must know them before the first failure: name them, "
                "e.g. columns=('mean', 'p99')"
            )
        return list(row)


def wait_before(number: int) -> float:
    """Seconds to wait after try `number`, counted from 0: exponential backoff."""
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**number))


def numbers(value: Any) -> list[float]:
    """The finite numbers of a value from outside: a number, text of one, or a list of those."""
    try:
        row = [float(item) for item in (value if isinstance(value, list) else [value])]
    except (TypeError, ValueError, OverflowError):
        row = []
    if not row or not all(map(math.isfinite, row)):
        hint = "; pick one of its parts by its path" if isinstance(value, dict) else ""
        raise DrawError(f"expected a finite number or a list of them, got {cut(value)}{hint}")
    return row


def picked(value: Any, path: str) -> Any:
    """The part of a JSON value at a path of keys and positions with dots between them: "choices.0.text"."""
    for key in path.split("."):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            raise DrawError(f"there is no {key!r} of the path {path!r} in {cut(value)}; correct the path") from None
    return value


def cut(value: object) -> str:
    """A value from outside for a message: on one line, not long."""
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return repr(text if len(text) <= _CUT else text[: _CUT - 3] + "...")


def expect(right: bool, name: str, value: object, wanted: str) -> None:
    """Refuse a setting that is not what is wanted."""
    if not right:
        raise SettingsError(f"{name} must be {wanted}, got {describe(value)}")


def is_whole(value: object) -> bool:
    """Whether it is an int; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_positive(value: object) -> bool:
    """Whether it is a finite number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def column_names(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of columns, checked."""
    if columns is None:
        return None
    right = not isinstance(columns, str) and len(set(columns)) == len(columns) > 0 and "failed" not in columns
    expect(right, "columns", columns, "different names, one for each number of a sample, none of them 'failed'")
    return tuple(columns)
