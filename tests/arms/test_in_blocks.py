"""Blocks: consecutive rows stay together, blocks come in random order, a last part is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from kabc.arms.pools import PoolArm
from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError
from tests.arms.written import frame

RNG = np.random.default_rng(0)


def pool(n: int, seed: int = 0) -> PoolArm:
    return PoolArm("x", np.arange(float(n)), np.random.default_rng(seed))


def starts(rows: Any, length: int) -> list[int]:
    """The first row of each block; every block must be whole."""
    blocks = np.asarray(rows, dtype=float).reshape(-1, length)
    assert (np.diff(blocks, axis=1) == 1).all()
    return [int(x) for x in blocks[:, 0]]


def test_blocks_of_a_pool_stay_together_and_are_shuffled() -> None:
    arm = pool(107).in_blocks(10)
    assert arm.remaining == 100
    found = starts(np.concatenate([arm.draw(30, RNG), arm.draw(70, RNG)]), 10)
    assert sorted(found) == list(range(0, 100, 10))
    assert found != sorted(found)
    assert arm.remaining == 0


def test_every_order_of_the_blocks_is_as_likely_as_any_other() -> None:
    runs = 1200
    orders = [tuple(starts(pool(7, seed).in_blocks(2).draw(6, RNG), 2)) for seed in range(runs)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert max(counts) < runs / 6 + 5 * np.sqrt(runs / 6)


def test_blocks_of_one_row_are_the_rows() -> None:
    assert np.array_equal(pool(50).in_blocks(1).draw(50, RNG), pool(50).draw(50, RNG))


def test_rows_that_were_drawn_before_are_in_no_block() -> None:
    arm = pool(100)
    seen = set(arm.draw(7, RNG).tolist())
    blocks = arm.in_blocks(5)
    assert not seen & set(blocks.draw(blocks.remaining, RNG).tolist())


def test_blocks_of_a_table_stay_together_and_are_shuffled() -> None:
    arms = table_arms(frame(3, 517), arm="machine", seed=1)
    for number in range(3):
        arm = arms[f"m{number}"].in_blocks(10)  # type: ignore[attr-defined]
        assert arm.remaining == 510
        rows = np.concatenate([arm.draw(n, RNG) for n in (10, 90, 410)])
        found = starts((rows * 8 - number) / 3, 10)
        assert sorted(found) == list(range(0, 510, 10))
        assert found != sorted(found)


def test_the_order_of_the_blocks_of_a_table_depends_on_seed_and_arm_alone() -> None:
    def order(seed: int, arm: str, sizes: tuple[int, ...]) -> list[int]:
        blocks = table_arms(frame(2, 200), arm="machine", seed=seed)[arm].in_blocks(5)  # type: ignore[attr-defined]
        rows = np.concatenate([blocks.draw(n, RNG) for n in sizes])
        return starts((rows * 8 - int(arm[1])) / 2, 5)

    assert order(0, "m0", (200,)) == order(0, "m0", (5, 15, 180))
    assert order(0, "m0", (200,)) != order(1, "m0", (200,))
    assert order(0, "m0", (200,)) != order(0, "m1", (200,))


def test_blocks_follow_a_column_and_rows_that_are_left_out_do_not_count() -> None:
    at = RNG.permutation(60)
    value = np.where(at % 7 == 3, np.nan, at.astype(float))
    table = pl.DataFrame({"host": ["a"] * 60, "at": at, "v": value, "kind": ["x", "y"] * 30})
    table = pl.concat([table, table.with_columns(host=pl.lit("b"))])
    arms = table_arms(table, arm="host", order="at", values=["v", "kind"], missing="drop")
    arm: Any = arms["a"].in_blocks(4)  # type: ignore[attr-defined]
    kept = np.array([x for x in range(60) if x % 7 != 3])
    places = np.searchsorted(kept, arm.draw(arm.remaining, RNG)[:, 0])
    assert len(places) == len(kept) // 4 * 4
    starts(places, 4)


def test_words_and_wide_tables_have_blocks_too() -> None:
    table = pl.DataFrame({"a": range(23), "b": range(23)})
    arm: Any = table_arms(table, wide=True)["b"].in_blocks(5)  # type: ignore[attr-defined]
    assert sorted(starts(arm.draw(20, RNG), 5)) == [0, 5, 10, 15]
    assert arm.in_order(3)[:, 0].tolist() == [0.0, 1.0, 2.0]
    words = pl.DataFrame({"a": list("xxyyxxyyxx"), "b": list("xxyyxxyyxx")})
    arm = table_arms(words, wide=True)["a"].in_blocks(2)  # type: ignore[attr-defined]
    blocks = arm.draw(10, RNG).reshape(5, 2)
    assert (blocks[:, 0] == blocks[:, 1]).all()


def test_an_arm_without_a_whole_block_has_nothing_to_give() -> None:
    table = pl.DataFrame({"m": ["a"] * 30 + ["b"] * 4, "v": range(34)})
    arms: Any = table_arms(table, arm="m")
    assert arms["b"].in_blocks(10).remaining == 0
    assert arms["a"].in_blocks(10).draw(30, RNG).shape == (30, 1)


def test_a_table_that_was_drawn_from_cannot_be_cut_any_more() -> None:
    arms: Any = table_arms(frame(2, 40), arm="machine")
    arms["m0"].draw(3, RNG)
    with pytest.raises(ArmError, match="rows of the frame were drawn already"):
        arms["m1"].in_blocks(5)
