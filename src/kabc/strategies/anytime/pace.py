"""How many samples of an arm a round draws: few, so that an answer comes soon after the evidence suffices."""

from __future__ import annotations

import math

FIRST = 2  # samples of each arm before the first bet
GROWTH = 0.1  # later rounds draw a tenth of what an arm has
_NEAR = 0.5  # near the end they draw half of what is missing
_LEAST = 0.03  # and at least this part of what an arm has


def core_block(held: int, missing: float = math.inf) -> int:
    """Samples to draw of an arm of the core that has this many; an arm without samples gets `FIRST`.

    `missing`: about how many more it takes. A whole block near the end would draw more than that.
    """
    return FIRST if held == 0 else min(block(held), max(1, int(_LEAST * held), math.ceil(min(_NEAR * missing, held))))


def block(held: int) -> int:
    """A tenth of what an arm has, at least one sample."""
    return max(1, int(GROWTH * held))
