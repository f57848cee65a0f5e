"""Failed tries of arms: what people read of them, and their JSON form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from kabc.arms.tallies import Failures
from kabc.core.words import counted

if TYPE_CHECKING:
    from kabc.results.schema import Document

_MOST_ARMS = 3  # more are summed up
_MOST_KINDS = 4


def failure_lines(failures: Mapping[Hashable, Failures]) -> list[str]:
    """A line for each of the arms that failed most often, and one for all others."""
    ranked = sorted(failures.items(), key=lambda entry: -entry[1].share)
    lines = [
        f"failures: {_part(one)} of {name} ({how_it_failed(one)}; last: {one.last})"
        for name, one in ranked[:_MOST_ARMS]
    ]
    others = [one for _, one in ranked[_MOST_ARMS:]]
    if others:
        together = Failures(sum(one.count for one in others), tries=sum(one.tries for one in others))
        lines.append(f"failures: and {_part(together)} of {counted(len(others), 'more arm')}")
    return lines


def _part(one: Failures) -> str:
    return f"{one.count:,} of {counted(one.tries, 'try')}"


def how_it_failed(one: Failures) -> str:
    """The commonest kinds of failures with their counts."""
    kinds = sorted(one.kinds.items(), key=lambda entry: -entry[1])
    named = [f"{kind}: {count:,}" for kind, count in kinds[:_MOST_KINDS]]
    more = sum(count for _, count in kinds[_MOST_KINDS:])
    return ", ".join([*named, f"other: {more:,}"] if more else named)


def failures_document(one: Failures) -> dict[str, Any]:
    """The JSON form."""
    return {
        "count": one.count,
        "tries": one.tries,
        "values": one.values,
        "kinds": dict(one.kinds),
        "last": one.last,
    }


def failures_of(document: Document) -> dict[str, Failures]:
    """The failures behind the JSON form, by the texts of the names."""
    parts = document.failures.items()
    return {key: Failures(part.count, part.kinds, part.last, part.tries, part.values) for key, part in parts}
