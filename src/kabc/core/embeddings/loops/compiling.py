"""How the functions of the loop are compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

try:
    import numba
    from numba.core.registry import cpu_target
except ModuleNotFoundError:
    raise ImportError("the compiled loop needs numba; pip install 'kabc[fast]'") from None

from kabc.core.compiling import stamp

_settings: Any = numba.config
if _settings.DISABLE_JIT:
    raise ImportError("numba is told not to compile (NUMBA_DISABLE_JIT); unset it for the compiled loop")

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(*fastmath: str, cache: bool = False) -> Callable[[_F], _F]:
    """Compile on first use. With `cache`, compiled code is kept on disk if the disk is writable."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", *fastmath}}

    def compile_(function: _F) -> _F:
        if cache:  # the tiles and profiles that it calls are in other files of this folder
            function.__qualname__ = f"{function.__name__}_{stamp(Path(__file__).parent.glob('*.py'))}"
        try:
            made: Any = numba.njit(cache=cache, **options)(function)
        except RuntimeError:  # there is no writable place for a cache
            made = numba.njit(**options)(function)
        return cast("_F", made)

    return compile_


def vectors_of_16() -> bool:
    """Whether numba compiles for a processor whose vectors hold 16 float32 numbers."""
    compiler: Any = cpu_target.target_context
    _, _, features = compiler.codegen().magic_tuple()
    return "+avx512f" in features


def workers() -> int:
    """Number of threads: NUMBA_NUM_THREADS if it is set, else the number of processors."""
    return int(_settings.NUMBA_NUM_THREADS)
