"""Loops over arms, compiled by numba at the first round of a strategy; what was compiled is kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def compiled(*functions: Callable[..., Any], using: Sequence[Callable[..., Any]]) -> list[Any]:
    """The functions, and those that they use, compiled; numba is imported here: it takes longer than all the rest."""
    import numba
    from numba.extending import register_jitable

    how: dict[str, Any] = {"error_model": "numpy"}  # a division by 0 is infinite, never an exception
    for helper in using:
        register_jitable(**how)(helper)
    version = _version([*functions, *using])
    done: list[Any] = []
    for function in functions:
        # numba compiles again when the file of the function has changed, but it does not look at files of helpers.
        # The name is part of its key on disk.
        function.__qualname__ = f"{function.__name__}_{version}"
        try:
            done.append(numba.njit(cache=True, **how)(function))
        except RuntimeError:  # no place for a cache
            done.append(numba.njit(**how)(function))
    return done


def _version(functions: Sequence[Callable[..., Any]]) -> str:
    """Names, sizes and dates of all files that the functions come from."""
    stamps = []
    for name in sorted({function.__code__.co_filename for function in functions}):
        path = Path(name)
        if path.is_file():
            known = path.stat()
            stamps.append(f"{path.name} {known.st_size} {known.st_mtime_ns}")
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()[:12]
