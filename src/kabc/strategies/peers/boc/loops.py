"""The loops of BOC, compiled at the first round."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from kabc.core.arrays import Array, Counts
from kabc.strategies.peers.boc import estimate, solver
from kabc.strategies.peers.compiled import compiled


class Loops(NamedTuple):
    """Compiled functions, see solver.py and estimate.py."""

    proportions: Callable[[Counts, Array], Array]
    k_means: Callable[[Array, Counts, int], tuple[Counts, Array]]
    statistic: Callable[[Array, Counts, Counts, Array], float]


@cache
def compiled_loops() -> Loops:
    """All three are compiled together because they share helpers."""
    helpers = (*solver.HELPERS, *estimate.HELPERS)
    return Loops(*compiled(solver.proportions, estimate.k_means_maximin, estimate.statistic, using=helpers))
