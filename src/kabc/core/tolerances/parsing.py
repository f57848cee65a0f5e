"""From what people say to a tolerance. Read once; nonsense is refused with the value and the cure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any, NoReturn

from kabc.core.errors import SettingsError
from kabc.core.samples import describe
from kabc.core.tolerances.quantiles import QuantileTolerance, expect_probabilities, probability
from kabc.core.tolerances.tolerance import ByExample, ByFunction, KernelDistance, Tolerance, by_function
from kabc.core.tolerances.units import OUTLIERS, PERCENT, SD, SHIFT, Change, Unit
from kabc.core.words import counted, did_you_mean, named

ALLOWED = (
    "say '2%', '0.2 sd', '1% outliers', a number in the unit of the column, a mapping such as {'latency': '2%'} "
    "or {'p50': '2%', 'p99': '10%'}, a function from a pool of samples to a changed pool, or '0.1 kernel distance'"
)
_MOST_NAMED = 8  # columns
_MOST_OUTLIERS = 50.0  # per cent: more are no outliers
_NUMBER = re.compile(r"([+-]?(?:[\d.,_]*\d[\d.,_]*(?:e[+-]?\d+)?|nan|inf(?:inity)?))\s*(.*)", re.DOTALL)
_KERNEL = "kernel distance"
_PERCENT = ("%", "percent", "per cent", "pct")
_UNITS: dict[str, Unit] = {
    "": SHIFT,
    **dict.fromkeys(_PERCENT, PERCENT),
    **dict.fromkeys(("sd", "sds", "std", "s.d.", "sigma", "standard deviation", "standard deviations"), SD),
    **{
        f"{sign}{space}{noun}": OUTLIERS for sign in _PERCENT for space in ("", " ") for noun in ("outliers", "outlier")
    },
}


def parse(
    tolerance: object, columns: Sequence[str], categories: Collection[str] = (), texts: Collection[str] = ()
) -> Tolerance | QuantileTolerance:
    """The tolerance that is meant, for samples with these columns.

    Parameters
    ----------
    tolerance : what the user says; a tolerance that was parsed before stays as it is. "latency=2%, size=100" is a
        mapping for those who have only text
    columns : a name for each column of a sample
    categories : the columns whose numbers are only codes. Indicators of missing values ("latency missing") are found
    texts : the columns that count the n-grams of texts

    Examples
    --------
    >>> from kabc.core.tolerances import parse
    >>> parse("2%", ["latency"]).words
    '2 %'
    >>> parse({"latency": "2%", "size": 100}, ["latency", "size"]).words
    'latency by 2 %, size by 100'
    >>> parse({"p50": "2%", "p99": "10%"}, ["latency"]).words
    'p50 by 2 %, p99 by 10 %'
    """
    names = tuple(map(str, columns))
    codes = _Codes(names, categories, texts)
    match tolerance:
        case Tolerance() | QuantileTolerance():
            return tolerance
        case str() if _of_kernel(tolerance) is not None:
            return KernelDistance(_kernel_size(tolerance))
        case str() if "=" in tolerance:
            return _mapping(_pairs(tolerance), names, codes)
        case Mapping():
            return _mapping(tolerance, names, codes)
        case str() | Real() if not isinstance(tolerance, bool):
            return _everywhere(tolerance, names, codes)
        case _ if callable(tolerance) and not isinstance(tolerance, type):
            return by_function(tolerance)
    raise SettingsError(f"tolerance {describe(tolerance)} is not understood; {ALLOWED}")


class _Codes:
    """Columns whose values have no size: codes of categories, counts of a text, indicators of missing values."""

    def __init__(self, names: Sequence[str], categories: Collection[str], texts: Collection[str]) -> None:
        self.categories = {*map(str, categories)}
        self.texts = {*map(str, texts)}
        self._missing = {f"{name} missing" for name in names}

    def __contains__(self, name: object) -> bool:
        return name in self.categories or name in self.texts or name in self._missing

    def replaceable(self, names: Sequence[str]) -> list[int]:
        """Columns whose values can be replaced by others: categories, or texts if there are none."""
        found = [i for i, name in enumerate(names) if name in self.categories]
        return found or [i for i, name in enumerate(names) if name in self.texts]


def _of_kernel(said: str) -> str | None:
    """The number of "0.1 kernel distance"; None for other texts."""
    text = " ".join(said.casefold().split())
    return text.removesuffix(_KERNEL).strip() if text.endswith(_KERNEL) else None


def _kernel_size(said: str) -> float:
    what = f"tolerance {describe(said)}"
    unit, size = _read(_of_kernel(said), what)
    if unit is not SHIFT:
        raise SettingsError(f"{what} is not understood; a kernel distance has no unit: '0.1 kernel distance'")
    return size


def of_dict(
    document: Mapping[str, Any], columns: Sequence[str], categories: Collection[str] = ()
) -> Tolerance | QuantileTolerance:
    """The tolerance that `to_dict` wrote. Of a function only the name comes back."""
    match document:
        case {"kind": "kernel", "value": eps}:
            return KernelDistance(eps)
        case {"kind": "function", "value": name}:
            return ByFunction(None, str(name))
        case {"kind": "change" | "columns" | "quantiles", "value": value}:
            return parse(value, columns, categories)
    raise SettingsError(f"a tolerance in a file has a kind and a value, got {describe(document)}; {ALLOWED}")


def _everywhere(said: object, names: tuple[str, ...], codes: _Codes) -> ByExample:
    """One change of all columns that hold numbers; without any, outliers are other categories or texts."""
    unit, size = _read(said, f"tolerance {describe(said)}")
    places = [i for i, name in enumerate(names) if name not in codes]
    if not places:
        places = codes.replaceable(names)
        if unit is not OUTLIERS or not places:
            _refuse_codes(said, names[0], codes)
        change = _change(unit, size, places, names, codes=names[places[0]] in codes.categories)
        return ByExample((change,), by_column=False, n_columns=len(names))
    if unit is SHIFT and len(places) > 1:
        some = ", ".join(f"{names[i]!r}: {size:g}" for i in places[:2])
        raise SettingsError(
            f"tolerance {describe(said)} has no unit, and the samples have {counted(len(names), 'column')}; say it for "
            f"each column that matters, such as {{{some}}}, or for all of them in per cent or standard deviations, "
            f"such as '{size:g}%' or '0.2 sd'"
        )
    return ByExample((_change(unit, size, places, names),), by_column=False, n_columns=len(names))


def _mapping(said: Mapping[Any, object], names: tuple[str, ...], codes: _Codes) -> ByExample | QuantileTolerance:
    keys = [str(key) for key in said]
    if not keys:
        raise SettingsError(f"tolerance {{}} names no column and no quantile; {ALLOWED}")
    unknown = [key for key in keys if key not in names]
    if unknown and all(probability(key) is not None for key in keys):
        return _quantiles(said, names, codes)
    if unknown:
        quantile = (
            " (columns and quantiles cannot stand in one tolerance)" if probability(unknown[0]) is not None else ""
        )
        raise SettingsError(
            f"tolerance: there is no column {unknown[0]!r}{quantile}; {did_you_mean(unknown[0], names)}"
            f"there {'is' if len(names) == 1 else 'are'} {_listed(names)}"
        )
    parts = []
    for key, value in zip(keys, said.values(), strict=True):
        unit, size = _read(value, f"tolerance of column {key!r}, {describe(value)},")
        if key in codes and not (unit is OUTLIERS and key in codes.categories):
            _refuse_codes(value, key, codes)
        parts.append(_change(unit, size, [names.index(key)], names, codes=key in codes))
    return ByExample(tuple(parts), by_column=True, n_columns=len(names))


def _pairs(said: str) -> dict[str, str]:
    """A mapping that was written as a text."""
    pairs: dict[str, str] = {}
    for part in said.split(","):
        name, sign, size = (word.strip() for word in part.rpartition("="))
        if not (name and sign) or name in pairs:
            raise SettingsError(
                f"tolerance {describe(said)}: {part.strip()!r} must name a column or quantile, once, and its "
                "tolerance; such as 'latency=2%, size=100' or 'p50=2%, p99=10%'"
            )
        pairs[name] = size
    return pairs


def _quantiles(said: Mapping[Any, object], names: tuple[str, ...], codes: _Codes) -> QuantileTolerance:
    if names[0] in codes:
        _refuse_codes(dict(said), names[0], codes)
    if len(names) != 1:
        raise SettingsError(
            f"tolerance {describe(dict(said))}: quantiles are those of one column, the samples have "
            f"{counted(len(names), 'column')}; choose one column, or say a tolerance for each, such as "
            f"{{{names[0]!r}: '2%'}}"
        )
    keys = [str(key).strip() for key in said]
    probabilities = expect_probabilities(keys)
    sizes, relative = [], []
    for key, value in zip(keys, said.values(), strict=True):
        unit, size = _read(value, f"tolerance of {key}, {describe(value)},")
        if unit not in (PERCENT, SHIFT):
            raise SettingsError(
                f"tolerance of {key}, {describe(value)}, must be in per cent or in the unit of the column; "
                "such as '2%' or 5"
            )
        sizes.append(size)
        relative.append(unit is PERCENT)
    return QuantileTolerance(names[0], tuple(keys), probabilities, tuple(sizes), tuple(relative))


def _change(unit: Unit, size: float, places: Sequence[int], names: tuple[str, ...], *, codes: bool = False) -> Change:
    return Change(unit, size, tuple(places), tuple(names[i] for i in places), codes)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(named, names[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def _refuse_codes(said: object, name: str, codes: _Codes) -> NoReturn:
    what = "categories" if name in codes.categories else "texts" if name in codes.texts else "marks of missing values"
    column = name.rpartition("[")[0] if name in codes.texts else name  # a text has many columns
    raise SettingsError(
        f"tolerance {describe(said)}: {named(column)} holds {what}, which have no size to change; say the share of "
        "samples that may be replaced by others, such as '1% outliers', or '0.1 kernel distance'"
    )


def _read(said: object, what: str) -> tuple[Unit, float]:
    """Unit and size; `what` begins an error."""
    if isinstance(said, Real) and not isinstance(said, bool):
        unit, size = SHIFT, _as_float(said)
    elif isinstance(said, str):
        unit, size = _read_text(said, what)
    else:
        raise SettingsError(f"{what} is not understood; say '2%', '0.2 sd', '1% outliers' or a number")
    if not math.isfinite(size):
        raise SettingsError(f"{what} is not a finite number; say the smallest difference that matters, such as '2%'")
    if size < 0:
        _refuse_sign(what)
    if size == 0:
        raise SettingsError(
            f"{what} is 0, and no number of samples can show that two arms are exactly the same; "
            "say the smallest difference that matters, such as '2%'"
        )
    if size < unit.smallest:
        raise SettingsError(
            f"{what} is too small to be seen by a kernel; say at least {unit.words(unit.smallest)}, "
            "or a tolerance for a high quantile of one column, such as {'p99.9': '10%'}"
        )
    most = _MOST_OUTLIERS if unit is OUTLIERS else unit.largest
    if size > most:
        raise SettingsError(f"{what} is too large; at most {unit.words(most)} can be a tolerance")
    return unit, size


def _refuse_sign(what: str) -> NoReturn:
    raise SettingsError(f"{what} has a sign; differences in both directions count: say it without, such as '2%'")


def _read_text(said: str, what: str) -> tuple[Unit, float]:
    found = _NUMBER.fullmatch(" ".join(said.casefold().split()))
    if found is None and probability(said) is not None:
        raise SettingsError(f"{what} names a quantile; say by how much it may differ: '{said.strip()}=2%'")
    if found is None:
        raise SettingsError(f"{what} does not begin with a number; say '2%', '0.2 sd', '1% outliers' or a number")
    number, unit = found.groups()
    if number[0] in "+-":
        _refuse_sign(what)
    if "," in number:
        raise SettingsError(f"{what} has a comma; write the number with a point: '{number.replace(',', '.')}{unit}'")
    if unit not in _UNITS:
        raise SettingsError(
            f"{what} has the unit {unit!r}, which is not known; a number alone is in the unit of the column: "
            f"write {number}; other units are '%', 'sd', '% outliers' and 'kernel distance'"
        )
    try:
        return _UNITS[unit], float(number)
    except ValueError:
        raise SettingsError(
            f"{what} does not begin with a number; {number!r} is none; write '2%', for example"
        ) from None


def _as_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
