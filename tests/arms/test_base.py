"""What becomes an arm, and what is known of named arms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kabc.arms.asynchronous import AsyncArm
from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.arms.callables import CallableArm
from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError

RNG = np.random.default_rng(0)


async def sample(rng: np.random.Generator) -> float:
    return float(rng.normal())


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (lambda n, rng: rng.normal(size=n), CallableArm),
        (sample, AsyncArm),
        ([1.0, 2.0], PoolArm),
        (np.zeros((3, 2)), PoolArm),
    ],
)
def test_functions_coroutines_and_arrays_become_arms(source: Any, kind: type) -> None:
    arm = as_arm("x", source, np.random.default_rng(0))
    assert isinstance(arm, kind)
    assert isinstance(arm, Arm)


def test_an_object_that_is_an_arm_already_stays_as_it_is() -> None:
    pool = PoolArm("x", [1.0, 2.0], np.random.default_rng(0))
    assert as_arm("x", pool, np.random.default_rng(1)) is pool


@pytest.mark.parametrize("source", ["text", b"bytes", {"a": 1}, None, 3.0, np.zeros((2, 2, 2)), []])
def test_what_is_no_arm_is_refused_by_name(source: object) -> None:
    with pytest.raises(ArmError, match="arm 'door'"):
        as_arm("door", source, np.random.default_rng(0))  # type: ignore[arg-type]


def test_the_generator_decides_the_order_of_a_pool() -> None:
    orders = [
        np.asarray(as_arm("x", np.arange(30), np.random.default_rng(seed)).draw(30, RNG)).tolist() for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_named_arms_are_a_dict_with_what_is_known_about_samples() -> None:
    pool = PoolArm("a", [1.0], RNG)
    plain = NamedArms({"a": pool})
    assert (plain.notes, plain.columns, plain.price, plain.types, plain.levels) == ((), (), 0.0, {}, {})
    levels = {"c": {1.0: "red"}}
    known = NamedArms({"a": pool}, ["note"], ["c"], 0.5, {"c": "category"}, levels)
    assert known == {"a": pool}
    assert (known.notes, known.columns, known.price, known.types) == (("note",), ("c",), 0.5, {"c": "category"})
    assert known.levels is levels  # filled while samples are drawn
