"""Which kind of tolerance is meant, before the first sample wherever that can be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kabc.core.errors import SettingsError
from kabc.core.settings import whole_number
from kabc.core.tolerances import QuantileTolerance, Tolerance, parse
from kabc.core.tolerances.quantiles import probability

_ONE = ("value",)  # a column without a name


def by_distance(tolerance: Tolerance | QuantileTolerance) -> Tolerance:
    """A tolerance that is a distance of distributions, not of single quantiles."""
    if isinstance(tolerance, QuantileTolerance):
        raise SettingsError(
            f"tolerance {tolerance.words} is about quantiles, and here whole distributions are compared; say '2%' or "
            "'0.2 sd', or ask kabc.cluster or kabc.check, which know quantiles"
        )
    return tolerance


def default_columns(count: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return ("value",) if count == 1 else tuple(f"column {i + 1}" for i in range(count))


def by_quantiles(tolerance: object, columns: Sequence[str]) -> QuantileTolerance:
    """A tolerance that is about quantiles."""
    found = parse(tolerance, columns or _ONE)
    if not isinstance(found, QuantileTolerance):
        raise SettingsError(f"tolerance {found.words} is not about quantiles; say {{'p50': '2%', 'p99': '10%'}}")
    return found


def refuse_blocks(tolerance: QuantileTolerance, block: int) -> None:
    """Intervals of quantiles are about single samples."""
    if whole_number("block", block, 1) > 1:
        raise SettingsError(
            f"blocks do not go with tolerance {tolerance.words}: intervals of quantiles count single "
            "samples, and samples of a block depend on each other; leave block out, or say a tolerance such as '2%'"
        )


def is_about_quantiles(tolerance: object, columns: Sequence[str]) -> bool:
    """Whether it names quantiles; nonsense is refused. A mapping of columns whose names are not known yet does not."""
    if not columns and isinstance(tolerance, Mapping) and _names_columns(tolerance):
        return False
    return isinstance(parse(tolerance, columns or _ONE), QuantileTolerance)


def _names_columns(tolerance: Mapping[object, object]) -> bool:
    """Whether a mapping names things, and none of them is a quantile."""
    return bool(tolerance) and all(probability(str(key)) is None for key in tolerance)
