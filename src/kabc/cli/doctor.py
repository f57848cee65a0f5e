"""`kabc doctor`: is everything here that studies need, and is the store well?"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from kabc.cli import exits
from kabc.cli import options as common
from kabc.cli.stores import VARIABLE, StorageOption
from kabc.core.words import counted, shown

Level = Literal["ok", "warning", "problem"]

_NEEDED = ("numpy", "scipy")
_EXTRAS = {"sqlalchemy": "storage", "alembic": "storage", "pyarrow": "data", "duckdb": "data", "numba": "fast"}
_SAFE_SQLITE = (3, 51, 3)  # from here on the log of changes is never reset under a writer


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what to do about it."""

    what: str
    found: str
    level: Level = "ok"
    cure: str = ""

    def line(self, width: int) -> str:
        """For people."""
        return shown(f"{self.level:<8} {self.what:<{width}} {self.found}" + (f"; {self.cure}" if self.cure else ""))


def doctor(storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False) -> int:
    """Check versions, and a store of studies: can it be written, are clocks right, did workers leave draws behind?

    Exit 0: no problem, 3: a problem.

    Example: kabc doctor --storage kabc.db
    """
    import os

    findings = list(versions())
    given = storage or os.environ.get(VARIABLE)
    if given:
        from kabc.cli.checkup import of_store
        from kabc.core.secrets import hide_url
        from kabc.running.progress import Ticker

        show = Ticker(None)
        with show.during(f"looking at {hide_url(given)}"):
            findings += of_store(given)
        show.done()
    problems = sum(one.level == "problem" for one in findings)
    if as_json:
        exits.print_json({"findings": [asdict(one) for one in findings], "n_problems": problems})
    else:
        width = max(len(one.what) for one in findings)
        for one in findings:
            print(one.line(width))
        warnings = sum(one.level == "warning" for one in findings)
        print(f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}")
    return exits.UNDECIDED if problems else exits.DECIDED


def versions() -> Iterator[Finding]:
    """What is installed."""
    from kabc import __version__

    yield Finding("kabc", __version__)
    yield Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in _NEEDED:
        yield Finding(name, _version(name) or "?")
    for name, extra in _EXTRAS.items():
        found = _version(name)
        if found is not None:
            yield Finding(name, found)
        elif extra == "storage":
            yield Finding(name, "not installed", "warning", f"studies need it: pip install 'kabc[{extra}]'")
        else:
            yield Finding(name, f"not installed (pip install 'kabc[{extra}]' brings it)")
    yield _sqlite()
    found = _version("psycopg")
    yield Finding("psycopg", found or "not installed (for PostgreSQL: pip install 'kabc[postgres]')")


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _sqlite() -> Finding:
    import sqlite3

    if sqlite3.sqlite_version_info >= _SAFE_SQLITE:
        return Finding("sqlite", f"{sqlite3.sqlite_version}, with the fix of the WAL-reset fault")
    fixed = ".".join(map(str, _SAFE_SQLITE))
    return Finding(
        "sqlite",
        f"{sqlite3.sqlite_version} has the WAL-reset fault: a file with several writers may be damaged, very rarely",
        "warning",
        f"use a Python with SQLite {fixed} or later, or PostgreSQL",
    )
