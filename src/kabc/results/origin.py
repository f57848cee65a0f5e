"""Where an answer comes from: when it was found, from what, by which command."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Origin:
    """When, where and how an answer was found. Keys and passwords are hidden in all of it.

    Attributes
    ----------
    date : str
        When the run ended, in UTC, such as "2026-01-31T09:30:00+00:00".
    source : str
        Where the samples came from: a file, a query, programs or hosts. Empty for Python functions and arrays.
    command : str
        The command line. Empty if the answer was found in Python.
    version : str
        Of kabc.
    """

    date: str
    source: str = ""
    command: str = ""
    version: str = ""


def origin_now(source: str) -> Origin:
    """The origin of an answer that is found now."""
    from kabc import __version__

    return Origin(datetime.now(UTC).isoformat(timespec="seconds"), source, version=__version__)


def day_and_time(date: str) -> str:
    """A date for people: "2026-01-31 09:30 UTC"; as it is if it is none."""
    try:
        known = datetime.fromisoformat(date)
    except ValueError:
        return date
    return f"{known.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if known.tzinfo else f"{known:%Y-%m-%d %H:%M}"
