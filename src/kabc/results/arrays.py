"""Arrays in strict JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.results.schema import ArrayPart

_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float"}
_TYPES: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "uint": np.uint64, "float": np.float64}
_ACCEPTED: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "uint": (int,), "float": (float, int)}
_MOST_FILLED = 2**26  # values that one `fill` may stand for: about 8,000 arms against 8,000


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """Shape and values row by row; one value where all are the same. What is no number becomes a text."""
    values = array.ravel()
    kind = _KINDS.get(array.dtype.kind, "text")
    part: dict[str, Any] = {"shape": list(array.shape), "kind": kind}
    if kind == "text":
        return part | {"data": [str(value) for value in values.tolist()]}
    if values.size > 1 and np.array_equal(values[1:], values[:-1], equal_nan=kind == "float"):
        return part | {"fill": number(values[0].item())}
    listed = values.tolist()
    finite = kind != "float" or bool(np.isfinite(values).all())
    return part | {"data": listed if finite else [number(value) for value in listed]}


def unpacked(part: ArrayPart, shape: Iterable[int | None], kinds: str) -> NDArray[Any]:
    """The array, if it has this shape (None: any length) and one of these kinds; ValueError if not."""
    expected = tuple(shape)
    fits = len(part.shape) == len(expected) and all(b in (None, a) for a, b in zip(part.shape, expected, strict=True))
    if not fits:
        wanted = ", ".join("any" if side is None else str(side) for side in expected)
        raise ValueError(f"shape is {part.shape}, it must be [{wanted}]")
    if part.kind not in kinds.split():
        raise ValueError(f"kind is {part.kind!r}, it must be {kinds.replace(' ', ' or ')}")
    filled = "fill" in part.model_fields_set
    listed = [part.fill] if filled else part.data
    size = math.prod(part.shape)
    if listed is None or (not filled and len(listed) != size):
        raise ValueError(f"shape is {part.shape}, which needs {size:,} values, not {len(listed or []):,}")
    if filled and size > _MOST_FILLED:
        raise ValueError(f"shape is {part.shape}: one value may stand for at most {_MOST_FILLED:,}")
    values = _values(listed, part.kind)
    # one value is not written out: a small file cannot ask for much memory
    return np.broadcast_to(values, part.shape) if filled else values.reshape(part.shape)


def _values(listed: list[Any], kind: str) -> NDArray[Any]:
    if kind == "text":
        _expect(listed, (str,), kind)
        return np.array(listed, dtype=str)
    if kind == "float" and not all(type(value) is float for value in listed):
        listed = [unnumbered(value) for value in listed]  # other texts are refused below
    _expect(listed, _ACCEPTED[kind], kind)
    try:
        return np.array(listed, dtype=_TYPES[kind])
    except OverflowError as error:
        raise ValueError(f"a value is too large for kind {kind!r}") from error


def _expect(listed: list[Any], types: tuple[type, ...], kind: str) -> None:
    bad = next((value for value in listed if type(value) not in types), None)
    if bad is not None or None in listed:
        raise ValueError(f"{bad!r} is no value of kind {kind!r}")


def number(value: Any) -> Any:
    """A number in strict JSON: NaN is null, infinities are texts."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def unnumbered(value: Any) -> Any:
    """The number behind `number`; anything else as it is."""
    if value is None:
        return math.nan
    return float(value) if value in ("inf", "-inf") else value
