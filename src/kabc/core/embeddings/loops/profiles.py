"""Psi(t) of every kernel that the loop knows, in float32, and its sum over a stretch of tiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kabc.core.embeddings.loops.compiling import compiled
from kabc.core.embeddings.loops.recipes import EXP2, EXP2_ROOT, MATERN_3, MATERN_5, POWER_1, POWER_2, POWER_3

_SINGLE_SUM = 512  # values added in float32; nearly equal values round alike, and such errors do not average out

_ZERO, _ONE, _LN2, _SQUARE = (np.float32(c) for c in (0, 1, math.log(2), math.log(2) ** 2 / 3))
_ROUND = np.float32(1.5 * 2**23)  # added to a small number, leaves its nearest integer in the lowest bits
_LAST = np.float32(126)  # 2^-126 is the smallest normal number: 0 for us
# 2^f = 1 + f p(f) on [-1/2, 1/2]: p is a least-squares fit of (2^f - 1) / f in Chebyshev nodes, error 5e-9
_P1, _P2, _P3, _P4, _P5, _P6 = (
    np.float32(c)
    for c in (6.93147188e-01, 2.40226509e-01, 5.55035710e-02, 9.61805667e-03, 1.33908674e-03, 1.54614475e-04)
)


@compiled()
def exp2(t: Any) -> Any:
    """2^-t, exactly 1 at 0."""
    t = min(t, _LAST)
    whole = np.float32(_ROUND - t)
    f = (_ROUND - whole) - t
    p = np.float32(_ONE + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * (_P5 + f * _P6))))))
    return np.int32(p.view(np.int32) + (whole.view(np.int32) << 23)).view(np.float32)


@compiled()
def _root(t: Any) -> Any:
    return min(math.sqrt(max(t, _ZERO)), _LAST)  # rounding of a dot product may have left t below 0


@compiled()
def _exp2_root(t: Any) -> Any:
    return exp2(_root(t))


@compiled()
def _matern_3(t: Any) -> Any:
    return (_ONE + _LN2 * _root(t)) * exp2(_root(t))


@compiled()
def _matern_5(t: Any) -> Any:
    return (_ONE + _LN2 * _root(t) + _SQUARE * _root(t) * _root(t)) * exp2(_root(t))


@compiled()
def _power_1(t: Any) -> Any:
    return _ONE / math.sqrt(_ONE + t)


@compiled()
def _power_2(t: Any) -> Any:
    return _ONE / (_ONE + t)


@compiled()
def _power_3(t: Any) -> Any:
    return _ONE / ((_ONE + t) * math.sqrt(_ONE + t))


@compiled()
def _power_4(t: Any) -> Any:
    return _ONE / ((_ONE + t) * (_ONE + t))


def _summed(profile: Any) -> Callable[[Any, int], Any]:
    """The sum of Psi(t) over the first n entries of t."""

    def total(t: Any, n: int) -> Any:
        total = 0.0
        for first in range(0, n, _SINGLE_SUM):
            single: Any = np.float32(0)
            # unsigned: an index that could be negative is counted from the end, and such loads are one by one
            for c in range(np.uint64(first), np.uint64(min(first + _SINGLE_SUM, n))):
                single += profile(t[c])
            total += single
        return total

    # compiled code on disk is linked by name, so each function needs its own name
    total.__qualname__ = f"_sum_{profile.py_func.__name__}"
    return compiled("reassoc")(total)


_sum_exp2, _sum_exp2_root = _summed(exp2), _summed(_exp2_root)
_sum_matern_3, _sum_matern_5 = _summed(_matern_3), _summed(_matern_5)
_sum_power_1, _sum_power_2 = _summed(_power_1), _summed(_power_2)
_sum_power_3, _sum_power_4 = _summed(_power_3), _summed(_power_4)


@compiled()
def sum_profile(t: Any, n: int, profile: int) -> Any:
    """The sum of that profile over the first n entries of t."""
    if profile == EXP2:
        return _sum_exp2(t, n)
    if profile == EXP2_ROOT:
        return _sum_exp2_root(t, n)
    if profile == MATERN_3:
        return _sum_matern_3(t, n)
    if profile == MATERN_5:
        return _sum_matern_5(t, n)
    if profile == POWER_1:
        return _sum_power_1(t, n)
    if profile == POWER_2:
        return _sum_power_2(t, n)
    if profile == POWER_3:
        return _sum_power_3(t, n)
    return _sum_power_4(t, n)
