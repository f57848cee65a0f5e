"""Scans: every row once, in an order that depends on the seed alone, with few scans and little memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.arms import scans
from kabc.arms.base import Arm
from kabc.arms.cells import Cell, Scan
from kabc.arms.frames import open_frame
from kabc.arms.scans import RowBuffer, TableArm
from kabc.arms.tables import table_arms
from kabc.arms.values import Encoder, Kind
from kabc.arms.workspace import Workspace
from kabc.core.arrays import Array
from kabc.core.errors import ArmError
from kabc.testing import ArmConformance
from tests.arms.written import drawn, frame


def buffer_of(table: pl.DataFrame, seed: int = 0) -> tuple[RowBuffer, list[str]]:
    """A buffer of the column `place` of every machine, and their names."""
    names = sorted(set(table["machine"]), key=lambda name: int(name[1:]))
    counts = np.array([(table["machine"] == name).sum() for name in names])
    scan = Scan(open_frame(table), '"machine"', [Cell("place", "DOUBLE", "number")], drop=False)
    return RowBuffer(scan, names, counts, Encoder(("place",), {"place": "number"}), seed), names


def scanned(table: pl.DataFrame, seed: int = 0) -> dict[str, TableArm]:
    buffer, names = buffer_of(table, seed)
    return {name: TableArm(buffer, number) for number, name in enumerate(names)}


def fetched_by_scan(monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    """Filled with the arm of every row that a scan fetches, one array for each scan."""
    scans: list[Array] = []
    read: Callable[[Workspace, str], dict[str, Any]] = Workspace.arrays

    def counting(self: Workspace, sql: str) -> dict[str, Any]:
        found = read(self, sql)
        scans.append(found["code"])
        return found

    monkeypatch.setattr(Workspace, "arrays", counting)
    return scans


def test_every_row_is_drawn_once() -> None:
    arms = scanned(frame(3, 500))
    for number, arm in enumerate(arms.values()):
        places = np.concatenate([drawn(arm, n) for n in (1, 99, 400)])[:, 0] * 8
        assert sorted(places.tolist()) == list(range(number, 1500, 3))
        assert arm.remaining == 0


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60)), max_size=30), st.integers(0, 3))
def test_the_order_does_not_depend_on_the_cut_nor_on_other_arms(draws: list[tuple[int, int]], seed: int) -> None:
    table = frame(4, 300)
    whole = {name: drawn(arm) for name, arm in scanned(table, seed).items()}
    arms = scanned(table, seed)
    used = dict.fromkeys(arms, 0)
    for number, n in draws:
        name = f"m{number}"
        n = min(n, arms[name].remaining or 0)
        if n:
            assert np.array_equal(drawn(arms[name], n), whole[name][used[name] : used[name] + n])
            used[name] += n


def test_the_order_is_random() -> None:
    n_arms, rows, first = 200, 50, 10
    table = pl.DataFrame(
        {"machine": np.repeat([f"m{i}" for i in range(n_arms)], rows), "place": np.tile(np.arange(rows) * 1.0, n_arms)}
    )
    places = {seed: _first_places(table, seed, first) for seed in (0, 1)}
    # mean of `first` of `rows` numbers without replacement, over all arms; five standard errors
    error = math.sqrt((rows**2 - 1) / 12 / (first * n_arms) * (rows - first) / (rows - 1))
    for seen in places.values():
        assert abs(seen.mean() - (rows - 1) / 2) < 5 * error
    # places in common between the two seeds are hypergeometric
    common = sum(len(set(a) & set(b)) for a, b in zip(places[0].tolist(), places[1].tolist(), strict=True))
    expected, share = n_arms * first**2 / rows, first / rows
    deviation = math.sqrt(n_arms * first * share * (1 - share) * (rows - first) / (rows - 1))
    assert abs(common - expected) < 5 * deviation


def _first_places(table: pl.DataFrame, seed: int, n: int) -> Array:  # (N, n)
    return np.stack([drawn(arm, n)[:, 0] for arm in scanned(table, seed).values()])


def test_arms_drawn_in_step_need_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = fetched_by_scan(monkeypatch)
    arms = scanned(frame(50, 400))
    for n in [1] * 20 + [10] * 8 + [100] * 3:
        for arm in arms.values():
            drawn(arm, n)
    assert all(arm.remaining == 0 for arm in arms.values())
    assert len(scans) <= 5


def test_one_large_draw_of_every_arm_is_one_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = fetched_by_scan(monkeypatch)
    arms = scanned(frame(20, 500))
    for arm in arms.values():
        drawn(arm, 400)
    assert len(scans) == 1


def test_what_is_fetched_is_proportional_to_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = fetched_by_scan(monkeypatch)
    buffer, _ = buffer_of(frame(5, 4000))
    for _ in range(30):
        buffer.draw(np.array([3]), np.array([50]))
    fetched = np.bincount(np.concatenate(scans), minlength=5)
    assert fetched[3] <= 4 * 1500
    assert (np.delete(fetched, 3) <= 200).all()  # nothing but the share of the first scan
    assert (fetched - buffer.waiting).tolist() == [0, 0, 0, 1500, 0]  # drawn rows are not kept
    assert buffer.remaining(3) == 2500


@settings(max_examples=15, deadline=None)
@given(st.data(), st.integers(0, 3))
def test_several_arms_at_once_give_what_each_gives_alone(data: st.DataObject, seed: int) -> None:
    table = frame(6, 200)
    whole = [drawn(arm) for arm in scanned(table, seed).values()]
    buffer, _ = buffer_of(table, seed)
    place = np.zeros(6, dtype=int)
    for _ in range(8):
        for arm in data.draw(st.sets(st.integers(0, 5), max_size=2)):  # some go back, or further
            place[arm] = data.draw(st.integers(0, 180))
            buffer.seek(arm, int(place[arm]))
        arms = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, unique=True)))
        counts = np.minimum([data.draw(st.integers(1, 40)) for _ in arms], 200 - place[arms])
        arms, counts = arms[counts > 0], counts[counts > 0]
        if not len(arms):
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scans, "_ARMS_AT_ONCE", 4)
            rows = buffer.draw(arms, counts)
        expected = [whole[arm][place[arm] : place[arm] + n] for arm, n in zip(arms, counts, strict=True)]
        assert np.array_equal(rows, np.concatenate(expected))
        place[arms] += counts
        assert [buffer.remaining(arm) for arm in range(6)] == (200 - place).tolist()


def test_one_scan_serves_all_arms_that_are_short_however_far_each_is(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = fetched_by_scan(monkeypatch)
    buffer, _ = buffer_of(frame(20, 4000))
    buffer.draw(np.arange(20), np.full(20, 10))
    buffer.draw(np.arange(10), np.full(10, 490))  # these are far ahead now
    n_before = len(scans)
    buffer.draw(np.arange(20), np.full(20, 1500))
    assert len(scans) == n_before + 1


def test_a_few_arms_that_are_far_ahead_need_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = fetched_by_scan(monkeypatch)
    buffer, _ = buffer_of(frame(100, 2000))
    for n in [1] * 5 + [20] * 95:
        buffer.draw(np.arange(5), np.full(5, n))
    fetched = np.bincount(np.concatenate(scans), minlength=100)
    assert (fetched[:5] == 2000).all()
    assert fetched[5:].max() <= 200  # nothing but the share of the first scan
    assert len(scans) <= 4


def test_if_one_arm_has_too_few_rows_no_arm_is_drawn() -> None:
    buffer, _ = buffer_of(frame(3, 10))
    before = buffer.draw(np.array([0, 1, 2]), np.array([1, 4, 1]))
    with pytest.raises(ArmError, match="arm 'm1': asked for 7 samples, but 6 of its 10 rows remain; ask for fewer"):
        buffer.draw(np.array([2, 1, 0]), np.array([3, 7, 3]))
    after = buffer.draw(np.array([0, 1, 2]), np.array([9, 6, 9]))
    assert sorted(np.concatenate([before, after])[:, 0].tolist()) == (np.arange(30) / 8).tolist()


def test_arms_drawn_from_threads_get_the_same_samples() -> None:
    table = frame(8, 300)
    expected = {name: drawn(arm) for name, arm in scanned(table).items()}

    def in_pieces(arm: Arm) -> Array:
        return np.concatenate([drawn(arm, 30) for _ in range(10)])

    arms = scanned(table)
    with ThreadPoolExecutor(8) as pool:
        seen = dict(zip(arms, pool.map(in_pieces, arms.values()), strict=True))
    assert all(np.array_equal(seen[name], expected[name]) for name in arms)


def test_more_than_remains_is_refused_and_changes_nothing() -> None:
    arm = scanned(frame(2, 10))["m0"]
    drawn(arm, 4)
    with pytest.raises(ArmError, match="arm 'm0': asked for 7 samples, but 6 of its 10 rows remain; ask for fewer"):
        drawn(arm, 7)
    assert len(drawn(arm, 6)) == 6


def test_a_file_that_changes_while_it_is_drawn_from_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame(2, 500).write_parquet(path)
    arms = table_arms(path, arm="machine")
    drawn(arms["m0"], 10)
    frame(2, 300).write_parquet(path)
    with pytest.raises(
        ArmError, match=r"changed during the run: 500 rows at first, 3.. later; start again|cannot read"
    ):
        drawn(arms["m0"], 490)


@pytest.mark.parametrize(
    ("column", "kind", "value", "true"),
    [
        ("DOUBLE", "number", "1.5", {"usual"}),
        ("DOUBLE", "number", "NULL", {"missing"}),
        ("DOUBLE", "number", "'nan'", {"missing"}),
        ("DOUBLE", "number", "'-inf'", {"infinite"}),
        ("VARCHAR", "number", "' 2.5 '", {"usual"}),
        ("VARCHAR", "number", "' '", {"missing"}),
        ("VARCHAR", "number", "'n/a'", {"rubbish"}),
        ("VARCHAR", "category", "'n/a'", {"usual"}),
        ("VARCHAR", "category", "NULL", {"missing"}),
        ("DOUBLE", "category", "'nan'", {"missing"}),
        ("DATE", "number", "'2020-01-01'", {"usual"}),
    ],
)
def test_a_value_is_usual_missing_infinite_or_rubbish(column: str, kind: Kind, value: str, true: set[str]) -> None:
    cell = Cell('a "b"', column, kind)
    tests = {name: getattr(cell, name) for name in ("usual", "missing", "infinite", "rubbish")}
    query = f"""SELECT {", ".join(tests.values())} FROM (SELECT {value}::{column} AS "a ""b\""")"""
    (found,) = duckdb.connect().execute(query).fetchall()
    assert {name for name, seen in zip(tests, found, strict=True) if seen} == true


class TestTableArm(ArmConformance):
    def make_arm(self) -> Arm:
        return scanned(frame(2, 30), seed=3)["m1"]
