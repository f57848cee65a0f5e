"""Pools: every row once, in an order that the generator decides."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.arms.base import Arm
from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError
from kabc.testing import ArmConformance


def test_a_pool_gives_every_row_once() -> None:
    rows = np.arange(20).reshape(10, 2)
    arm = PoolArm("x", rows, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    drawn = np.concatenate([arm.draw(n, rng) for n in (3, 1, 6)])
    assert arm.remaining == 0
    assert sorted(drawn[:, 0].tolist()) == rows[:, 0].tolist()
    assert drawn.tolist() != rows.tolist()


def test_the_order_of_a_pool_does_not_depend_on_how_it_is_cut() -> None:
    rows, rng = np.arange(30.0), np.random.default_rng(1)
    once = PoolArm("x", rows, np.random.default_rng(5)).draw(30, rng)
    arm = PoolArm("x", rows, np.random.default_rng(5))
    assert np.array_equal(once, np.concatenate([arm.draw(n, rng) for n in (7, 7, 16)]))


def test_samples_may_be_words() -> None:
    words = np.array(["b", "a", "c"])
    assert sorted(PoolArm("x", words, np.random.default_rng(0)).draw(3, np.random.default_rng(0))) == ["a", "b", "c"]


@pytest.mark.parametrize(("left", "said"), [(1, "it has 1 sample left, but 2"), (0, "it has 0 samples left, but 1")])
def test_more_than_remains_is_refused(left: int, said: str) -> None:
    rng = np.random.default_rng(0)
    arm = PoolArm("x", [1.0, 2.0, 3.0], rng)
    arm.draw(3 - left, rng)
    with pytest.raises(ArmError, match=f"{said} were asked for; give it more rows"):
        arm.draw(left + 1, rng)
    assert arm.remaining == left


@pytest.mark.parametrize("rows", [3.0, np.zeros((2, 2, 2)), [], [[1.0, 2.0], [3.0]]])
def test_what_is_not_an_array_of_rows_is_refused_by_name(rows: object) -> None:
    with pytest.raises(ArmError, match=r"^arm 'door': .* array \(n,\) or \(n, d\)"):
        PoolArm("door", rows, np.random.default_rng(0))  # type: ignore[arg-type]


class TestPoolArm(ArmConformance):
    def make_arm(self) -> Arm:
        return PoolArm("x", np.arange(12.0), np.random.default_rng(5))
