"""What was seen, one row for each test, as a table."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Seen:
    """A test: how often it was tried, how often all was right, what was seen."""

    test: str
    where: str
    tried: int
    right: int
    seen: str


def table(rows: Sequence[Seen]) -> str:
    """Markdown."""
    lines = ["| test | where | tried | right | seen |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(str(cell) for cell in astuple(row)) + " |" for row in rows]
    return "\n".join(lines)


def versions(*packages: str) -> str:
    """Of Python, SQLite, packages and the processor, in one line."""
    named = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{named}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {_processor()}"


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores" if models else platform.processor()
