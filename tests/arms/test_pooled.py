"""Several arms as one."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest
from scipy.stats import binom

from kabc.arms.base import Arm
from kabc.arms.callables import CallableArm
from kabc.arms.pooled import PooledDraws, PooledRows, pooled
from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError, SettingsError
from kabc.testing import ArmConformance


def rows(**given: list[float]) -> PooledRows:
    parts: dict[Hashable, Arm] = {name: PoolArm(name, x, np.random.default_rng(len(x))) for name, x in given.items()}
    found = pooled(parts, np.random.default_rng(5))
    assert isinstance(found, PooledRows)
    return found


def constant(value: float) -> CallableArm:
    return CallableArm(lambda n, rng: np.full(n, value))


def live(*values: float) -> PooledDraws:
    found = pooled({f"arm {value}": constant(value) for value in values}, np.random.default_rng(0))
    assert isinstance(found, PooledDraws)
    return found


class TestPooledRows(ArmConformance):
    def make_arm(self) -> Arm:
        return rows(a=[1.0, 2.0, 3.0], b=[4.0, 5.0, 6.0, 7.0])


class TestPooledDraws(ArmConformance):
    def make_arm(self) -> Arm:
        return live(1.0, 2.0)


def test_all_rows_come_once() -> None:
    pool = rows(a=[1.0, 2.0, 3.0], b=[4.0, 5.0, 6.0, 7.0])
    drawn = np.concatenate([pool.draw(n, np.random.default_rng(n)) for n in (2, 1, 4)])
    assert sorted(drawn.tolist()) == [1, 2, 3, 4, 5, 6, 7]
    assert pool.remaining == 0
    with pytest.raises(ArmError, match="1 samples were asked for, 0 are left"):
        pool.draw(1, np.random.default_rng(0))


def test_an_arm_with_more_rows_counts_for_more_and_every_place_is_as_likely() -> None:
    runs, level = 2_000, 1e-4
    firsts = lasts = 0
    for seed in range(runs):
        parts: dict[Hashable, Arm] = {
            "a": PoolArm("a", [0.0], np.random.default_rng(seed)),
            "b": PoolArm("b", [1.0] * 3, np.random.default_rng(seed)),
        }
        drawn = pooled(parts, np.random.default_rng(seed + runs)).draw(4, np.random.default_rng(0))
        firsts, lasts = firsts + (drawn[0] == 0), lasts + (drawn[3] == 0)
    for count in (firsts, lasts):
        assert binom.ppf(level, runs, 1 / 4) <= count <= binom.isf(level, runs, 1 / 4)


def test_arms_without_an_end_are_as_likely_as_each_other() -> None:
    n = 4_000
    drawn = live(0.0, 1.0).draw(n, np.random.default_rng(3))
    assert binom.ppf(1e-4, n, 1 / 2) <= drawn.sum() <= binom.isf(1e-4, n, 1 / 2)


@pytest.mark.parametrize("piece", [1, 6])
def test_a_block_comes_from_one_arm_however_it_is_drawn(piece: int) -> None:
    pool, rng = live(0.0, 1.0, 2.0).in_blocks(3), np.random.default_rng(0)
    drawn = np.concatenate([pool.draw(piece, rng) for _ in range(60 // piece)]).reshape(20, 3)
    assert (drawn == drawn[:, :1]).all()
    assert len(set(drawn[:, 0])) == 3


def test_blocks_of_rows_are_consecutive_rows_of_one_arm() -> None:
    pool = rows(a=[1.0, 2.0, 3.0, 4.0, 5.0], b=[11.0, 12.0]).in_blocks(2)
    assert pool.remaining == 6
    drawn = pool.draw(6, np.random.default_rng(0)).reshape(3, 2)
    assert sorted(map(tuple, drawn.tolist())) == [(1, 2), (3, 4), (11, 12)]


def test_a_pool_of_rows_and_of_functions_is_refused() -> None:
    parts: dict[Hashable, Arm] = {"t": PoolArm("t", [1.0], np.random.default_rng(0)), "f": constant(1.0)}
    with pytest.raises(SettingsError, match="arm 't' is a pool of samples and arm 'f' has no end"):
        pooled(parts, np.random.default_rng(0))


def test_what_goes_wrong_is_said_of_the_arm_it_happened_in() -> None:
    def fails(n: int, rng: np.random.Generator) -> list[float]:
        raise ConnectionError("the line is dead")

    for bad, said in ((CallableArm(fails), "the line is dead"), (CallableArm(lambda n, rng: [1.0]), "exactly n rows")):
        pool = pooled({"good": constant(1.0), "bad": bad}, np.random.default_rng(0))
        with pytest.raises(ArmError, match=said) as caught:
            pool.draw(40, np.random.default_rng(0))
        assert caught.value.arm == "bad"
    wide = CallableArm(lambda n, rng: np.zeros((n, 2)))
    with pytest.raises(ArmError, match="do not fit together"):
        pooled({"good": constant(1.0), "wide": wide}, np.random.default_rng(0)).draw(40, np.random.default_rng(0))
