"""A run that is kept as a study: what is there of it already, in words."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass

from kabc.core.words import counted, named, shown
from kabc.results.values import Result
from kabc.storage.contract import Storage, StudyRecord
from kabc.study.spec import Spec


@dataclass(frozen=True)
class Kept:
    """The study of a run; without a record if it is new."""

    storage: Storage
    name: str
    record: StudyRecord | None

    @classmethod
    def of(cls, storage: Storage, name: str) -> Kept:
        """As it is in the store."""
        return cls(storage, name, storage.load_study(name) if name in storage.study_names() else None)

    @property
    def seed(self) -> int | None:
        """That of a study which is there: the same samples are asked for again."""
        return None if self.record is None else Spec.of_json(self.record.spec, self.name).seed

    def first_line(self) -> str:
        """What is there already."""
        start = f"study {named(self.name)}"
        if self.record is None:
            return f"{start}: new, kept in {self.storage.url}"
        samples = counted(self.storage.summary(self.record.id).n_samples, "sample")
        if self.record.state == "ended":
            return f"{start}: ended before, {samples}; nothing is drawn"
        told = self._rounds_told()
        return f"{start}: going on " + (f"after round {told}, {samples}" if told else f"in its first round, {samples}")

    def budget(self, asked: int | None) -> int | None:
        """What a line may change of the budget. Raising it lets a study go on; the same line again must not undo that.

        None: the budget of the study stays as it is.
        """
        if self.record is None or asked is None:
            return asked
        now = self.record.limits.get("max_samples")
        return asked if isinstance(now, int) and asked > now else None

    def budget_line(self, asked: int | None) -> str:
        """That the larger budget counts, where it is not that of the line."""
        if self.record is None or asked is None or self.budget(asked) == asked:
            return ""
        now = self.record.limits.get("max_samples")
        if now == asked:
            return ""
        counts = "it has no limit" if now is None else f"its budget of {now:,} samples counts"
        return f"study {named(self.name)}: {counts}, not --max-samples {asked}; kabc study raise-budget changes it"

    def _rounds_told(self) -> int:
        """The number of the last round whose draws are all there."""
        assert self.record is not None
        study, n_rounds = self.record.id, self.storage.summary(self.record.id).n_rounds
        # the first round is number 0 where there is a pilot, else number 1
        latest = n_rounds if self.storage.tickets(study, n_rounds) else n_rounds - 1
        whole = all(one.state == "done" for one in self.storage.tickets(study, latest))
        return latest if whole else latest - 1

    def say_how_to_go_on(self, result: Result) -> None:
        """Say on standard error that nothing is lost."""
        line = f"study {self.name}: {counted(result.n_samples, 'sample')} are kept; the same line goes on"
        with suppress(OSError):
            print(shown(line), file=sys.stderr)
