"""The runs of a folder: one JSON line each, written as soon as the run ends."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from kabc.bench.play import Job, Outcome
from kabc.core.errors import SettingsError

_START = b'{"job": '  # start of every line written here
_NAMED = 5  # a notice names at most this many lines


class RunLog:
    """The file `runs.jsonl` of a folder. Lines that are not runs stay in it and are skipped. `notices` lists them."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "runs.jsonl"
        self.done: dict[Job, Outcome] = {}
        self.notices: list[str] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                self._read(self.path.read_bytes().splitlines(keepends=True))
        except OSError as error:
            raise SettingsError(f"cannot use {str(self.path)!r}: {error.strerror}; choose another folder") from error

    def _read(self, lines: list[bytes]) -> None:
        if lines and not lines[-1].endswith(b"\n"):
            self._mend(lines.pop())
        old, bad = 0, []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                if "code" not in row["job"]:
                    old += 1
                    continue
                self.done[Job.of_row(row["job"])] = Outcome.of_row(row["outcome"])
            except (ValueError, TypeError, KeyError, RecursionError):
                bad.append(number)
        if old:
            counted = "1 run is" if old == 1 else f"{old:,} runs are"
            self.notices.append(
                f"{self.path}: {counted} from an earlier version of kabc, which did not store the strategy code; "
                "kabc bench repeats what it needs"
            )
        if bad:
            more = f" and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
            named = ("line " if len(bad) == 1 else "lines ") + ", ".join(map(str, bad[:_NAMED])) + more
            self.notices.append(f"{self.path}: skipped {named}, not a run of kabc bench")

    def _mend(self, torn: bytes) -> None:
        """Handle a last line without an end. A killed run left it: remove it. If kabc did not write it, keep it."""
        if _START.startswith(torn[: len(_START)]):
            os.truncate(self.path, self.path.stat().st_size - len(torn))
            return
        self.notices.append(f"{self.path}: skipped the last line, not a run of kabc bench")
        with self.path.open("ab") as file:
            file.write(b"\n")

    def add(self, job: Job, outcome: Outcome) -> None:
        """Store an outcome, first on disk and then in memory."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"job": asdict(job), "outcome": outcome.as_row()}) + "\n")
        self.done[job] = outcome
