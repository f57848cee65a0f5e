"""What is proven of each pair within a tolerance: different, same, or open; and bounds on how far apart it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array

DIFFERENT, SAME, OPEN = "different", "same", "open"


@dataclass(frozen=True, eq=False)
class QuantileVerdicts:
    """Margins of one quantile, for all pairs.

    Attributes
    ----------
    name : "p99".
    tolerance : the largest difference that does not matter, in `unit`.
    unit : as it stands behind a number: "%".
    same_within, apart_at_least : bounds on the difference from above (infinite: none yet) and below (0: none yet), in
        `unit`, (N, N).
    estimates : the quantile of the samples of each arm, in the unit of the column, without any promise, (N,); None: not
        known.
    """

    name: str
    tolerance: float
    unit: str
    same_within: Array  # (N, N)
    apart_at_least: Array  # (N, N)
    estimates: Array | None = None  # (N,)

    def within(self, size: str) -> str:
        """This quantile with a size, in words: "p99 within 8 %"."""
        return f"{self.name} within {size} {self.unit}"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts and margins of all pairs.

    Attributes
    ----------
    tolerance : the tolerance as it was said: "2 %".
    unit : of the margins, as it stands behind a number: "%".
    eps : the tolerance as a distance of mean features; NaN for quantiles, which are compared without features.
    equivalents : the tolerance in other units, in words.
    verdicts : "different", "same" or "open", (N, N).
    same_within, apart_at_least : bounds on the distance of each pair from above (infinite: none yet) and below (0: none
        yet), in `unit`, (N, N). Of several quantiles: the largest, where each is measured by its own tolerance.
    same_distance, apart_distance : the same bounds as distances of mean features, (N, N); NaN for quantiles.
    between : arms that differ from a group, but by less than the tolerance as far as was seen: a chain.
    quantiles : margins of each quantile, for a tolerance that is about quantiles.
    """

    tolerance: str
    unit: str
    eps: float
    equivalents: tuple[str, ...]
    verdicts: NDArray[np.str_]  # (N, N)
    same_within: Array  # (N, N)
    apart_at_least: Array  # (N, N)
    same_distance: Array  # (N, N)
    apart_distance: Array  # (N, N)
    between: tuple[int, ...] = ()
    quantiles: tuple[QuantileVerdicts, ...] = ()

    def taken_back(self) -> Verdicts:
        """The same question with nothing proven: for samples that refute an assumption."""
        own = np.eye(len(self.verdicts), dtype=np.bool_)
        above, below = np.where(own, 0.0, np.inf), np.zeros(own.shape)
        return replace(
            self,
            verdicts=np.where(own, SAME, OPEN),
            same_within=above,
            apart_at_least=below,
            same_distance=above,
            apart_distance=below,
            between=(),
            quantiles=tuple(replace(one, same_within=above, apart_at_least=below) for one in self.quantiles),
        )

    @property
    def near(self) -> str:
        """What two arms that are the same have, in words."""
        if not self.quantiles:
            return f"within {self.tolerance}"
        return ", ".join(one.within(f"{one.tolerance:.6g}") for one in self.quantiles)
