"""The compiled loop: threads, panels, names and the order of memory change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kabc.core.embeddings import gram
from kabc.core.embeddings.block_sums import block_sums
from kabc.core.kernels import Gaussian
from tests.core.embeddings.examples import (
    ENGINES,
    SIZES,
    distances,
    double_sums,
    embedded,
    everyone,
    normal,
)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    from kabc.core.embeddings import loops

    arms = normal(5, (300, 5, 1100, 64), 12)
    how = loops.recipe(Gaussian(3.0))
    assert how is not None
    one, *others = (loops.sums(how, arms, arms, everyone(4), threads) for threads in (1, 2, 5))
    assert one is not None
    assert all(other is not None and (other == one).all() for other in others)


def test_small_panels_and_short_lists_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from kabc.core.embeddings.loops import tasks

    arms = normal(6, (50, 1, 200, 30), 3)
    expected = double_sums(Gaussian(1.0), arms, arms)
    for name, value in (("_PANEL_ROWS", 61), ("_BLOCK_ROWS", 20), ("_PAIRS", 3)):
        monkeypatch.setattr(tasks, name, value)
    monkeypatch.setattr(gram, "_PAIRS", 5)
    assert np.allclose(block_sums(Gaussian(1.0), arms, arms, everyone(4), "numba"), expected, rtol=1e-6)
    for engine in ENGINES:
        found = embedded(Gaussian(1.0), arms, engine).squared_distances()
        assert np.abs(found - distances(Gaussian(1.0), arms)).max() < 1e-6


def test_a_disk_that_cannot_be_written_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import CompileResultCacheImpl

    from kabc.core.embeddings.loops.compiling import compiled

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])

    def doubled(x: float) -> float:
        return 2 * x

    assert compiled(cache=True)(doubled)(21.0) == 42.0


def test_no_two_compiled_functions_share_a_name() -> None:
    # compiled code that is kept on disk is linked by name
    from kabc.core.embeddings.loops import blocks, profiles

    found = [value for module in (blocks, profiles) for value in vars(module).values() if hasattr(value, "py_func")]
    names = [value.py_func.__qualname__ for value in {id(value): value for value in found}.values()]
    assert len(names) > 20
    assert len(set(names)) == len(names)


def test_the_order_of_columns_in_memory_does_not_matter() -> None:
    from kabc.core.embeddings.loops import blocks

    arms = normal(25, SIZES, 3)
    loop: Any = blocks.run
    columns_first = [np.asfortranarray(x) for x in arms]
    expected = block_sums(Gaussian(1.0), arms, arms, everyone(5), "numba")
    compiled = len(loop.signatures)
    assert (block_sums(Gaussian(1.0), columns_first, columns_first, everyone(5), "numba") == expected).all()
    assert len(loop.signatures) == compiled
