"""How many tries of an arm failed, and how."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from kabc.core.secrets import hide_words
from kabc.core.words import counted

_LONGEST = 300  # characters of the last message
FIRST_TRIES = 5  # if these all fail, the arm is not measured but wrong

ENCODED = "failures: encoded as a value of their own (last column 'failed' is 1, the others are 0)"


@dataclass(frozen=True)
class Failures:
    """Failed tries of one arm.

    Attributes
    ----------
    count : int
        Tries that failed.
    kinds : dict
        How many failed in which way, such as "status 500", "timeout" or "no value at the path".
    last : str
        What the last failure said, without keys.
    tries : int
        All tries: samples and new tries. Runs before the first sample are none.
    values : int
        Samples that stand for a failure, where failures are encoded.

    Examples
    --------
    >>> from kabc.arms.tallies import Failures
    >>> Failures(3, {"status 500": 2, "timeout": 1}, "timed out", tries=40).share
    0.075
    """

    count: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    last: str = ""
    tries: int = 0
    values: int = 0

    @property
    def share(self) -> float:
        """The part of all tries that failed."""
        return self.count / self.tries if self.tries else 0.0

    def since(self, before: Failures) -> Failures:
        """What came after an earlier count of the same arm."""
        kinds = dict(Counter(self.kinds) - Counter(before.kinds))
        count = self.count - before.count
        return Failures(
            count, kinds, self.last if count else "", self.tries - before.tries, self.values - before.values
        )


class Tally:
    """Counts the tries of one arm. They may come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: Counter[str] = Counter()
        self._tries = 0
        self._last = ""

    @property
    def failures(self) -> Failures:
        """What was counted so far."""
        with self._lock:
            kinds = dict(self._kinds.most_common())
            return Failures(sum(kinds.values()), kinds, self._last, self._tries)

    def succeeded(self) -> None:
        """Count a try that gave a sample."""
        with self._lock:
            self._tries += 1

    def failed(self, kind: str, said: str) -> bool:
        """Count a try that failed. Whether that was the last of the first tries, and none of them succeeded."""
        with self._lock:
            self._tries += 1
            self._kinds[kind] += 1
            said = hide_words(said)  # what it quotes may name keys of its own
            self._last = said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."
            return self._kinds.total() == self._tries >= FIRST_TRIES


def failures_of(arm: object) -> Failures:
    """What an arm says of its failures; none, if it says nothing."""
    said = getattr(arm, "failures", None)
    return said if isinstance(said, Failures) else Failures()


def with_counts(
    notes: Sequence[str], failures: Mapping[Hashable, Failures], drawn: Mapping[Hashable, int]
) -> tuple[str, ...]:
    """The notes; the one on encoded failures with how many samples of which arms are failures."""
    return tuple(f"{note}; {_of_arms(failures, drawn)}" if note == ENCODED else note for note in notes)


def _of_arms(failures: Mapping[Hashable, Failures], drawn: Mapping[Hashable, int]) -> str:
    failing = {name: one.values for name, one in failures.items() if one.values}
    if not failing:
        return "no value is a failure"
    first, *others = sorted(failing, key=lambda name: -failing[name] / max(drawn[name], 1))
    verdict = "is a failure" if failing[first] == 1 else "are failures"
    said = f"{failing[first]:,} of {counted(drawn[first], 'value')} of {first} {verdict}"
    if not others:
        return said
    more, rows = sum(failing[name] for name in others), sum(drawn[name] for name in others)
    return f"{said}, and {more:,} of {rows:,} of {counted(len(others), 'other arm')}"
