"""What people read of a check of quantiles: bounds and estimates of each of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kabc.core.words import named
from kabc.results.effects.words import ratio
from kabc.results.within import rounded_down, rounded_up

if TYPE_CHECKING:
    from kabc.core.evidence.verdicts import QuantileVerdicts, Verdicts
    from kabc.results.values import Result

_SMALL = 0.1  # ratios that differ from 1 by less are said in per cent
_DIGITS = 4


def reached(found: Verdicts) -> float:
    """The certified difference from below, over the tolerance, of the quantile where it is largest."""
    return max(float(one.apart_at_least[0, 1]) / one.tolerance for one in found.quantiles)


def bounds(found: Verdicts) -> str:
    """What is certified of each quantile: "p50 within 1.8 %, p99 differs by at least 12 %"."""
    return ", ".join(filter(None, map(_bound, found.quantiles)))


def _bound(one: QuantileVerdicts) -> str:
    low, high = float(one.apart_at_least[0, 1]), float(one.same_within[0, 1])
    if low > 0:
        most = f" and by less than {rounded_up(high)} {one.unit}" if math.isfinite(high) else ""
        return f"{one.name} differs by at least {rounded_down(low)} {one.unit}{most}"
    return one.within(rounded_up(high)) if math.isfinite(high) else ""


def first_effect(found: Verdicts) -> str:
    """The quantile that differs most, by its tolerance, in the units of the data: an estimate."""
    known = [one for one in found.quantiles if _effect(one)]
    return _effect(max(known, key=_excess)) if known else ""


def _excess(one: QuantileVerdicts) -> tuple[float, float]:
    """What is certified comes first, then what is estimated; in units of the tolerance."""
    assert one.estimates is not None
    old, new = map(float, one.estimates)
    seems = 100 * (max(old, new) / min(old, new) - 1) if one.unit == "%" and min(old, new) > 0 else abs(new - old)
    return float(one.apart_at_least[0, 1]) / one.tolerance, seems / one.tolerance


def _effect(one: QuantileVerdicts) -> str:
    if one.estimates is None or not all(map(math.isfinite, one.estimates)):
        return ""
    old, new = map(float, one.estimates)
    if one.unit != "%" or old <= 0:
        return f"{one.name} {_figure(abs(new - old))} {'higher' if new >= old else 'lower'}"
    if abs(new / old - 1) < _SMALL:
        return f"{one.name} {100 * abs(new / old - 1):.1f} % {'higher' if new >= old else 'lower'}"
    return f"{one.name} {ratio(new / old)} times"


def value_lines(result: Result, found: Verdicts) -> list[str]:
    """The quantiles of both arms: estimates."""
    reference, this = map(named, result.names)
    known = [one for one in found.quantiles if _effect(one)]
    return [
        f"    {one.name}: {this} {_figure(float(one.estimates[1]))}, {reference} "
        f"{_figure(float(one.estimates[0]))} (estimates)"
        for one in known
        if one.estimates is not None
    ]


def _figure(value: float) -> str:
    return f"{value:,.{_DIGITS}g}" if abs(value) < 10**_DIGITS else f"{value:,.0f}"
