"""Async arms: many at once, in order, the same whatever the timing."""

from __future__ import annotations

import asyncio
import pickle
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc.arms.asynchronous import AsyncArm
from kabc.arms.base import Arm
from kabc.core.errors import ArmError, SettingsError

Rows = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


async def normal(generator: np.random.Generator) -> float:
    return float(generator.normal())


async def slow_at_times(generator: np.random.Generator) -> float:
    first = float(generator.normal())
    await asyncio.sleep(0.01 if first > 0 else 0.0)
    return first + float(generator.normal())


async def quick(generator: np.random.Generator) -> float:
    return float(generator.normal()) + float(generator.normal())


def drawn(arm: AsyncArm, n: int, seed: int = 0) -> list[float]:
    try:
        return list(arm.draw(n, rng(seed)))
    finally:
        arm.close()


def test_an_async_arm_is_an_arm_without_an_end() -> None:
    arm = AsyncArm(normal)
    assert isinstance(arm, Arm)
    assert arm.remaining is None
    assert "normal" in repr(arm)


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_the_samples_do_not_depend_on_timing_or_concurrency(concurrency: int) -> None:
    assert drawn(AsyncArm(slow_at_times, concurrency), 20) == drawn(AsyncArm(quick, 2), 20)


def test_samples_differ_from_each_other_and_from_the_next_draw() -> None:
    arm, generator = AsyncArm(normal), rng()
    values = arm.draw(5, generator) + arm.draw(5, generator)
    arm.close()
    assert len(set(values)) == 10


def test_at_most_concurrency_are_under_way_and_as_many_as_that_are() -> None:
    now, most = 0, 0

    async def counted(generator: np.random.Generator) -> list[float]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1
        return [1.0, 2.0]

    arm = AsyncArm(counted, concurrency=4)
    assert np.shape(arm.draw(21, rng())) == (21, 2)
    arm.close()
    assert most == 4


def test_the_first_error_is_raised_as_it_is_and_the_rest_are_cancelled() -> None:
    started, cancelled = 0, 0

    async def fails(generator: np.random.Generator) -> float:
        nonlocal started, cancelled
        started += 1
        if started == 3:
            raise ZeroDivisionError("the third one")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled += 1
            raise
        return 0.0

    arm = AsyncArm(fails, concurrency=3)
    with pytest.raises(ZeroDivisionError, match="the third one"):
        arm.draw(100, rng())
    arm.close()
    assert (started, cancelled) == (3, 2)


def test_one_loop_serves_all_draws_until_closed_and_a_closed_arm_can_be_drawn_from_again() -> None:
    async def loop_number(generator: np.random.Generator) -> int:
        return id(asyncio.get_running_loop())

    arm = AsyncArm(loop_number)
    before = threading.active_count()
    assert len({*arm.draw(3, rng()), *arm.draw(3, rng())}) == 1
    assert threading.active_count() == before + 1
    arm.close()
    arm.close()
    assert threading.active_count() == before
    assert len(arm.draw(2, rng())) == 2
    arm.close()


def test_it_can_be_drawn_from_where_a_loop_runs_already() -> None:
    async def notebook() -> list[float]:
        return drawn(AsyncArm(normal), 3)

    assert asyncio.run(notebook()) == drawn(AsyncArm(normal), 3)


def test_an_async_arm_is_not_sent_to_another_process() -> None:
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        pickle.dumps(AsyncArm(normal))


@pytest.mark.parametrize("concurrency", [0, -1, 2.5, True])
def test_a_concurrency_that_is_no_count_is_refused_with_its_value(concurrency: int) -> None:
    with pytest.raises(SettingsError, match=f"concurrency must be a whole number, 1 or more, got {concurrency}"):
        AsyncArm(normal, concurrency)


# ---------------------------------------------------------------- passed to a run as they are


async def several(n: int, generator: np.random.Generator) -> Rows:
    await asyncio.sleep(0)
    return generator.normal(9.0, 1.0, n)


class Source:
    async def __call__(self, n: int, generator: np.random.Generator) -> Rows:
        return generator.normal(0.0, 1.0, n)


def test_functions_with_and_without_n_are_arms_as_they_are() -> None:
    arms: dict[str, Any] = {"one": normal, "all": several, "object": Source(), "partial": partial(shifted, 9.0)}
    result = kabc.cluster(arms, 2, seed=0, progress=False)
    assert result.groups == (("one", "object"), ("all", "partial"))


async def shifted(mean: float, n: int, generator: np.random.Generator, *, scale: float = 1.0) -> Rows:
    return generator.normal(mean, scale, n)


async def nothing() -> float:
    return 0.0


async def three(n: int, generator: np.random.Generator, more: int) -> float:
    return 0.0


async def named(generator: np.random.Generator, *, prompt: str) -> float:
    return 0.0


@pytest.mark.parametrize("function", [nothing, three, named])
def test_another_signature_is_refused_with_the_right_ones(function: Any) -> None:
    name = function.__name__
    said = rf"^arm 'x': async def {name}\(.*is no arm; write async def {name}\(rng\) for one.*{name}\(n, rng\) for n"
    with pytest.raises(ArmError, match=said):
        kabc.cluster({"x": function, "y": normal}, 2, seed=0)


def test_async_arms_wait_at_the_same_time() -> None:
    now, most, lock = 0, 0, threading.Lock()

    async def slow(n: int, generator: np.random.Generator) -> Rows:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        await asyncio.sleep(0.02)
        with lock:
            now -= 1
        return generator.normal(size=n)

    together = kabc.cluster([slow] * 4, 2, seed=0, max_samples=40, progress=False)
    assert most == 4
    most = 0
    in_turn = kabc.cluster([slow] * 4, 2, seed=0, max_samples=40, progress=False, workers=1)
    assert most == 1
    assert np.array_equal(together.evidence.strength, in_turn.evidence.strength)
