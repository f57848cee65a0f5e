"""The compiled loop: threads, panels, names and the order of memory change nothing."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
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


@pytest.mark.parametrize("d", [1, 2, 12])
def test_blocks_of_every_small_size_and_arms_given_twice_change_nothing(d: int) -> None:
    from kabc.core.embeddings import loops

    arms = normal(7, (*range(1, 36), 127, 128, 129, 137), d)
    how = loops.recipe(Gaussian(2.0))
    assert how is not None
    found = loops.sums(how, arms, arms, everyone(len(arms)))
    again = loops.sums(how, arms, list(arms), everyone(len(arms)))
    assert found is not None and again is not None
    assert (found == again).all()
    assert np.allclose(found, double_sums(Gaussian(2.0), arms, arms), rtol=1e-6)


def test_calls_from_many_threads_and_a_forked_process_get_the_same_sums() -> None:
    from kabc.core.embeddings import loops

    arms = normal(5, (300, 5, 400, 64), 3)
    how = loops.recipe(Gaussian(3.0))
    assert how is not None

    def found(_: int = 0) -> bytes:
        sums = loops.sums(how, arms, arms, everyone(4), 2)
        assert sums is not None
        return sums.tobytes()

    once = found()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(found, range(64))) == {once}
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is what is tested
        child = os.fork()
    if not child:
        signal.alarm(30)  # if it waits for a thread that is not there
        os.write(writer, found())
        os._exit(threading.active_count() != 2)  # with a thread of its own: the others are gone
    assert os.waitpid(child, 0) == (child, 0)
    assert os.read(reader, len(once)) == once
    os.close(reader)
    os.close(writer)


def test_an_interrupt_stops_the_other_threads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from kabc.core.embeddings import loops
    from kabc.core.embeddings.loops import tasks

    begun: list[int] = []

    def slow(*given: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        begun.append(given[6])
        time.sleep(0.02)

    monkeypatch.setattr(tasks, "run", slow)
    arms = normal(5, (20,) * 20, 3)
    how = loops.recipe(Gaussian(3.0))
    assert how is not None
    with pytest.raises(KeyboardInterrupt):
        loops.sums(how, arms, arms, everyone(20), 2)
    tasks._helpers(1, os.getpid()).submit(int).result()  # comes after the work that was left
    assert len(begun) < 10  # of 64 batches


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


x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names processors of the x86 family")


def for_processor(name: str, features: str, program: str) -> str:
    """What a program prints whose loops are compiled for that processor."""
    told = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | told, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


@x86
def test_processors_with_short_vectors_get_the_same_sums() -> None:
    program = """
import numpy as np
from kabc.core.embeddings.block_sums import block_sums
from kabc.core.embeddings.loops.tiles import TILE_ROWS
from tests.core.embeddings.examples import SIZES, double_sums, everyone, looped, normal
print(TILE_ROWS)
for d in (2, 9):
    arms = normal(d, SIZES, d)
    for kernel in looped(d):
        found = block_sums(kernel, arms, arms, everyone(5), "numba")
        error = np.abs(found - double_sums(kernel, arms, arms)) / np.outer(SIZES, SIZES).ravel()
        assert error.max() < 2.5e-7, kernel
"""
    assert for_processor("x86-64", "", program) == "4\n"


@x86
def test_values_are_loaded_as_whole_vectors() -> None:
    # loads one by one ("gather") take four times as long; code is compiled here, not run
    program = """
from numba import float32, int64
from kabc.core.embeddings.loops import profiles
from kabc.core.embeddings.loops.tiles import TILE_ROWS
print(TILE_ROWS)
for name in [name for name in vars(profiles) if name.startswith("_sum_")]:
    total = getattr(profiles, name)
    total.compile((float32[::1], int64))
    (code,) = total.inspect_asm().values()
    print(name, "gather" in code, "zmm" in code or "ymm" in code)
"""
    features = "+avx,+avx2,+fma,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
    rows, *lines = for_processor("icelake-server", features, program).splitlines()
    assert rows == "8"
    assert len(lines) == 8
    assert all(line.endswith("False True") for line in lines), lines
