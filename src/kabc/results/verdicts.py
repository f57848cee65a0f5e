"""Verdicts and margins of all pairs in JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, QuantileVerdicts, Verdicts
from kabc.results.arrays import number, packed, unnumbered, unpacked
from kabc.results.schema import QuantilePart, TolerancePart

MOST_LISTED = 60  # arms; of more, pairs are listed in saved files only
_CODES = (OPEN, SAME, DIFFERENT)
_MARGINS = ("same_within", "apart_at_least", "same_distance", "apart_distance")
_OF_QUANTILES = ("same_within", "apart_at_least")


def verdicts_document(found: Verdicts, keys: Sequence[str], *, full: bool) -> dict[str, Any]:
    """The JSON form, as `TolerancePart` describes it; `full` with the matrices."""
    document: dict[str, Any] = {
        "said": found.tolerance,
        "unit": found.unit,
        "kernel_distance": number(float(found.eps)),
        "equivalents": list(found.equivalents),
        "pairs": _pairs(found, keys) if len(keys) <= MOST_LISTED else [],
        "between": [keys[arm] for arm in found.between],
        "quantiles": [_quantile(one, full=full) for one in found.quantiles],
    }
    if full:
        codes = np.array([_CODES.index(one) for one in found.verdicts.ravel().tolist()]).reshape(found.verdicts.shape)
        matrices = {"verdicts": codes} | {name: getattr(found, name) for name in _MARGINS}
        document["matrices"] = {name: packed(values) for name, values in matrices.items()}
    return document


def _quantile(one: QuantileVerdicts, *, full: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "tolerance": float(one.tolerance), "unit": one.unit}
    said["estimates"] = None if one.estimates is None else [number(float(value)) for value in one.estimates]
    return said | ({"matrices": {name: packed(getattr(one, name)) for name in _OF_QUANTILES}} if full else {})


def _pairs(found: Verdicts, keys: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "arms": [keys[i], keys[j]],
            "verdict": str(found.verdicts[i, j]),
            **_margins(found, i, j),
            "quantiles": {one.name: _margins(one, i, j) for one in found.quantiles},
        }
        for i in range(len(keys))
        for j in range(i + 1, len(keys))
    ]


def _margins(found: Verdicts | QuantileVerdicts, i: int, j: int) -> dict[str, float | None]:
    above = float(found.same_within[i, j])
    return {
        "same_within": above if math.isfinite(above) else None,
        "apart_at_least": float(found.apart_at_least[i, j]),
    }


def _quantile_of(part: QuantilePart, shape: tuple[int, int]) -> QuantileVerdicts:
    if part.matrices is None or part.matrices.keys() != set(_OF_QUANTILES):
        raise ValueError(f"tolerance.quantiles.matrices: it must hold {' and '.join(_OF_QUANTILES)}")
    margins = {name: unpacked(one, shape, "float") for name, one in part.matrices.items()}
    if part.estimates is not None and len(part.estimates) != shape[0]:
        raise ValueError(f"tolerance.quantiles.estimates: there must be {shape[0]}, one for each arm")
    estimates = None if part.estimates is None else np.array([unnumbered(one) for one in part.estimates])
    return QuantileVerdicts(part.name, part.tolerance, part.unit, **margins, estimates=estimates)


def verdicts_of(part: TolerancePart | None, keys: Sequence[str]) -> Verdicts | None:
    """The verdicts behind the JSON form; ValueError says what does not fit together."""
    if part is None:
        return None
    if part.matrices is None or part.matrices.keys() != {"verdicts", *_MARGINS}:
        raise ValueError(f"tolerance.matrices: it must hold verdicts, {', '.join(_MARGINS)}")
    shape = (len(keys), len(keys))
    read = {name: unpacked(one, shape, "int" if name == "verdicts" else "float") for name, one in part.matrices.items()}
    codes = read.pop("verdicts")
    if codes.size and not (codes.min() >= 0 and codes.max() < len(_CODES)):
        raise ValueError(f"tolerance.matrices.verdicts: codes go from 0 to {len(_CODES) - 1}")
    unknown = [name for name in part.between if name not in keys]
    if unknown:
        raise ValueError(f"tolerance.between: {unknown[0]!r} is no arm")
    return Verdicts(
        tolerance=part.said,
        unit=part.unit,
        eps=math.nan if part.kernel_distance is None else part.kernel_distance,
        equivalents=tuple(part.equivalents),
        verdicts=np.array(_CODES)[codes],
        between=tuple(list(keys).index(name) for name in part.between),
        quantiles=tuple(_quantile_of(one, shape) for one in part.quantiles),
        **read,
    )
