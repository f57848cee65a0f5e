"""Arms: functions without an end, pools that run dry."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.arms.base import as_arm
from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError


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


def test_a_function_has_no_end() -> None:
    arm = as_arm("f", lambda n, rng: rng.normal(size=n), np.random.default_rng(0))
    assert arm.remaining is None
    assert np.shape(arm.draw(4, np.random.default_rng(0))) == (4,)


def test_an_object_that_is_an_arm_already_stays_as_it_is() -> None:
    pool = PoolArm("x", [1.0, 2.0], np.random.default_rng(0))
    assert as_arm("x", pool, np.random.default_rng(1)) is pool


@pytest.mark.parametrize("source", ["text", b"bytes", {"a": 1}, None, 3.0, np.zeros((2, 2, 2)), []])
def test_what_is_no_arm_is_refused_by_name(source: object) -> None:
    with pytest.raises(ArmError, match="arm 'door'"):
        as_arm("door", source, np.random.default_rng(0))  # type: ignore[arg-type]
