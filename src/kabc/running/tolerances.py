"""A tolerance as it is meant for the columns of these arms: nonsense is refused before a sample is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from kabc.arms.values import Encoder, Kind
from kabc.core.tolerances import parse
from kabc.running.intake import Intake
from kabc.running.settings import Settings


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


def read_tolerance(settings: Settings, intake: Intake, types: Mapping[str, str] | None) -> Settings:
    """The settings with the tolerance that is meant. `types`: of texts that live arms return, as far as declared."""
    if settings.tolerance is None or not isinstance(settings.chosen, str):
        return settings
    declared = intake.facts.types or types or {}
    if not intake.columns and set(declared) == {"value"}:  # live arms that return one text
        intake.columns = Encoder(("value",), cast(Mapping[str, Kind], declared)).names
    if not intake.columns:
        if intake.strings is not None:
            intake.strings.tolerance = settings.tolerance  # what texts are is not known before the first round
        return settings
    kinds = kinds_of(intake.columns, declared)
    said = parse(settings.tolerance, intake.columns, *kinds)
    return replace(settings, tolerance=said, columns=intake.columns, categories=kinds.categories)
