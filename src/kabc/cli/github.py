"""A check for GitHub Actions: an annotation on standard output, and a part of the step summary."""

from __future__ import annotations

import html
import secrets
from pathlib import Path

from kabc.cli import exits
from kabc.cli.show import Look, answer_text
from kabc.core.errors import SettingsError
from kabc.results import words
from kabc.results.values import Result

_LEVELS = {exits.DECIDED: "notice", exits.UNDECIDED: "warning"}


def annotation(result: Result) -> str:
    """The command that makes GitHub show the answer beside the job, on one line."""
    level = _LEVELS.get(exits.of_result(result), "error")
    return f"::{level} title=kabc check::{_escaped(exits.for_the_shell(words.headline(result)))}"


def silenced(text: str) -> str:
    """The text between two marks, so that no line of it is taken for a command. Names of arms may look like one."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::"


def add_summary(result: Result, path: str) -> None:
    """Append the answer to a Markdown file. Within <pre> nothing is Markdown, and no name can end it."""
    verdict = "not known" if result.verdict == "open" else result.verdict
    verdict = "doubtful" if result.assumptions else verdict
    said = html.escape(answer_text(result, Look()))
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"### kabc check: {verdict}\n\n<pre>\n{said}\n</pre>\n\n")
    except OSError as error:
        raise SettingsError(f"cannot write {path!r}: {error.strerror}; choose another path") from error


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
