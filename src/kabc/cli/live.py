"""Progress on standard error while a run draws: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kabc.core.evidence.pairs import Evidence
from kabc.results.values import Result
from kabc.strategies.answers import Round
from kabc.strategies.base import Strategy

_QUIET_SECONDS = 2.0  # shorter runs say nothing
_PLAIN_SECONDS = 5.0  # between two plain lines
_LOOK_SECONDS = 0.5  # between two looks at the evidence


@dataclass(frozen=True)
class _Seen:
    """What there is to say after a look at the evidence."""

    told_apart: int
    decided: int
    more: int | None  # samples left, an estimate


class Progress:
    """Shows how far a run is. `strategy` is asked for its evidence where there is one to ask."""

    def __init__(self, n_arms: int, price: float, strategy: Strategy | None, *, quiet: bool) -> None:
        self._n_arms, self._price, self._strategy = n_arms, price, strategy
        self._start = monotonic()
        self._next_look = self._start
        self._next_line = self._start + _QUIET_SECONDS
        self._doing = ""
        self._round: Round | None = None
        self._seen: _Seen | None = None
        self._quiet = quiet
        self._panel: AbstractContextManager[Any] = nullcontext() if quiet or not sys.stderr.isatty() else self._live()
        self._plain = not quiet and isinstance(self._panel, nullcontext)

    def _live(self) -> AbstractContextManager[Any]:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def text() -> Text:  # called by rich's own thread: only reads
            return Text(self.summary() if self._elapsed() > _QUIET_SECONDS else "")

        return Live(console=Console(stderr=True), get_renderable=text, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._panel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._panel.__exit__(kind, error, trace)

    def doing(self, line: str) -> None:
        """What the run is at, within a round."""
        self._doing = line
        self._maybe_print()

    def after(self, seen: Round) -> None:
        """A round is over."""
        self._round, self._doing = seen, ""
        now = monotonic()
        if not self._quiet and self._strategy is not None and now >= max(self._next_look, self._start + 1):
            self._seen = _look(self._strategy)
            # many arms make a look costly: never more than a tenth of the time
            self._next_look = monotonic() + max(_LOOK_SECONDS, 9 * (monotonic() - now))
        self._maybe_print()

    def _elapsed(self) -> float:
        return monotonic() - self._start

    def _maybe_print(self) -> None:
        if self._plain and monotonic() >= self._next_line:
            print(self.summary().replace("\n", "; "), file=sys.stderr, flush=True)
            self._next_line = monotonic() + _PLAIN_SECONDS

    def summary(self) -> str:
        """Everything known, in a few short lines."""
        if self._round is None:
            return f"{clock(self._elapsed())}: {self._doing or 'starting'}"
        samples = self._round.n_samples
        spend = f", spent {self._price * samples:,.4g}" if self._price else ""
        found = f"{self._round.n_groups} group(s) found"
        lines = [f"{clock(self._elapsed())}: round {self._round.number}, {samples:,} samples{spend}, {found}"]
        if self._seen is not None:
            pairs = math.comb(self._n_arms, 2)
            lines.append(
                f"{self._seen.told_apart:,} of {pairs:,} pairs told apart, {self._seen.decided:,} of "
                f"{self._n_arms:,} arms decided"
            )
            lines += [self._left(self._seen.more, samples)] if self._seen.more else []
        return "\n".join([*lines, self._doing] if self._doing else lines)

    def _left(self, more: int, samples: int) -> str:
        seconds = more * self._elapsed() / samples
        return f"about {_rounded(more):,} samples and {clock(seconds)} left (an estimate, as evidence grew so far)"


def _look(strategy: Strategy) -> _Seen:
    """The answer as it would be if the run were stopped now."""
    evidence, labels = strategy.evidence(), strategy.recommend().labels
    now = Result(
        names=tuple(range(strategy.n_arms)),
        labels=labels,
        status="interrupted",
        evidence=evidence,
        samples_per_arm={},
        rounds=tuple(strategy.rounds),
        guarantee=strategy.guarantee(),
        delta=strategy.delta,
        n_clusters=strategy.n_clusters,
        n_groups_at_least=strategy.n_groups_at_least,
        kernel="",
        seed=0,
    )
    decided = _decided(evidence, np.asarray(labels)) if strategy.n_clusters is not None else 0
    return _Seen(evidence.n_told_apart, decided, sum((now.needs or {}).values()) or None)


def _decided(evidence: Evidence, labels: NDArray[np.intp]) -> int:
    """Arms that are told apart from a member of every other group of the guess."""
    belongs = labels[:, None] == np.arange(labels.max() + 1)  # (N, G)
    against = evidence.told_apart.astype(np.float32) @ belongs.astype(np.float32) > 0
    return int(np.count_nonzero((against | belongs).all(axis=1))) if belongs.shape[1] > 1 else 0


def clock(seconds: float) -> str:
    """A duration, short."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole / 3600:.1f} h"


def _rounded(count: int) -> int:
    """Two digits: an estimate should not look exact."""
    return count if count < 10 else int(round(count, 1 - math.floor(math.log10(count))))
