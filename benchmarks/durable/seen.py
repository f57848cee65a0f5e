"""What was seen, one row for each test, as a table."""

from __future__ import annotations

import platform
import sqlite3
import subprocess
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
    """Of packages, Python, databases and the processor, in one line."""
    named = ", ".join(f"{name} {version(name)}" for name in packages)
    homes = f"SQLite {sqlite3.sqlite_version}, {_postgresql()}"
    return f"{named}, Python {platform.python_version()}, {homes}, {_processor()}"


def _postgresql() -> str:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        return "no PostgreSQL"
    said = subprocess.run([found[-1], "--version"], capture_output=True, text=True, check=True).stdout
    return f"PostgreSQL {said.split()[2]}"


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores" if models else platform.processor()
