"""A study in figures, for people and programs. No sample is read for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kabc.cli.times import ago, day
from kabc.core.words import counted, few, named, shown
from kabc.running.identity import is_gone
from kabc.storage.contract import Note, Storage, StudyRecord, Summary, Ticket, WorkerRecord
from kabc.study.documents import facts_of_document
from kabc.study.spec import Spec

_SILENT = 60.0  # seconds without a sign of life after which a worker is taken for gone
_WORKERS = 12  # that are named
_NOTES = 3  # that are shown whole
_TECHNICAL = ("ticket", "lease", "piece", "counted")  # in notes, for programs


@dataclass(frozen=True)
class Status:
    """What a store knows of a study at one moment, by the store's clock."""

    summary: Summary
    workers: Sequence[WorkerRecord]
    leases: Sequence[Ticket]
    notes: Sequence[Note]
    now: float

    @classmethod
    def of(cls, storage: Storage, study: StudyRecord, before: Status | None = None) -> Status:
        """As it is now. With an earlier look, only the notes since then are read."""
        known = [] if before is None else list(before.notes)
        notes = known + storage.notes(study.id, known[-1].id if known else 0)
        return cls(storage.summary(study.id), storage.workers(study.id), storage.leases(study.id), notes, storage.now())

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
            "samples_per_arm": {name: seen.samples_per_arm.get(i, 0) for i, name in enumerate(self.arms)},
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
            "notes": dict(Counter(one.kind for one in self.notes)),
        }

    # ------------------------------------------------------------ words

    def lines(self) -> list[str]:
        """For people."""
        return [self.head(), self.asked(), self.progress(), *self.worker_lines(), *self.note_lines()]

    def head(self) -> str:
        """What it is, and since when."""
        changed = f"last change {ago(self.now - self.summary.last_change)}"
        return f"{named(self.study.name)}: {self.how}, created {day(self.study.created)}, {changed}"

    def asked(self) -> str:
        """What the study is to find out."""
        spec = self.spec
        groups = "number of groups not known" if spec.n_clusters is None else counted(spec.n_clusters, "group")
        parts = [counted(len(self.arms), "arm"), groups]
        parts += [] if spec.tolerance is None else [f"tolerance {spec.tolerance}"]
        parts += [] if spec.delta is None else [f"delta {spec.delta:g}"]
        return shown(f"asks: {', '.join([*parts, f'strategy {spec.strategy}', f'seed {spec.seed}'])}")

    def progress(self) -> str:
        """How far it is."""
        seen = self.summary
        if not seen.n_rounds:
            return "nothing drawn yet"
        budget = "" if self.max_samples is None else f" of at most {self.max_samples:,}"
        spent = f", spent {self.spent:,.4g}" if self.price else ""
        return f"{self.round_line()}; {counted(seen.n_samples, 'sample')}{budget}{spent}"

    def round_line(self) -> str:
        """How far the latest round is."""
        seen = self.summary
        if self.study.state == "ended":
            return counted(seen.n_rounds, "round")
        total = sum(seen.tickets.values())
        states = [f"{seen.tickets.get('done', 0):,} of {counted(total, 'draw')} done"]
        states += [f"{count:,} {state}" for state in ("leased", "open", "failed") if (count := seen.tickets.get(state))]
        return f"{counted(seen.n_rounds, 'round')}, the last one with {', '.join(states)}"

    def worker_lines(self) -> list[str]:
        """Who is at work, on what."""
        if not self.workers:
            return ["workers: none yet"]
        gone = len(self.workers) - len(self.at_work)
        held_now = f"; {counted(len(self.leases), 'lease')}" if self.leases else ""
        lines = [f"workers: {len(self.at_work):,} at work" + (f", {gone:,} gone" if gone else "") + held_now]
        held: dict[str, list[Ticket]] = {}
        for ticket in self.leases:
            held.setdefault(ticket.worker, []).append(ticket)
        busy = [one for one in self.workers if one.name in held or one in self.at_work]
        for one in busy[:_WORKERS]:
            drawing = self._drawing(held.get(one.name, []))
            seen = "gone" if is_gone(one.facts) else f"seen {ago(self.now - one.last_seen)}"
            lines.append(f"  {named(one.name)}: {drawing}, {seen}")
        return lines + ([f"  and {len(busy) - _WORKERS:,} more"] if len(busy) > _WORKERS else [])

    def _drawing(self, leases: Sequence[Ticket]) -> str:
        if not leases:
            return "no draw"
        arms = Counter(named(self.arm(one.arm)) for one in leases)
        texts = [name if count == 1 else f"{name} ({count})" for name, count in arms.items()]
        lapsed = sum(one.expires < self.now for one in leases)
        return f"draws {few(texts)}" + (f" ({counted(lapsed, 'lease')} lapsed)" if lapsed else "")

    def note_lines(self) -> list[str]:
        """What happened that is out of the ordinary."""
        if not self.notes:
            return []
        kinds = Counter(one.kind for one in self.notes)
        counts = ", ".join(f"{count:,} {shown(kind)}" for kind, count in kinds.items())
        latest = (f"  {ago(self.now - one.written)}: {self.note_line(one)}" for one in self.notes[-_NOTES:])
        return [f"notes: {counts}", *latest]

    def note_line(self, note: Note) -> str:
        """One note."""
        body = dict(note.body)
        number = body.pop("arm", None)
        parts = [] if number is None else [f"arm {self.arm(number)}"]
        if note.kind == "limits":
            return shown(f"limits: {_budget(body.get('before'))} before, {_budget(body.get('now'))} now")
        if note.kind == "worker-effect":
            return shown(f"{note.kind}: {body.get('line', '')}")
        parts += [f"{key} {value}" for key, value in body.items() if key not in _TECHNICAL]
        return shown(note.kind + (f": {', '.join(parts)}" if parts else ""))


def _budget(limits: object) -> str:
    most = limits.get("max_samples") if isinstance(limits, Mapping) else None
    return f"at most {most:,} samples" if isinstance(most, int) else "no limit"
