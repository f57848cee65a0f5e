"""A saved answer of kabc is no table of samples: people pass it where they mean `kabc show`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kabc.core.errors import SettingsError

_ANSWER = re.compile(rb'\s*\{\s*"format"\s*:\s*"kabc result"')
_START = 200  # bytes; the format is the first key


def refuse_saved_answer(path: str | os.PathLike[str]) -> None:
    """Say what a saved answer is for. Any other file is left to its reader."""
    file = Path(path)
    if not file.is_file():
        return
    with file.open("rb") as opened:
        start = opened.read(_START)
    if _ANSWER.match(start):
        name = os.fspath(path)
        raise SettingsError(
            f"{name!r} is a saved answer of kabc, and has no samples to compare; use kabc show {name}, or in Python "
            f"kabc.load_result({name!r})"
        )
