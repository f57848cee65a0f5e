"""How recorded runs are compared: numbers to a relative error of 1e-6, all else exactly."""

from __future__ import annotations

import math
from typing import Any


def differences(new: Any, old: Any, place: str = "") -> list[str]:
    """Where a run says something else than what was recorded, a line each."""
    if isinstance(new, dict) and isinstance(old, dict):
        keys = [*old, *(key for key in new if key not in old)]
        missing = "(nothing)"
        return [
            line for key in keys for line in differences(new.get(key, missing), old.get(key, missing), f"{place}/{key}")
        ]
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        pairs = enumerate(zip(new, old, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, f"{place}[{i}]")]
    if isinstance(new, float) and isinstance(old, float) and math.isclose(new, old, rel_tol=1e-6, abs_tol=1e-9):
        return []
    return [] if new == old else [f"{place}\n  recorded: {old}\n  now:      {new}"]
