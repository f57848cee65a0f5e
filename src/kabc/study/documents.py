"""Facts of arms as JSON. What is read is checked: stores come from anywhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kabc.storage.contract import Json
from kabc.storage.errors import StorageError
from kabc.study.facts import ArmFacts, Facts


def facts_document(facts: Facts) -> dict[str, Any]:
    """The form that a store keeps. Which category a number stands for is only known later."""
    return {
        "arms": [asdict(arm) for arm in facts.arms],
        "notes": list(facts.notes),
        "columns": list(facts.columns),
        "price": float(facts.price),
        "types": dict(facts.types),
        "source": facts.source,
    }


def facts_of_document(document: Json, n_arms: int, study: str) -> Facts:
    """The facts in a store, which may hold anything; `study` is named in errors."""
    try:
        read = _Document.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StorageError(f"the facts of study {study!r} are damaged: {where}: {first['msg']}") from None
    if len(read.arms) != n_arms:
        raise StorageError(f"the facts of study {study!r} are damaged: {len(read.arms)} arms instead of {n_arms}")
    arms = tuple(ArmFacts(**one.model_dump()) for one in read.arms)
    return Facts(arms, tuple(read.notes), tuple(read.columns), read.price, read.types, {}, read.source)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")


class _ArmDocument(_Strict):
    size: int | None = Field(ge=0)
    one_at_a_time: bool
    paired: bool
    in_order: bool
    in_blocks: bool
    fingerprint: str
    recorded: bool = False


class _Document(_Strict):
    arms: list[_ArmDocument]
    notes: list[str]
    columns: list[str]
    price: float
    types: dict[str, str]
    source: str
