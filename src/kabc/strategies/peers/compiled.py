"""Loops over arms. Numba compiles them in the first round of a strategy, and the compiled code is kept on disk.

Without numba (the extra "fast") they run as they are written: the same numbers, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kabc.core.compiling import stamp


def compiled(*functions: Callable[..., Any], using: Sequence[Callable[..., Any]]) -> list[Any]:
    """The functions and those that they use, compiled. Numba is imported only here, because its import is slow."""
    try:
        import numba
        from numba.extending import register_jitable
    except ImportError:
        return [np.errstate(all="ignore")(function) for function in functions]  # a division by 0 is infinite here too

    how: dict[str, Any] = {"error_model": "numpy"}  # a division by 0 is infinite, never an exception
    for helper in using:
        register_jitable(**how)(helper)
    version = stamp(function.__code__.co_filename for function in (*functions, *using))
    done: list[Any] = []
    for function in functions:
        function.__qualname__ = f"{function.__name__}_{version}"
        try:
            done.append(numba.njit(cache=True, **how)(function))
        except RuntimeError:  # there is no writable place for a cache
            done.append(numba.njit(**how)(function))
    return done
