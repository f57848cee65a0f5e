"""A tolerance as it is meant for the columns of these arms: nonsense is refused before a sample is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kabc.arms.values import Encoder
from kabc.core.tolerances import parse
from kabc.running.settings import Settings
from kabc.running.sources import Sources
from kabc.running.strings import Strings


class Kinds(NamedTuple):
    """The columns of a sample that are no numbers."""

    categories: tuple[str, ...]  # codes, which are equal or different
    texts: tuple[str, ...]  # counts of n-grams


def kinds_of(columns: tuple[str, ...], types: Mapping[str, str]) -> Kinds:
    """Which of these columns hold codes or texts. A text has several columns: "comment[0]", "comment[1]", ..."""
    texts = tuple(f"{name}[" for name, kind in types.items() if kind == "text")
    return Kinds(
        tuple(name for name in columns if types.get(name) == "category"),
        tuple(name for name in columns if texts and name.startswith(texts)),
    )


def read_tolerance(settings: Settings, sources: Sources, opened: object, types: Any) -> Settings:
    """The settings with the tolerance that is meant. `types`: of texts that live arms return, as far as declared."""
    if settings.tolerance is None or not isinstance(settings.chosen, str):
        return settings
    declared: Mapping[str, str] = getattr(opened, "types", None) or types or {}
    if not sources.columns and set(declared) == {"value"}:  # a live arm that returns one text
        sources.columns = Encoder(("value",), dict(declared)).names  # type: ignore[arg-type]
    if isinstance(sources.strings, Strings) and not sources.columns:
        sources.strings.tolerance = settings.tolerance  # what the texts are is not known before the first round
    if not sources.columns:
        return settings
    kinds = kinds_of(sources.columns, declared)
    said = parse(settings.tolerance, sources.columns, *kinds)
    return replace(settings, tolerance=said, categories=kinds.categories)
