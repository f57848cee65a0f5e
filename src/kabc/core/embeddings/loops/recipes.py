"""Which kernels the compiled loop knows: each is a fixed function Psi(t) of scaled differences."""

from __future__ import annotations

import math
from typing import NamedTuple

from kabc.core.kernels import Gaussian, InverseMultiquadric, Kernel, Laplace, Matern, RationalQuadratic

# forms of t
DOT, SQUARES, ABSOLUTES = range(3)
# profiles Psi(t)
EXP2, EXP2_ROOT, MATERN_3, MATERN_5, POWER_1, POWER_2, POWER_3, POWER_4 = range(8)


class Recipe(NamedTuple):
    """A kernel as Psi(t) of scaled differences: t = sum of squares, or of absolute values."""

    form: int
    profile: int
    scale: float
    smooth: bool


def recipe(kernel: Kernel) -> Recipe | None:
    """The recipe of a kernel, or None if there is no loop for it."""
    log2_e = math.log2(math.e)
    # exact types: a derived class may have another profile
    if type(kernel) is Gaussian:
        return Recipe(SQUARES, EXP2, math.sqrt(log2_e / 2) / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is Laplace:
        form, profile = (ABSOLUTES, EXP2) if kernel.norm == "l1" else (SQUARES, EXP2_ROOT)
        return Recipe(form, profile, log2_e / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is Matern:
        profile = MATERN_3 if kernel.nu == 1.5 else MATERN_5
        return Recipe(SQUARES, profile, math.sqrt(2 * kernel.nu) * log2_e / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is InverseMultiquadric:
        return Recipe(SQUARES, POWER_1, 1 / kernel.bandwidth, kernel.smooth_at_zero)
    if type(kernel) is RationalQuadratic and 2 * kernel.alpha in (1, 2, 3, 4):
        power = int(2 * kernel.alpha)
        return Recipe(SQUARES, POWER_1 + power - 1, 1 / (math.sqrt(power) * kernel.bandwidth), kernel.smooth_at_zero)
    return None
