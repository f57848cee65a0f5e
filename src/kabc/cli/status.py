"""A study in figures, in words for people. No sample is read for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kabc.cli.times import ago, day
from kabc.core.words import counted, few, named, shown
from kabc.running.identity import is_gone
from kabc.running.status import Figures
from kabc.storage.contract import Note, Ticket
from kabc.study.categories import is_event

_WORKERS = 12  # that are named
_NOTES = 3  # that are shown whole
_TECHNICAL = ("ticket", "lease", "piece", "counted")  # in notes, for programs


class Status(Figures):
    """What a store knows of a study at one moment, in words."""

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
        events = [one for one in self.notes if is_event(one)]
        if not events:
            return []
        kinds = Counter(one.kind for one in events)
        counts = ", ".join(f"{count:,} {shown(kind)}" for kind, count in kinds.items())
        latest = (f"  {ago(self.now - one.written)}: {self.note_line(one)}" for one in events[-_NOTES:])
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
