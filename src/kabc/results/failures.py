"""Failed tries of arms: what people read of them, and their JSON form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from kabc.arms.tallies import Failures
from kabc.core.words import counted

if TYPE_CHECKING:
    from kabc.results.schema import Document

_MOST_ARMS = 3  # more are counted
_MOST_KINDS = 4
_MOST_LINES = 3


def failure_lines(failures: Mapping[Hashable, Failures]) -> list[str]:
    """Arms that failed in the same ways share a line; those that failed most often come first."""
    alike: dict[frozenset[str], list[tuple[Hashable, Failures]]] = {}
    for name, one in sorted(failures.items(), key=lambda entry: -entry[1].share):
        alike.setdefault(frozenset(one.kinds), []).append((name, one))
    parts = list(alike.values())
    lines = [f"failures: {_arms(part)} ({_how(_together(part))})" for part in parts[:_MOST_LINES]]
    others = [entry for part in parts[_MOST_LINES:] for entry in part]
    if others:
        lines.append(f"failures: and {_part(_together(others))} of {counted(len(others), 'more arm')}")
    return lines


def _arms(ranked: list[tuple[Hashable, Failures]]) -> str:
    named = [f"{_part(one)} of {name}" for name, one in ranked[:_MOST_ARMS]]
    others = ranked[_MOST_ARMS:]
    if others:
        named.append(f"{_part(_together(others))} of {counted(len(others), 'more arm')}")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _together(ranked: list[tuple[Hashable, Failures]]) -> Failures:
    """All of them as one; the last message is that of the first arm."""
    kinds: Counter[str] = Counter()
    for _, one in ranked:
        kinds.update(one.kinds)
    count, tries = sum(one.count for _, one in ranked), sum(one.tries for _, one in ranked)
    return Failures(count, dict(kinds), ranked[0][1].last, tries)


def _part(one: Failures) -> str:
    return f"{one.count:,} of {counted(one.tries, 'try')}"


def _how(one: Failures) -> str:
    return how_it_failed(one) + (f"; last: {one.last}" if one.last else "")


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
