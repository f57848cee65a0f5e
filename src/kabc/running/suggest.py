"""What to ask for when K is not known: round tolerances with their prices, from the samples that a run kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.errors import KabcError
from kabc.core.samples import as_points
from kabc.core.tolerances import Tolerance, parse
from kabc.core.tolerances.ladders import round_ones
from kabc.core.words import counted, two_digits
from kabc.running.intake import Intake
from kabc.running.settings import Settings
from kabc.strategies.answers import Status
from kabc.strategies.tolerance.price import FEWEST_ROWS, samples_of_arms
from kabc.strategies.tolerance.reading import default_columns

_ENDS: tuple[Status, ...] = ("stalled", "exhausted")  # how a run ends for which nobody knew K
_ROWS, _ARMS = 600, 60  # kept samples and arms that are looked at, at most
_CHEAP = 300  # samples of each arm that nobody minds


def suggestion(settings: Settings, intake: Intake, labels: Sequence[int], status: Status) -> list[str]:
    """One line, if neither K nor a tolerance nor a budget was given, and values are numbers; else none."""
    open_end = (settings.n_clusters, settings.tolerance, settings.max_samples, settings.min_separation) == (None,) * 4
    if not open_end or status not in _ENDS or not isinstance(settings.chosen, str) or settings.paired:
        return []
    delta = 0.05 if settings.delta is None else settings.delta
    try:
        with np.errstate(all="ignore"):  # prices that are no numbers are left out
            rows, groups = _looked_at(intake, labels)
            prices = _prices(rows, groups, delta, settings.block_length) if rows else {}
    except (KabcError, ValueError, ArithmeticError, np.linalg.LinAlgError):  # an answer does not fail for advice
        return []
    return _line(prices, _fewest_rows(intake))


def _fewest_rows(intake: Intake) -> int | None:
    """Rows of the smallest arm, those that were drawn included; None if no arm can run out."""
    left = [(drawn, intake.left(arm)) for arm, drawn in enumerate(intake.drawn)]
    return min((drawn + rows for drawn, rows in left if rows is not None and drawn), default=None)


def _looked_at(intake: Intake, labels: Sequence[int]) -> tuple[list[Array], Index]:  # arrays (n_i, block x d), (A,)
    """Some samples of some arms, and the groups of these arms; nothing where values are not all numbers."""
    nothing: tuple[list[Array], Index] = [], np.zeros(0, dtype=np.intp)
    if intake.levels:
        return nothing
    kept = intake.kept.by_name(intake.names)
    known = [arm for arm, name in enumerate(intake.names) if name in kept and labels[arm] >= 0]
    known = known[:: max(1, -(-len(known) // _ARMS))]
    most = max(FEWEST_ROWS, _ROWS // max(1, len(known)) // intake.block) * intake.block
    rows, groups = [], []
    for arm in known:
        own = kept[intake.names[arm]]
        if own.dtype.kind not in "biuf":
            return nothing
        own = as_points(own[: min(most, len(own) // intake.block * intake.block)])
        if len(own) >= FEWEST_ROWS * intake.block:
            rows.append(own.reshape(len(own) // intake.block, -1))
            groups.append(labels[arm])
    if len(rows) < 2:
        return nothing
    return rows, np.unique(groups, return_inverse=True)[1].astype(np.intp)


def _prices(rows: Sequence[Array], groups: Index, delta: float, block: int) -> dict[str, int]:
    """About how many samples of an arm each round tolerance takes, as far as that can be told."""
    pool = np.concatenate([one.reshape(len(one) * block, -1) for one in rows])
    columns = default_columns(pool.shape[1])
    found = {}
    for said in round_ones(pool):
        tolerance = parse(said, columns)
        assert isinstance(tolerance, Tolerance)
        price = float(samples_of_arms(rows, tolerance, groups, delta, block).max())
        if np.isfinite(price):
            found[said] = two_digits(int(price))
    return found


def _line(prices: dict[str, int], n_rows: int | None) -> list[str]:
    """The smallest tolerance that is cheap, and the next smaller one."""
    several = list(prices.items())
    if not several:
        return []
    limit = _CHEAP if n_rows is None else min(_CHEAP, n_rows)
    cheap = next((i for i, (_, price) in enumerate(several) if price <= limit), len(several) - 1)
    said, price = several[cheap]
    smaller = several[max(0, cheap - 1) : cheap]
    takes = f"tolerance={said!r} takes about {counted(price, 'sample')} of each arm"
    takes += "".join(f", {one!r} about {more:,}" for one, more in smaller)
    short = n_rows is not None and max(price, *(more for _, more in smaller), 0) > n_rows
    there = f"; the smallest arm has {counted(n_rows, 'row')}" if n_rows is not None and short else ""
    return [f"to prove which arms are the same, ask for a tolerance: {takes} (an estimate{there})"]
