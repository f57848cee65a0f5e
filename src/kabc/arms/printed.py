"""Numbers in what a command printed."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from kabc.arms.failures import DrawError, numbers, picked
from kabc.arms.words import cut

_CURE = "its last line must be a number, several numbers, or JSON"


def printed_numbers(text: str, json_path: str | None) -> list[float]:
    """The numbers of the last line, or those at a path of printed JSON."""
    try:
        return _read(text, json_path)
    except RecursionError:
        raise DrawError(f"printed JSON that is nested too deeply; {_CURE}", "not a number") from None


def _read(text: str, json_path: str | None) -> list[float]:
    lines = text.strip().splitlines()
    if not lines:
        raise DrawError(f"printed nothing; {_CURE}", "no output")
    if json_path is not None:
        return numbers(picked(_json(text, lines[-1]), json_path))
    try:
        return numbers(lines[-1].split())
    except DrawError:
        return numbers(_json(lines[-1]))


def _json(*texts: str) -> Any:
    """The first of the texts that is JSON. A document may have many lines, or be the last line alone."""
    for text in texts:
        with contextlib.suppress(ValueError):
            return json.loads(text)
    raise DrawError(f"printed {cut(texts[-1])}, which is neither a finite number nor JSON; {_CURE}", "not a number")
