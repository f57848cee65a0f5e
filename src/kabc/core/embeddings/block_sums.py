"""Sums of kernel values over blocks of samples. The whole kernel matrix is never stored.

Two engines give the same squared distances to 1e-6: tiles in numpy, and for large calls a compiled loop (`loops`) if
numba is there (the extra "fast").
If few rows are different, each kernel value between them is computed once (`distinct`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings.distinct import distinct_sums
from kabc.core.embeddings.tiles import BY_PRODUCTS, tile_sums
from kabc.core.errors import SettingsError
from kabc.core.kernels import Gaussian, Kernel, Product, Stationary, Sum

Engine = Literal["auto", "numpy", "numba"]

_LOOP_FROM = 30_000_000  # with fewer kernel values, matrix products are faster than loading the compiled loop


def block_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    engine: Engine = "auto",
) -> Array:  # arrays (n_i, d), arrays (m_j, d), (P, 2) -> (P,)
    """Sum of g over left[i] x right[j] for each (i, j) in `pairs`, added in float64.

    Time is proportional to the number of values times the dimension. Memory stays below 200 MB. If there are few
    different rows, equal rows are evaluated once. "numba" means the compiled loop if the kernel has one.
    """
    pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    sizes = np.array([len(x) for x in left])[pairs[:, 0]] * np.array([len(y) for y in right])[pairs[:, 1]]
    out = np.zeros(len(pairs))
    some = np.flatnonzero(sizes)
    if len(some):
        n_values = int(sizes.sum())
        found = distinct_sums(kernel, left, right, pairs[some], n_values)
        out[some] = _plain_sums(kernel, left, right, pairs[some], n_values, engine) if found is None else found
    return out


def _plain_sums(
    kernel: Kernel,
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    pairs: NDArray[np.intp],
    n_values: int,
    engine: Engine,
) -> Array:  # (P, 2) -> (P,)
    total = np.zeros(len(pairs))
    for part in kernel.parts if isinstance(kernel, Sum) else (kernel,):
        simple = _folded(part)
        found = None
        large = n_values * (1 if type(simple) in BY_PRODUCTS else 4) >= _LOOP_FROM
        if engine == "numba" or (engine == "auto" and large):
            found = _loop_sums(simple, left, right, pairs, required=engine == "numba")
        total += tile_sums(simple, left, right, pairs) if found is None else found
    return total


def _folded(kernel: Kernel) -> Kernel:
    """A product of Gaussian kernels is a Gaussian kernel: the values of 1/h^2 add."""
    if isinstance(kernel, Product) and all(type(part) is Gaussian for part in kernel.parts):
        return Gaussian(math.hypot(*(1 / part.bandwidth for part in kernel.parts if isinstance(part, Gaussian))) ** -1)
    return kernel


def _loop_sums(
    kernel: Kernel, left: Sequence[Array], right: Sequence[Array], pairs: NDArray[np.intp], required: bool
) -> Array | None:  # (P, 2) -> (P,)
    """Sums by the compiled loop. None if this kernel has no loop or numba is missing."""
    if not isinstance(kernel, Stationary):
        return None
    try:
        from kabc.core.embeddings import loops
    except ImportError as error:
        if required:
            raise SettingsError(str(error)) from None
        return None
    how = loops.recipe(kernel)
    return None if how is None else loops.sums(how, left, right, pairs)
