"""Workers that have a part of the arms of a study: together they have all, and know all that is to know of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm, NamedArms
from kabc.core.errors import ArmError, SettingsError
from kabc.core.words import in_short
from kabc.running.sources import Arms, Sources, named_arms
from kabc.storage.contract import Json, Storage, StudyRecord
from kabc.study.documents import facts_document, facts_of_document
from kabc.study.facts import Facts

_ABOUT = "about"  # key of a worker's facts


class AbsentArm:
    """An arm of a study that cannot be drawn here: other workers have it."""

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        raise ArmError("it is not among the arms of this worker; leave its draws to another one")


def part_of_arms(
    arms: Arms, names: Sequence[Hashable], seed: int, study: str, gone: Mapping[Hashable, Arm] = MappingProxyType({})
) -> Sources:
    """The arms of a study in its order; those that are not given are absent, and not served here.

    `gone`: arms that nobody can draw. They are known everywhere.
    """
    given = dict(named_arms(arms, None))
    unknown = [name for name in given if name not in names]
    if unknown:
        raise SettingsError(
            f"study {study!r} has no arm {unknown[0]!r}; it has {in_short([str(name) for name in names])}; leave this "
            "arm out, or check the spelling"
        )
    if not given:
        raise ArmError(f"there is no arm to draw from; pass at least one of those of study {study!r}")
    about = arms if isinstance(arms, NamedArms) else NamedArms({})
    given |= gone
    filled = {name: given.get(name, AbsentArm()) for name in names}
    everything = NamedArms(
        cast("dict[str, Arm]", filled),
        about.notes,
        about.columns,
        about.price,
        about.types,
        about.levels,
        about.warnings,
        about.source,
    )
    sources = Sources(everything, None, seed)
    if len(given) < len(names):
        sources.served = frozenset(number for number, name in enumerate(names) if name in given)
    return sources


def part_document(facts: Facts, served: Collection[int]) -> dict[str, Any]:
    """What a worker says of the arms that it can serve, for those who have others."""
    arms = {str(arm): asdict(facts.arms[arm]) for arm in sorted(served)}
    return {_ABOUT: facts_document(facts) | {"arms": arms}}


def gathered_facts(
    storage: Storage, study: StudyRecord, names: Sequence[Hashable], here: Facts, served: Collection[int]
) -> tuple[Facts | None, list[Hashable]]:
    """The facts that count, and the arms of which nothing is known yet: then there are none.

    They are those of the first process that had all arms, or of several that had them together. Arms that are here and
    are others than these are refused.
    """
    if study.facts is None:
        document, unknown = _together(storage, study, names, here, served)
        if unknown:
            return None, unknown
        study = storage.set_facts(study.id, document)
        assert study.facts is not None
    facts = facts_of_document(study.facts, len(names), study.name)
    _expect_same(facts, here, names, served)
    return replace(facts, levels=here.levels), []


def _together(
    storage: Storage, study: StudyRecord, names: Sequence[Hashable], here: Facts, served: Collection[int]
) -> tuple[dict[str, Any], list[Hashable]]:
    """The facts as a document, from here and from all workers that were ever there."""
    known = dict(part_document(here, served)[_ABOUT]["arms"])
    for worker in storage.workers(study.id):
        for arm, about in _said(worker.facts).items():
            known.setdefault(arm, about)
    unknown = [name for arm, name in enumerate(names) if str(arm) not in known]
    arms = [dict(known[str(arm)]) for arm in range(len(names))] if not unknown else []
    matched = any(about.get("paired") and about.get("one_at_a_time") for about in arms)
    for about in arms:  # arms that share their inputs are drawn in the same pieces
        about["one_at_a_time"] = about.get("one_at_a_time") or (about.get("paired") and matched)
    return facts_document(here) | {"arms": arms}, unknown


def _said(facts: Json) -> Mapping[str, Mapping[str, Any]]:
    """What a worker says of its arms; a store may hold anything."""
    about = facts.get(_ABOUT)
    arms = about.get("arms") if isinstance(about, Mapping) else None
    found = arms if isinstance(arms, Mapping) else {}
    return {str(arm): one for arm, one in found.items() if isinstance(one, Mapping)}


def _expect_same(facts: Facts, here: Facts, names: Sequence[Hashable], served: Collection[int]) -> None:
    for arm in sorted(served):
        mine, other = facts.arms[arm], here.arms[arm]
        if mine.paired:
            other = replace(other, one_at_a_time=mine.one_at_a_time)  # decided by all arms together
        try:
            mine.expect_same(other)
        except ArmError as error:
            raise error.of_arm(names[arm]) from None
    if served and facts.columns != here.columns:
        replace(facts, arms=()).expect_same(replace(here, arms=()), ())
