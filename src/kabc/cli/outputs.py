"""The files that a command writes beside what it prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kabc.core.errors import SettingsError
from kabc.core.files import expect_writable, first_same
from kabc.results.values import Result

Write = Callable[[Result, str], None]


@dataclass(frozen=True)
class Outputs:
    """Paths of the answer, the report and the JUnit file, where they are asked for; whether GitHub listens."""

    save: str | None = None
    report: str | None = None
    junit: str | None = None
    github: bool = False
    title: str | None = None  # of the report

    @property
    def summary(self) -> str | None:
        """The step summary of GitHub Actions, where there is one."""
        return (os.environ.get("GITHUB_STEP_SUMMARY") or None) if self.github else None

    def expect_usable(self, inputs: Sequence[str | Path]) -> None:
        """Refuse files that cannot be written, or that would replace an input file or each other."""
        named = {"--save": self.save, "--report": self.report, "--junit": self.junit}
        given = {option: path for option, path in named.items() if path is not None}
        for path in [*given.values(), *filter(None, [self.summary])]:
            expect_writable(path)
        for option, path in given.items():
            if first_same(path, inputs) is not None:
                raise SettingsError(f"{option} {path} is a file that this run reads; choose another path")
        seen: dict[str, str] = {}
        for option, path in given.items():
            for earlier, other in seen.items():
                if first_same(path, [other]) is not None:
                    raise SettingsError(
                        f"{earlier} and {option} are the same file, {path}; choose another path for one of them"
                    )
            seen[option] = path

    def writers(self) -> list[tuple[str, str, Write]]:
        """What each file is called in the output, its path, and how it is written."""
        found: list[tuple[str, str | None, Write]] = [
            ("saved", self.save, Result.save),
            ("report", self.report, partial(_report, self.title)),
            ("junit", self.junit, _junit),
            ("summary", self.summary, _summary),
        ]
        return [(name, path, write) for name, path, write in found if path is not None]


def _report(title: str | None, result: Result, path: str) -> None:
    from kabc.report.html import write_report

    write_report(result, path, title)


def _junit(result: Result, path: str) -> None:
    from kabc.cli.junit import write_junit

    write_junit(result, path)


def _summary(result: Result, path: str) -> None:
    from kabc.cli.github import add_summary

    add_summary(result, path)
