"""Sums where the rows are: exactly the rows that would have been drawn, and none of them is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from kabc import ArmError, Gaussian, KabcError, Linear, RandomFeatures
from kabc.arms import sums
from kabc.arms.base import NamedArms
from kabc.arms.parts import PartedScan
from kabc.arms.scans import RowBuffer
from kabc.arms.tables import table_arms
from kabc.core.arrays import Counts
from kabc.core.embeddings import FeatureSums
from kabc.core.embeddings.coded import coded_features
from kabc.core.kernels import FiniteKernel

KERNEL = RandomFeatures(Gaussian(1.0), 16)
SIZES = {"m1": 3_000, "m2": 900, "m10": 40}


class Here:
    """Parts of a table that are all in this process."""

    def __init__(self, table: pd.DataFrame, *cuts: int) -> None:
        edges = [0, *cuts, len(table)]
        self._frames = [table.iloc[low:high] for low, high in pairwise(edges)]
        self._starts = edges[:-1]
        self.n_queries = 0

    def __len__(self) -> int:
        return len(self._frames)

    def each(self, query: Callable[[Any, int], Any], some: Iterable[int] | None = None) -> list[Any]:
        self.n_queries += 1
        numbers = range(len(self)) if some is None else some
        return [query(self._frames[number], self._starts[number]) for number in numbers]

    def total(self, query: Callable[[Any, int], Any]) -> Any:
        return reduce(add, self.each(query))


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    machine = rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))
    return pd.DataFrame({"machine": machine, "x": rng.normal(size=len(machine)), "y": rng.integers(0, 9, len(machine))})


def both(rows: pd.DataFrame, *cuts: int, **how: Any) -> tuple[NamedArms, NamedArms, Here]:
    """The arms of a table that is here, of the same in parts, and these parts."""
    parts = Here(rows, *cuts)
    here = table_arms(rows, arm="machine", seed=7, **how)
    return here, table_arms(rows.iloc[:50], arm="machine", seed=7, parts=parts, **how), parts


def buffer_of(arms: NamedArms) -> RowBuffer:
    found: Any = next(iter(arms.values()))
    buffer: RowBuffer = found.table[0]
    return buffer


def drawn_sums(arms: NamedArms, wanted: list[int], kernel: FiniteKernel = KERNEL) -> FeatureSums:
    rng = np.random.default_rng(0)
    rows = [np.asarray(arm.draw(n, rng)) for arm, n in zip(arms.values(), wanted, strict=True) if n]
    none = np.zeros((0, rows[0].shape[1]))
    return FeatureSums(kernel, len(arms)).extended([rows.pop(0) if n else none for n in wanted])


def assert_same(found: FeatureSums, expected: FeatureSums) -> None:
    """Another row anywhere would change a sum by far more."""
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found._sums, expected._sums, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found._squares, expected._squares, rtol=1e-12)


@pytest.mark.parametrize("cuts", [(), (5,), (1_000, 1_001, 2_500)], ids=str)
def test_they_are_the_sums_of_the_rows_that_would_have_been_drawn(cuts: tuple[int, ...]) -> None:
    here, there, parts = both(table(), *cuts)
    before = parts.n_queries
    for wanted in ([1, 1, 1], [700, 20, 3], [0, 0, 30], [1_500, 600, 0], [799, 279, 6]):
        assert_same(buffer_of(there).sums(KERNEL, np.array(wanted)), drawn_sums(here, wanted))
        assert [arm.remaining for arm in there.values()] == [arm.remaining for arm in here.values()]
    assert [arm.remaining for arm in there.values()] == [0, 0, 0]
    assert parts.n_queries - before <= 5 * 4


def test_rows_that_were_drawn_before_or_sought_are_not_in_them() -> None:
    here, there, _ = both(table(), 1_234)
    for arms in (here, there):
        for arm in arms.values():
            arm.draw(33, np.random.default_rng(0))
    assert_same(buffer_of(there).sums(KERNEL, np.array([500, 50, 0])), drawn_sums(here, [500, 50, 0]))
    for arms in (here, there):
        source: Any = arms["m2"]
        source.seek(400)
    assert_same(buffer_of(there).sums(KERNEL, np.array([5, 50, 1])), drawn_sums(here, [5, 50, 1]))


def test_draws_go_on_behind_them() -> None:
    here, there, _ = both(table(), 2_000)
    rng = np.random.default_rng(0)
    for arms in (here, there):
        arms["m1"].draw(10, rng)
    buffer_of(there).sums(KERNEL, np.array([600, 60, 6]))
    drawn_sums(here, [600, 60, 6])
    for name in SIZES:
        np.testing.assert_array_equal(there[name].draw(20, rng), here[name].draw(20, rng))


def test_no_row_is_read_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    _, there, _ = both(table(), 2_000)
    monkeypatch.setattr(PartedScan, "read", None)
    assert buffer_of(there).sums(KERNEL, np.array([600, 60, 6])).counts.tolist() == [600, 60, 6]


@pytest.mark.parametrize(("width", "few"), [(0.01, 4), (4.0, 1), (50.0, 16)])
def test_the_search_ends_at_the_same_row_however_it_begins(
    monkeypatch: pytest.MonkeyPatch, width: float, few: int
) -> None:
    monkeypatch.setattr(sums, "_WIDTH", width)
    monkeypatch.setattr(sums, "_FEW", max(few, sums._SEGMENTS))
    here, there, _ = both(table(1), 3_000)
    for wanted in ([1_700, 333, 20], [1_299, 1, 19]):
        assert_same(buffer_of(there).sums(KERNEL, np.array(wanted)), drawn_sums(here, wanted))


def test_many_arms_are_summed_in_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, parts = both(table(), 2_000)
    monkeypatch.setattr(sums, "_MOST_BYTES", 2 * 16 * 8)
    monkeypatch.setattr(sums, "_ROWS_AT_ONCE", 100)
    before, wanted = parts.n_queries, [600, 60, 6]
    assert_same(buffer_of(there).sums(KERNEL, np.array(wanted)), drawn_sums(here, wanted))
    assert parts.n_queries - before == 2 + 2


def test_columns_of_every_kind_are_encoded_where_they_are() -> None:
    rows = table()
    rows["color"] = np.where(rows["x"] > 0, "red", "blue")
    rows.loc[::17, "y"] = np.nan
    how = {"missing": "encode", "values": ["y", "color"]}
    here, there, _ = both(rows, 1_700, **how)
    pilot = np.concatenate([np.asarray(arm.draw(20, np.random.default_rng(0))) for arm in here.values()])
    kernel = coded_features(pilot, [1, 2], Linear(10.0))  # y missing, color
    for arm in there.values():
        arm.draw(20, np.random.default_rng(0))
    wanted = [800, 300, 10]
    assert_same(buffer_of(there).sums(kernel, np.array(wanted)), drawn_sums(here, wanted, kernel))


def test_rows_with_missing_values_are_left_out_as_when_they_are_drawn() -> None:
    rows = table()
    rows.loc[::5, "x"] = np.nan
    here, there, _ = both(rows, 1_700, missing="drop")
    wanted = [arm.remaining or 0 for arm in here.values()]
    wanted[0] -= 100
    assert_same(buffer_of(there).sums(KERNEL, np.array(wanted)), drawn_sums(here, wanted))


def test_more_rows_than_are_left_are_refused_by_the_name_of_the_arm() -> None:
    _, there, _ = both(table(), 2_000)
    buffer_of(there).sums(KERNEL, np.array([1, 1, 30]))
    with pytest.raises(ArmError, match=r"arm 'm10': asked for 11 samples, but 10 of its 40 rows remain"):
        buffer_of(there).sums(KERNEL, np.array([1, 1, 11]))
    assert there["m10"].remaining == 10


def test_a_sample_that_the_kernel_refuses_has_the_name_of_its_arm() -> None:
    rows = table()
    rows.loc[rows.index[rows["machine"] == "m2"], "x"] = 50.0
    _, there, _ = both(rows, 2_000, values="x")
    with pytest.raises(KabcError, match=r"arm 'm2': a sample has norm 50, outside the declared radius 9") as raised:
        buffer_of(there).sums(Linear(9.0), np.array([300, 30, 3]))
    assert raised.value.arm == "m2"


def test_a_table_that_changes_is_refused() -> None:
    rows = table()
    _, there, parts = both(rows, 2_000)
    first = rows.iloc[:2_000]
    left = 40 - int((first["machine"] == "m10").sum())
    parts._frames[0] = first[first["machine"] != "m10"]
    with pytest.raises(ArmError, match=rf"arm 'm10': the frame changed during the run: 40 rows at first, {left} later"):
        buffer_of(there).sums(KERNEL, np.array([0, 0, 30]))
    parts._frames = parts._frames[:1]
    with pytest.raises(ArmError, match=r"arm 'm1': the frame changed during the run: 3,000 rows at first, \S+ later"):
        buffer_of(there).sums(KERNEL, np.array([2_500, 0, 0]))
    with pytest.raises(ArmError, match=r"arm 'm1': the frame changed during the run: 3,000 rows at first, 1,\d+ later"):
        buffer_of(there).sums(KERNEL, np.array([3_000, 0, 0]))


def test_a_table_that_is_here_is_not_summed_elsewhere() -> None:
    here, _, _ = both(table())
    found: Any = here["m1"]
    assert not found.table[0].can_sum


def test_fewer_rows_are_fetched_beforehand_where_later_ones_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Counts] = []
    usual = PartedScan.read

    def read(self: PartedScan, *arguments: Any) -> Any:
        found = usual(self, *arguments)
        fetched.append(np.bincount(found["code"], minlength=3))
        return found

    monkeypatch.setattr(PartedScan, "read", read)
    for most, total in ((200, range(200, 300)), (10**9, range(400, 3_000))):
        _, there, _ = both(table())
        fetched.clear()
        buffer_of(there).expect(most)
        there["m1"].draw(200, np.random.default_rng(0))
        assert sum(one[0] for one in fetched) in total
