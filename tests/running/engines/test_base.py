"""Which engine is used for which executor; its library is loaded only then."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from types import ModuleType

import pytest

from kabc import SettingsError
from kabc.running.engines.base import engine_of
from tests.running.live import picklable_arms, run


def test_executors_of_the_standard_library() -> None:
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(3) as processes:
        here, there = engine_of(threads), engine_of(processes)
        assert here is not None and here.shares_memory and here.slots is None
        assert there is not None and not there.shares_memory and there.slots == 3
    assert engine_of(None) is None


@pytest.mark.parametrize("wrong", ["threads", 4, ModuleType("dask"), object()])
def test_what_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(SettingsError, match=r"executor must be .* or the module ray, got"):
        engine_of(wrong)


def test_ray_must_be_running() -> None:
    ray = ModuleType("ray")
    ray.is_initialized = lambda: False  # type: ignore[attr-defined]
    with pytest.raises(SettingsError, match=r"call ray.init\(\) first"):
        engine_of(ray)


def test_an_executor_of_threads_loads_no_cluster() -> None:
    program = """
import sys, kabc
from concurrent.futures import ThreadPoolExecutor
from tests.running.live import picklable_arms, run
with ThreadPoolExecutor(2) as pool:
    run(picklable_arms(), executor=pool)
sys.exit(bool({"dask", "distributed", "ray", "cloudpickle"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_arm_with_a_place_of_its_own_stays_here() -> None:
    class WithPlace:
        remaining = None

        def __init__(self) -> None:
            self.place = 0

        def seek(self, start: int) -> None:
            self.place = start

        def draw(self, n: int, rng: object) -> list[float]:
            self.place += n
            return [float(self.place - n + k) for k in range(n)]

    arm = WithPlace()
    with ProcessPoolExecutor(1) as pool:
        result = run(picklable_arms() | {"a": arm}, executor=pool, max_samples=300)
    assert result.samples["a"].ravel().tolist() == list(range(result.samples_per_arm["a"]))
