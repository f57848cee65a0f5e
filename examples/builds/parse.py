"""Four builds of one small program: python examples/builds/parse.py v1. The third one is slower on purpose."""

from __future__ import annotations

import sys

TIMES = {"v1": 1, "v2": 1, "v3": 2, "v4": 1}  # v3 does everything twice


def parse(lines: int) -> int:
    """Some work for the processor."""
    return sum(len(f"{number},{number * number}".split(",")) for number in range(lines))


for _ in range(TIMES[sys.argv[1]]):
    parse(60_000)
