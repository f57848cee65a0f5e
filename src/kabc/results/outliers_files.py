"""Odd ones out that outlive the run: one JSON file each. It holds what `--json` prints, and what is needed to go on.

A field may be added; one that changes its meaning, or goes, makes a new version.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, Strict

from kabc.core.tolerances import Equivalents
from kabc.core.tolerances.translating import ColumnEquivalents, Curve
from kabc.results.arrays import number, packed, unnumbered, unpacked
from kabc.results.files import OUTLIERS, damaged, no_answer, read_json, write_json
from kabc.results.name_forms import Count, Name, Part
from kabc.results.names import distinct, key_of, name_of, packed_name
from kabc.results.outliers import OutliersResult, OutliersStatus
from kabc.results.outliers_words import facts
from kabc.results.schema import ArrayPart, Number
from kabc.results.values import Assumption
from kabc.results.words import told_apart_by_number

VERSION = 1
_ANYTHING = "bool int uint float text"
_MOST_VALUES = 2**27  # that all arrays of a file stand for: 1 GB


class ColumnPart(Part):
    """The tolerance as a change of one column; null where no such change is as large."""

    column: str
    percent: float | None
    sd: float | None
    shift: float | None
    outliers: float | None


class UnitsPart(Part):
    """A tolerance as a kernel distance, in other units, and the way back for any distance."""

    eps: float = Field(gt=0)
    unit: str
    columns: list[ColumnPart]
    sizes: ArrayPart | None = Field(default=None, description="(m,): sizes of the change, ascending")
    distances: ArrayPart | None = Field(default=None, description="(m,): the distance that each size makes")
    per_distance: float = 1.0


class SavedPart(Part):
    """What is needed to print the answer again; arrays are in the order of the arms."""

    names: list[Name] = Field(min_length=1)
    odd: ArrayPart
    rest: ArrayPart
    log_e_values: ArrayPart
    at_least: ArrayPart
    samples_per_arm: ArrayPart
    units: UnitsPart | None
    not_measured: list[Annotated[tuple[int, str], Strict(False)]]
    assumptions: list[Annotated[tuple[int | None, str, Number], Strict(False)]]
    columns: list[str]
    levels: dict[str, list[Annotated[tuple[float, str], Strict(False)]]]
    samples: list[ArrayPart | None]


class OutliersDocument(Part):
    """The fields that are read back."""

    format: Literal["kabc outliers"]
    version: Literal[1]
    status: OutliersStatus
    fdr: float = Field(gt=0, lt=1)
    tolerance: str | None
    n_enough: Count | None
    block: int = Field(ge=1)
    seed: int
    seconds: float = Field(ge=0)
    notes: list[str]
    saved: SavedPart


# ---------------------------------------------------------------- writing


def document_of(result: OutliersResult, *, full: bool) -> dict[str, Any]:
    """The JSON form; `full` with all that `load` needs."""
    head = {"format": OUTLIERS, "version": VERSION, **facts(result)}
    return head | ({"saved": _saved(result)} if full else {})


def _saved(result: OutliersResult) -> dict[str, Any]:
    place = {name: arm for arm, name in enumerate(result.names)}
    return {
        "names": list(map(packed_name, result.names)),
        **{name: packed(getattr(result, name)) for name in ("odd", "rest", "log_e_values", "at_least")},
        "samples_per_arm": packed(np.array([result.samples_per_arm[name] for name in result.names], dtype=np.int64)),
        "units": None if result.units is None else _units(result.units),
        "not_measured": [[place[name], why] for name, why in result.not_measured.items()],
        "assumptions": [
            [None if one.arm is None else place[one.arm], one.what, number(one.evidence)] for one in result.assumptions
        ],
        "columns": list(map(str, result.columns)),
        "levels": {
            column: [[float(code), text] for code, text in known.items()] for column, known in result.levels.items()
        },
        "samples": [packed(result.samples[name]) if name in result.samples else None for name in result.names],
    }


def _units(units: Equivalents) -> dict[str, Any]:
    said: dict[str, Any] = {"eps": units.eps, "unit": units.unit, "columns": [asdict(one) for one in units.columns]}
    said["per_distance"] = units.per_distance
    if units.curve is not None:
        said |= {"sizes": packed(units.curve.sizes), "distances": packed(units.curve.distances)}
    return said


def save_outliers(result: OutliersResult, path: str | os.PathLike[str]) -> None:
    """Write the answer to one JSON file, whole or not at all."""
    write_json(path, document_of(result, full=True))


# ---------------------------------------------------------------- reading


def load_outliers(path: str | os.PathLike[str]) -> OutliersResult:
    """Read an answer that `save_outliers` wrote."""
    read, where = read_json(path)
    return loaded_outliers(read, where)


def is_outliers(read: object) -> bool:
    """Whether these JSON values say that they are odd ones out."""
    return isinstance(read, dict) and read.get("format") == OUTLIERS


def loaded_outliers(read: Any, where: str) -> OutliersResult:
    """The answer behind JSON values; `where` names their origin in errors."""
    if not is_outliers(read):
        raise no_answer(where, "it holds no odd ones out")
    if read.get("version") != VERSION:
        raise no_answer(where, f"its version is {read.get('version')!r}, this kabc reads {VERSION}")
    if read.get("saved") is None:
        raise no_answer(where, "it is the short form that --json prints")
    with damaged(where):
        return _result_of(OutliersDocument.model_validate(read))


def _result_of(document: OutliersDocument) -> OutliersResult:
    saved = document.saved
    keys = told_apart_by_number(map(key_of, saved.names))
    names = distinct([name_of(name, key) for name, key in zip(saved.names, keys, strict=True)])
    n_arms = len(names)
    if len(saved.samples) != n_arms:
        raise ValueError(f"samples: there must be an entry for each of {n_arms} arms, not {len(saved.samples)}")
    if sum(math.prod(part.shape) for part in saved.samples if part is not None) > _MOST_VALUES:
        raise ValueError(f"samples: they stand for more than {_MOST_VALUES:,} values")
    drawn = _array("samples_per_arm", saved.samples_per_arm, n_arms, "int")
    if drawn.min() < 0:
        raise ValueError(f"samples_per_arm: {drawn.min()} is negative")
    for arm in [*(one[0] for one in saved.not_measured), *(one[0] for one in saved.assumptions)]:
        if arm is not None and not 0 <= arm < n_arms:
            raise ValueError(f"{arm} is no arm; arms are numbered 0 to {n_arms - 1}")
    with_samples = zip(names, saved.samples, strict=True)
    return OutliersResult(
        names=names,
        status=document.status,
        odd=_array("odd", saved.odd, n_arms, "bool"),
        rest=_array("rest", saved.rest, n_arms, "bool"),
        log_e_values=_array("log_e_values", saved.log_e_values, n_arms, "float"),
        at_least=_array("at_least", saved.at_least, n_arms, "float"),
        fdr=document.fdr,
        tolerance=document.tolerance,
        units=None if saved.units is None else _units_of(saved.units),
        samples_per_arm=dict(zip(names, drawn.tolist(), strict=True)),
        n_enough=document.n_enough,
        seed=document.seed,
        block=document.block,
        not_measured={names[arm]: why for arm, why in saved.not_measured},
        assumptions=tuple(
            Assumption(None if arm is None else names[arm], what, unnumbered(evidence))
            for arm, what, evidence in saved.assumptions
        ),
        notes=tuple(document.notes),
        seconds=document.seconds,
        columns=tuple(saved.columns),
        levels={column: dict(known) for column, known in saved.levels.items()},
        samples={name: unpacked(part, (None, None), _ANYTHING) for name, part in with_samples if part is not None},
    )


def _array(what: str, part: ArrayPart, n_arms: int, kind: str) -> NDArray[Any]:
    try:
        return unpacked(part, (n_arms,), kind)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def _units_of(part: UnitsPart) -> Equivalents:
    curve = None
    if part.sizes is not None and part.distances is not None:
        sizes = unpacked(part.sizes, (None,), "float")
        curve = Curve(sizes, _array("units.distances", part.distances, len(sizes), "float"))
        if len(sizes) < 2:
            raise ValueError("units.sizes: there must be two at least")
    columns = tuple(ColumnEquivalents(**one.model_dump()) for one in part.columns)
    return Equivalents(part.eps, part.unit, columns, curve, part.per_distance)
