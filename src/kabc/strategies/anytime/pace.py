"""How many samples of an arm a round draws: few, so that an answer comes soon after the evidence suffices."""

from __future__ import annotations

FIRST = 2  # samples of each arm before the first bet
GROWTH = 0.1  # later rounds draw a tenth of what an arm has


def core_block(held: int) -> int:
    """Samples to draw of an arm of the core that has this many; an arm without samples gets `FIRST`."""
    return FIRST if held == 0 else block(held)


def block(held: int) -> int:
    """A tenth of what an arm has, at least one sample."""
    return max(1, int(GROWTH * held))
