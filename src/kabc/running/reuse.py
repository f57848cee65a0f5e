"""Samples of an earlier study, read before new ones are drawn. Theory: docs/theory.md, section 29.

The samples of an arm are one sequence, whoever reads it: the recorded ones in the order in which they were drawn, then
the anchors, then what else is drawn. A run reads it from the start. Recorded samples need no tickets: they are in the
store already, and only the process that tells rounds reads them.

Before the first of them is read, the anchors are drawn and compared (`anchors.py`). If they differ, the record is
dropped, and the anchors with it: what is drawn after them does not depend on that decision.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.core.samples import as_rows, two_dimensional
from kabc.core.words import counted
from kabc.running.anchors import LOOK, Anchored, compare
from kabc.running.settings import Settings
from kabc.strategies.base import Request
from kabc.study.growth import joined

Pieces = Mapping[int, Sequence[Any]]  # arm -> what its draws of a round gave, in their order

_IN_THE_END = 3  # new samples of arms with a record, for each new one of the arm that has most of them

NOT_CHOSEN = "the question (arms, K, delta, tolerance) was not chosen by looking at the recorded samples (not checked)"


class Reuse:
    """The recorded samples of a run, and which of them were read.

    Parameters
    ----------
    study : str
        The study that they come from.
    rows : sequence of arrays
        Of each arm, all samples in the order in which they were drawn, (m,) or (m, d); None for arms without any.
    live : sequence of bool
        Whether the arm can still be drawn.
    anchors : int
        New samples of each live arm with a record, before the record is read.
    """

    def __init__(self, study: str, rows: Sequence[NDArray[Any] | None], live: Sequence[bool], anchors: int) -> None:
        self.study, self.anchors = study, anchors
        self._rows = [np.zeros((0, 1)) if one is None else two_dimensional(as_rows(one)) for one in rows]
        self._n_old = [len(one) for one in self._rows]
        self._anchored = [can and len(one) > 0 for can, one in zip(live, self._rows, strict=True)]
        self._stage: Literal["anchors", "rounds", "end"] = "anchors"
        self.drawn = [0] * len(self._rows)  # new samples of each arm
        self._told = [0] * len(self._rows)  # of these, told to the strategy
        self.read = [0] * len(self._rows)  # samples of the record, with its anchors, that were told
        self._new: list[list[NDArray[Any]]] = [[] for _ in self._rows]  # of arms with anchors
        self.judged: Anchored | None = None  # None: the anchors are not drawn yet

    @property
    def width(self) -> int | None:
        """Columns of the recorded samples; None: there are none."""
        return next((one.shape[1] for one in self._rows if len(one)), None)

    # ------------------------------------------------------------ anchors

    @property
    def open(self) -> bool:
        """Whether the record is read."""
        return self.judged is not None and self.judged.passed

    @property
    def share(self) -> float:
        """What delta is divided by: a restart after a false alarm is paid for too."""
        return 1 + LOOK if any(self._anchored) else 1.0

    def request(self) -> Request:
        """The anchors."""
        return {arm: self.anchors for arm, anchored in enumerate(self._anchored) if anchored}

    def judge(self, names: Sequence[Hashable], seed: int, columns: Sequence[str]) -> Anchored:
        """The anchors are drawn: from now on the record is read, with the anchors after it, or it is dropped."""
        self.judged = self._compared(names, seed, columns)
        self._stage = "rounds"
        if self.judged.passed:
            for arm, new in enumerate(self._new):
                if new:
                    self._rows[arm] = joined(arm, [self._rows[arm], *new])
        return self.judged

    def in_the_end(self, budget: int | None) -> Request:
        """The rounds are over: new samples of arms with a record, so that a drift shows that could tell arms apart."""
        self._stage = "end"
        arms = list(self.request())
        if not self.open or not arms:
            return {}
        each = math.ceil((_IN_THE_END * max(self.drawn) - sum(self.drawn[arm] for arm in arms)) / len(arms))
        if budget is not None:
            each = min(each, (budget - sum(self.drawn)) // len(arms))
        return dict.fromkeys(arms, each) if each > 0 else {}

    def judge_again(self, names: Sequence[Hashable], seed: int, columns: Sequence[str]) -> Anchored | None:
        """Compare all new samples of arms with a record; None where no record was read."""
        return self._compared(names, seed, columns) if self.open else None

    def _compared(self, names: Sequence[Hashable], seed: int, columns: Sequence[str]) -> Anchored:
        new = {arm: joined(arm, parts) for arm, parts in enumerate(self._new) if parts}
        old = {names[arm]: self._rows[arm][: self._n_old[arm]] for arm in new}
        return compare(old, {names[arm]: rows for arm, rows in new.items()}, seed, columns)

    # ------------------------------------------------------------ rounds

    def rest(self, request: Request) -> Request:
        """What is to be drawn of a request, where the record does not have it."""
        if self._stage != "rounds" or not self.open:
            return request
        left = {arm: count - (len(self._rows[arm]) - self.read[arm]) for arm, count in request.items()}
        return {arm: count for arm, count in left.items() if count > 0}

    def merged(self, request: Request, drawn: Pieces) -> dict[int, list[Any]]:
        """The samples of a round: what the record has, then what was drawn."""
        for arm, parts in drawn.items():
            n_new = sum(map(len, parts))
            self.drawn[arm] += n_new
            self._told[arm] += n_new if self._stage == "rounds" else 0
            if self._anchored[arm] and (self._stage == "anchors" or self.open):
                self._new[arm] += [two_dimensional(as_rows(part)) for part in parts]
        if self._stage != "rounds" or not self.open:
            return {arm: list(parts) for arm, parts in drawn.items()}
        new = {arm: [two_dimensional(as_rows(part)) for part in parts] for arm, parts in drawn.items()}
        return {arm: [*self._old(arm, count), *new.get(arm, ())] for arm, count in request.items()}

    def _old(self, arm: int, count: int) -> list[NDArray[Any]]:
        """The next samples of the record, as far as it has them."""
        start = self.read[arm]
        rows = self._rows[arm][start : start + count]
        self.read[arm] += len(rows)
        return [rows] if len(rows) else []

    # ------------------------------------------------------------ what is said

    @property
    def sizes(self) -> list[int]:
        """Recorded samples of each arm."""
        return self._n_old

    @property
    def n_recorded(self) -> int:
        """Samples of the earlier study that were told."""
        return sum(min(read, n) for read, n in zip(self.read, self._n_old, strict=True))

    def unread(self, arm: int) -> int:
        """New samples of an arm that were drawn to compare them, and not told."""
        return self.drawn[arm] - self._told[arm] - max(0, self.read[arm] - self._n_old[arm])

    def lines(self) -> tuple[str, ...]:
        """What the certificate assumes because of it."""
        if not self.open or self.judged is None:
            return ()
        law = (
            f"samples of an arm have one law then and now: {counted(self.n_recorded, 'recorded sample')} of study "
            f"{self.study!r} {'was' if self.n_recorded == 1 else 'were'} read, in the order in which they were drawn"
        )
        return (f"{law}; {self.judged.message()}", NOT_CHOSEN)

    def check(self, settings: Settings) -> None:
        """Refuse before the first sample what cannot be done."""
        if settings.block not in (None, 1):
            raise SettingsError(f"recorded samples cannot be cut into blocks, got block={settings.block!r}")
        if settings.paired:
            raise SettingsError("recorded samples cannot be paired with new ones; leave reuse= out, or paired arms")
        if not isinstance(settings.chosen, str):
            raise SettingsError("recorded samples are for a strategy by name, which has seen no samples; pass its name")
        budget, total = settings.max_samples, sum(self.request().values())
        if budget is not None and total > budget:
            raise SettingsError(
                f"{self.anchors} new samples of each arm with a record are {total}, over max_samples={budget}; "
                "raise it, or lower anchors="
            )
