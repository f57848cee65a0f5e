"""A tolerance of another kind: named quantiles of one column, each with the largest difference that does not matter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kabc.core.arrays import Array, Mask
from kabc.core.errors import SettingsError
from kabc.core.samples import as_points
from kabc.core.words import named

_NAME = re.compile(r"p(\d+(?:\.\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class QuantileTolerance:
    """Two arms are the same if each of these quantiles differs by at most its tolerance."""

    column: str
    names: tuple[str, ...]  # "p50", "p99"
    probabilities: tuple[float, ...]
    sizes: tuple[float, ...]  # in per cent where `relative`, else in the unit of the column
    relative: tuple[bool, ...]

    @property
    def words(self) -> str:
        """The tolerance as people say it: "p50 by 2 %, p99 by 10 %"."""
        sizes = (
            f"{size:.6g} %" if relative else f"{size:.6g} (in the unit of {named(self.column)})"
            for size, relative in zip(self.sizes, self.relative, strict=True)
        )
        return ", ".join(f"{name} by {size}" for name, size in zip(self.names, sizes, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON; `of_dict` reads it."""
        sizes = [f"{size!r}%" if relative else size for size, relative in zip(self.sizes, self.relative, strict=True)]
        return {"kind": "quantiles", "value": dict(zip(self.names, sizes, strict=True))}

    @property
    def ratios(self) -> Mask:  # (Q,)
        """Which tolerances are ratios."""
        return np.array(self.relative)

    @property
    def limits(self) -> Array:  # (Q,)
        """The tolerances as numbers: for a ratio 0.02 means 2 %."""
        return np.where(self.ratios, np.array(self.sizes) / 100, self.sizes)

    def check(self, pool: Array) -> None:  # (n, 1)
        """Refuse per cent where values have signs: a ratio of such quantiles means nothing."""
        points = as_points(pool)
        if points.shape[1] != 1:
            raise SettingsError(
                f"tolerance {self.words}: quantiles are those of one column, the samples have {points.shape[1]}; "
                "choose one column, or say a tolerance for each column, such as '2%'"
            )
        if not any(self.relative):
            return
        lowest = float(points.min())
        if lowest < 0:
            raise SettingsError(
                f"tolerance {self.words}: per cent of a quantile needs values that are not negative, and there is "
                f"{lowest:.6g}; say an absolute tolerance, such as {{'{self.names[0]}': 5}}"
            )
        for name, p, relative in zip(self.names, self.probabilities, self.relative, strict=True):
            if relative and np.quantile(points, p) <= 0:
                raise SettingsError(
                    f"tolerance {self.words}: {name} is 0 in the pilot, and so is any part of it; "
                    f"say an absolute tolerance, such as {{'{name}': 5}}"
                )


def probability(name: str) -> float | None:
    """The probability of "p99.9" or "median"; None for other words."""
    if name.strip().casefold() == "median":
        return 0.5
    found = _NAME.fullmatch(name.strip())
    return None if found is None else float(found[1]) / 100


def expect_probabilities(names: Sequence[str]) -> tuple[float, ...]:
    """The probabilities of these quantiles: between 0 and 1, no two the same."""
    found: list[float] = []
    for name in names:
        p = probability(name)
        assert p is not None
        if not 0 < p < 1:
            digits = name.strip()[1:].rstrip("0").replace(".", "")
            hint = f"; did you mean 'p{digits[:2]}.{digits[2:]}'?" if len(digits) > 2 else "; such as p50, p99, p99.9"
            raise SettingsError(f"tolerance: a quantile lies between p0 and p100, got {name!r}{hint}")
        if p in found:
            raise SettingsError(f"tolerance: the quantile {name!r} stands there twice; name it once")
        found.append(p)
    return tuple(found)
