"""Durations and moments, short, as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_DAY = 86_400.0


def clock(seconds: float) -> str:
    """A duration, short."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole / 3600:.1f} h"


def ago(seconds: float) -> str:
    """How long ago something was; clocks may differ a little."""
    if seconds < 1.0:
        return "just now"
    return f"{clock(seconds)} ago" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days ago"


def day(seconds: float) -> str:
    """A moment, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
