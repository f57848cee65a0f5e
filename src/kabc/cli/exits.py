"""How a command ends: exit codes, one-line errors, strict JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from shlex import quote
from typing import Any

DECIDED = 0
FAULT = 1
BAD_INPUT = 2
UNDECIDED = 3
CONTRADICTED = 4
CHANGED = 5
DOUBTFUL = 6

_OF_STATUS = {"decided": DECIDED, "contradicted": CONTRADICTED, "doubtful": DOUBTFUL}

# names of Python settings in messages
_BARE = re.compile(r"\b(n_clusters|n_arms|max_samples|min_separation|strategy_options|check_k)\b(?:=None)?")
_WITH_EQUALS = r"\b(arm|values|types|missing|wide|gap|pilot|seed|workers|delta|on_failure|measure)="
_FLAG = re.compile(_WITH_EQUALS + r"(?:True|None|(?=[\s,;:)]|$))")
_VALUED = re.compile(_WITH_EQUALS)
_TYPES = re.compile(r"--types \{(?P<column>'[^']*'|\"[^\"]*\"): '(?P<kind>\w+)'\}")
_SPELLED = {"n_clusters": "--clusters", "n_arms": "the number of arms", "strategy_options": "--option"}


def for_the_shell(message: str) -> str:
    """The message with Python settings replaced by command-line options."""
    text = message.replace("Try a larger number of groups.", "Try a larger --clusters.")
    text = _BARE.sub(lambda found: _option(found[1]), text)
    text = _FLAG.sub(lambda found: _option(found[1]), text)
    text = _VALUED.sub(lambda found: _option(found[1]) + " ", text)
    # last, because a column may have the name of a setting
    return _TYPES.sub(lambda found: "--types " + quote(f"{found['column'][1:-1]}={found['kind']}"), text)


def _option(name: str) -> str:
    return _SPELLED.get(name, "--" + name.replace("_", "-"))


def of_status(status: str) -> int:
    """The exit code of an answer."""
    return _OF_STATUS.get(status, UNDECIDED)


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON document on standard output. NaN and infinity are errors, as in the JSON standard."""
    print(json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False))


def fail(message: str, code: int, *, as_json: bool) -> int:
    """Print what is wrong in one line for people, and as JSON on request. Returns the exit code."""
    line = " ".join(message.split())
    print(f"kabc: error: {line}", file=sys.stderr)
    if as_json:
        print_json({"error": line})
    return code
