"""Places in arms: the samples of a ticket depend on where it begins and how many it asks for, not on earlier draws."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.arms.base import Arm, go_to
from kabc.arms.callables import CallableArm
from kabc.arms.pooled import pooled
from kabc.arms.pools import PoolArm
from kabc.arms.sql import sql_arms
from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError
from tests.arms.written import frame

SIZE = 600


def _array() -> Any:
    return PoolArm("x", np.arange(float(SIZE)), np.random.default_rng(1))


def _table() -> Any:
    return table_arms(frame(3, SIZE), arm="machine", seed=2)["m1"]


def _pool_of_rows() -> Any:
    rows = np.split(np.arange(float(SIZE)), [100, 130])
    parts: dict[Hashable, Arm] = {i: PoolArm(i, x, np.random.default_rng(i)) for i, x in enumerate(rows)}
    return pooled(parts, np.random.default_rng(3))


def _pool_of_tables() -> Any:
    arms = table_arms(frame(3, SIZE // 2), arm="machine", seed=4)
    return pooled({name: arms[name] for name in ("m0", "m2")}, np.random.default_rng(5))


def _pool_of_functions() -> Any:
    def shifted(mean: float) -> Arm:
        return CallableArm(lambda n, rng: rng.normal(mean, 1.0, n))

    return pooled({mean: shifted(mean) for mean in (0.0, 5.0, 50.0)}, np.random.default_rng(6))


MAKERS = {f.__name__.strip("_"): f for f in (_array, _table, _pool_of_rows, _pool_of_tables, _pool_of_functions)}


def tickets(cuts: list[int]) -> list[tuple[int, int]]:
    """Start and count of the parts between cuts."""
    ends = sorted({0, *cuts, SIZE // 2})
    return list(zip(ends[:-1], np.diff(ends).tolist(), strict=True))


def served(arm: Any, ticket: tuple[int, int]) -> Any:
    start, count = ticket
    arm.seek(start)
    return arm.draw(count, np.random.default_rng(start))


@pytest.mark.parametrize("block", [1, 10])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_tickets_in_any_order_give_what_they_give_in_order(make: Callable[[], Any], block: int, data: Any) -> None:
    asked = tickets(data.draw(st.lists(st.integers(1, SIZE // 2), max_size=8)))
    arm = make().in_blocks(block)
    in_order = {ticket: arm.draw(ticket[1], np.random.default_rng(ticket[0])) for ticket in asked}
    order = data.draw(st.lists(st.sampled_from(asked), min_size=1, max_size=20))
    jumping = make().in_blocks(block)
    for ticket in order:
        assert np.array_equal(served(jumping, ticket), in_order[ticket])


@pytest.mark.parametrize("make", [_array, _table, _pool_of_rows, _pool_of_tables])
def test_a_worker_that_comes_late_gets_the_rows_that_nobody_has(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    second.seek(450)
    assert second.remaining == 150
    rows = [first.draw(450, np.random.default_rng(0)), second.draw(150, np.random.default_rng(1))]
    assert np.array_equal(np.concatenate(rows), make().draw(600, np.random.default_rng(2)))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_place_that_is_not_there_is_refused_and_changes_nothing(make: Callable[[], Any]) -> None:
    arm = make()
    arm.seek(7)
    wrong = [-1] if arm.remaining is None else [-1, SIZE + 1]
    for start in wrong:
        with pytest.raises(ArmError, match=f"cannot begin with number {start}"):
            arm.seek(start)
    assert np.array_equal(arm.draw(5, np.random.default_rng(0)), served_at(make(), 7, 5))


def served_at(arm: Any, start: int, count: int) -> Any:
    arm.seek(start)
    return arm.draw(count, np.random.default_rng(0))


def test_rows_that_were_given_before_a_step_back_are_in_no_block() -> None:
    arm = PoolArm("x", np.arange(100.0), np.random.default_rng(0))
    seen = set(arm.draw(7, np.random.default_rng(0)).tolist())
    arm.seek(0)
    blocks = arm.in_blocks(5)
    assert not seen & set(blocks.draw(blocks.remaining, np.random.default_rng(0)).tolist())
    table: Any = _table()
    table.draw(7, np.random.default_rng(0))
    table.seek(0)
    with pytest.raises(ArmError, match="drawn already"):
        table.in_blocks(5)


# ---------------------------------------------------------------- arms without a seek


class Stream:
    """An arm with an end that can only go on."""

    def __init__(self, size: int) -> None:
        self.remaining = size

    def draw(self, n: int, rng: np.random.Generator) -> Any:
        self.remaining -= n
        return np.zeros(n)


def test_an_arm_with_an_end_that_cannot_seek_is_drawn_in_order_or_refused() -> None:
    arm = Stream(10)
    go_to(arm, 0, 0)
    arm.draw(4, np.random.default_rng(0))
    go_to(arm, 4, 4)
    with pytest.raises(ArmError, match=r"cannot begin with its sample 6: 4 were drawn here.*seek\(start\)"):
        go_to(arm, 6, 4)
    parts: dict[Hashable, Arm] = {"a": Stream(10), "b": Stream(20)}
    pool = pooled(parts, np.random.default_rng(0))
    pool.seek(0)
    pool.draw(12, np.random.default_rng(0))
    pool.seek(12)
    with pytest.raises(ArmError, match="arm 'a': it cannot begin"):
        pool.seek(0)


def test_functions_need_no_seek() -> None:
    go_to(CallableArm(lambda n, rng: np.zeros(n)), 1000, 0)


# ---------------------------------------------------------------- fingerprints


def test_fingerprints_are_equal_only_where_the_same_rows_come_in_the_same_order() -> None:
    def pool(rows: Any, seed: int = 0) -> str:
        return PoolArm("x", rows, np.random.default_rng(seed)).fingerprint

    assert pool([1.0, 2.0, 3.0]) == pool(np.array([1.0, 2.0, 3.0]))
    assert len({pool([1.0, 2.0, 3.0]), pool([1.0, 2.0, 4.0]), pool([2.0, 1.0, 3.0]), pool([[1.0], [2.0], [3.0]])}) == 4
    assert pool(["a", "b", "c"]) != pool(["a", "b", "d"])
    assert pool(np.arange(2).astype("M8[D]")) != pool(np.arange(1, 3).astype("M8[D]"))
    assert pool([[1, "x"], [2, "y"]]) != pool([[1, "x"], [2, "z"]])
    assert pool(np.arange(50.0), 1) != pool(np.arange(50.0), 2)

    def table(data: Any, seed: int = 0, block: int = 1) -> str:
        arm: Any = table_arms(data, arm="machine", seed=seed)["m1"]
        return str(arm.in_blocks(block).fingerprint)

    same = frame(3, 40)
    other = same.clone()
    other[100, "place"] = -1.0  # of arm m1
    assert table(same) == table(frame(3, 40))
    assert len({table(same), table(other), table(same.reverse()), table(same, seed=1), table(same, block=4)}) == 5
    assert all(found for found in (table(same), _pool_of_rows().fingerprint, _pool_of_tables().fingerprint))


def test_a_query_without_an_order_has_a_fingerprint_of_the_order_that_came(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE t (machine TEXT, place REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", frame(2, 30).rows())

    def query(order: str) -> str:
        arm: Any = sql_arms(f"SELECT * FROM t ORDER BY {order}", str(file), arm="machine")["m0"]
        return str(arm.fingerprint)

    assert query("place") == query("place")
    assert query("place") != query("place DESC")
