"""Files of version 1, as kabc 0.1.0 wrote them: turned into the form of today.

The names of the fields are those of that time, whatever attributes are called by now. Names of arms are texts.
"""

from __future__ import annotations

import math
from typing import Any

from kabc.results.schema import FORMAT, VERSION

_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "U": "text"}
_AS_BEFORE = (
    *("status", "names", "n_groups_at_least", "n_pilot", "n_unused", "delta", "n_clusters", "guarantee", "kernel"),
    *("seed", "notes", "columns", "price", "seconds", "rounds"),
)


def upgraded(old: dict[str, Any]) -> dict[str, Any]:
    """The same result in the form of today; KeyError, TypeError or ValueError if it is damaged."""
    names, numbers = old["names"], [label + 1 for label in old["labels"]]
    drawn = old["samples_per_arm"]
    members: dict[int, list[str]] = {}
    for name, group in zip(names, numbers, strict=True):
        members.setdefault(group, []).append(name)
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: old[name] for name in _AS_BEFORE},
        "certified": old["status"] == "decided",
        "groups": [{"number": group, "arms": arms} for group, arms in members.items()],
        "labels": dict(zip(names, numbers, strict=True)),
        "n_samples": sum(drawn),
        "samples_per_arm": dict(zip(names, drawn, strict=True)),
        "told_apart": [],  # these three are worked out from the rest
        "needs": None,
        "spent": 0.0,
        "strategy": old["guarantee"]["strategy"],
        "levels": {column: [tuple(pair) for pair in known] for column, known in old["levels"].items()},
        "evidence": _evidence(old["evidence"], len(names)),
        "samples": [None if rows is None else _array(rows) for rows in old["samples"]],
        "trace": None if old["trace"] is None else {key: _array(part) for key, part in old["trace"].items()},
    }


def _evidence(old: dict[str, Any], n_arms: int) -> dict[str, Any]:
    """Version 1 had an array of all pairs for everything; what a strategy did not have was NaN throughout."""
    arrays = {name: _array(part) for name, part in old.items()}
    by_bets = arrays["log_evidence"]["shape"] == [n_arms, n_arms] and not _unknown(arrays["log_threshold"])
    distances = arrays["distances"]
    return {
        "by_bets": by_bets,
        "counts": arrays["counts"],
        "compared": {"shape": [n_arms], "kind": "int", "data": list(range(n_arms))},
        "told": arrays["told_in_round"],
        "values": arrays["log_evidence"] if by_bets else distances,
        "limits": arrays["log_threshold"] if by_bets else arrays["thresholds"],
        "variances": arrays["variances"],
        "measured": distances if by_bets and not _unknown(distances) else None,
    }


def _array(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "kind": _KINDS[old["kind"]]}


def _unknown(array: dict[str, Any]) -> bool:
    """Whether every value is NaN; of no values, too."""
    if "fill" in array:
        return array["fill"] is None or math.prod(array["shape"]) == 0
    return all(value is None for value in array["data"])
