"""A study in figures. No sample is read for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from kabc.running.identity import is_gone
from kabc.running.so_far import known_so_far
from kabc.storage.contract import Json, Note, Storage, StudyRecord, Summary, Ticket, WorkerRecord
from kabc.study.categories import is_event
from kabc.study.documents import facts_of_document
from kabc.study.failures import failures_in
from kabc.study.spec import Spec

_SILENT = 60.0  # seconds without a sign of life after which a worker is taken for gone


@dataclass(frozen=True)
class Figures:
    """What a store knows of a study at one moment, by the store's clock."""

    summary: Summary
    workers: Sequence[WorkerRecord]
    leases: Sequence[Ticket]
    notes: Sequence[Note]
    now: float
    samples_per_arm: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, storage: Storage, study: StudyRecord, before: Self | None = None) -> Self:
        """As it is now. With an earlier look, only the notes since then are read."""
        known = [] if before is None else list(before.notes)
        notes = known + storage.notes(study.id, known[-1].id if known else 0)
        return cls(
            storage.summary(study.id),
            storage.workers(study.id),
            storage.leases(study.id),
            notes,
            storage.now(),
            storage.samples_per_arm(study.id),
        )

    @property
    def study(self) -> StudyRecord:
        """The study as it is kept."""
        return self.summary.study

    @cached_property
    def spec(self) -> Spec:
        """What it asks."""
        return Spec.of_json(self.study.spec, self.study.name)

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(map(str, self.spec.names))

    def arm(self, number: object) -> str:
        """The name of an arm; of one that is not there, its number."""
        if isinstance(number, int) and 0 <= number < len(self.arms):
            return self.arms[number]
        return str(number)

    @property
    def how(self) -> str:
        """Its state; of a study that has ended, how."""
        if self.study.state == "ended" and self.study.answer is not None:
            return f"ended ({self.study.answer.get('status')})"
        return self.study.state

    @cached_property
    def at_work(self) -> list[WorkerRecord]:
        """Workers that gave a sign of life not long ago, but for processes of this machine that have ended."""
        return [one for one in self.workers if self.now - one.last_seen <= _SILENT and not is_gone(one.facts)]

    @property
    def left_behind(self) -> list[Ticket]:
        """Leases that nobody renews any more: they lapsed, or the process of their worker has ended."""
        gone = {one.name for one in self.workers if is_gone(one.facts)}
        return [one for one in self.leases if one.expires < self.now or one.worker in gone]

    @property
    def max_samples(self) -> int | None:
        """The budget."""
        return self.study.limits.get("max_samples")

    @cached_property
    def price(self) -> float:
        """Of one sample; 0 as long as nobody had the arms."""
        facts = self.study.facts
        return 0.0 if facts is None else facts_of_document(facts, len(self.arms), self.study.name).price

    @cached_property
    def so_far(self) -> Json | None:
        """Groups and forecast as far as the store knows: see `kabc.running.so_far`."""
        return known_so_far(self.study, self.workers)

    @property
    def spent(self) -> float:
        """The bill so far."""
        return self.price * self.summary.n_paid

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        seen = self.summary
        return {
            "study": self.study.name,
            "state": self.study.state,
            "status": None if self.study.answer is None else self.study.answer.get("status"),
            "question": self.spec.question(),
            "limits": dict(self.study.limits),
            "created": self.study.created,
            "last_change": seen.last_change,
            "now": self.now,
            "n_rounds": seen.n_rounds,
            "n_samples": seen.n_samples,
            "n_paid": seen.n_paid,
            "spent": self.spent,
            "samples_per_arm": {name: self.samples_per_arm.get(i, 0) for i, name in enumerate(self.arms)},
            "tickets": {state: seen.tickets.get(state, 0) for state in ("open", "leased", "done", "failed")},
            "workers": [
                {"name": one.name, "first_seen": one.first_seen, "last_seen": one.last_seen, "facts": one.facts}
                for one in self.workers
            ],
            "leases": [
                {"ticket": one.id, "arm": self.arm(one.arm), "count": one.count, "lease": one.lease}
                | {"worker": one.worker, "expires": one.expires, "deaths": one.deaths}
                for one in self.leases
            ],
            "failures": {self.arm(arm): sum(kinds.values()) for arm, (kinds, _) in failures_in(self.notes).items()},
            "notes": dict(Counter(one.kind for one in self.notes if is_event(one))),
        }
