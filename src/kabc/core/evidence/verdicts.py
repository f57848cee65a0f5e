"""What is proven of each pair within a tolerance: different, same, or open; and bounds on how far apart it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array

DIFFERENT, SAME, OPEN = "different", "same", "open"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts and margins of all pairs.

    Attributes
    ----------
    tolerance : the tolerance as it was said: "2 %".
    unit : of the margins, as it stands behind a number: "%".
    eps : the tolerance as a distance of mean features.
    equivalents : the tolerance in other units, in words.
    verdicts : "different", "same" or "open", (N, N).
    same_within, apart_at_least : bounds on the distance of each pair from above (infinite: none yet) and below (0: none
        yet), in `unit`, (N, N).
    same_distance, apart_distance : the same bounds as distances of mean features, (N, N).
    between : arms that differ from a group, but by less than the tolerance as far as was seen: a chain.
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
