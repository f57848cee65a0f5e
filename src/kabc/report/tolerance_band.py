"""A tolerance as a range of values: the median of a group, changed by the tolerance in both directions."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.tolerances import parse
from kabc.core.tolerances.tolerance import ByExample
from kabc.core.tolerances.units import OUTLIERS, spreads
from kabc.core.words import named
from kabc.results.effects.columns import column_names, kept_arms
from kabc.results.values import Result


def tolerance_band(result: Result, values: Array) -> tuple[float, float] | None:  # (m,)
    """From the smallest to the largest that the median of these values may be; None if the tolerance is no such change.

    Only samples with one column have a band: a change of several columns is no range of one of them. Standard
    deviations are estimated from the samples kept.
    """
    kept = kept_arms(result)
    if result.tolerance is None or not len(values) or next(iter(kept.values())).shape[1] != 1:
        return None
    (column,) = column_names(result.columns, 1)
    change = _change(result.tolerance.tolerance, column)
    if change is None or change.parts[0].unit is OUTLIERS:
        return None
    rows = np.concatenate(list(kept.values())).astype(np.float64)
    own = np.repeat(np.array(list(kept)), [len(block) for block in kept.values()])
    middle = np.array([[float(np.median(values))]])
    ends = [float(moved.rows[0, 0]) for moved in change.parts[0].moved(middle, spreads(rows, own))]
    return (min(ends), max(ends)) if np.isfinite(ends).all() else None


def _change(said: str, column: str) -> ByExample | None:
    """The tolerance behind its words; None if it is said by a function, a distance or quantiles."""
    size = said.removeprefix(f"{named(column)} by ").partition(" (in the unit of ")[0]
    try:
        found = parse(size, [column])
    except SettingsError:
        return None
    return found if isinstance(found, ByExample) else None
