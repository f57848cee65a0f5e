"""Tables: every row once, in an order that depends on the seed alone, whatever the format and the cut."""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kabc
from kabc.arms.base import Arm, NamedArms
from kabc.arms.rows import Workspace
from kabc.arms.scans import Store, TableArm
from kabc.arms.tables import table_arms
from kabc.arms.values import N_FEATURES, category_code
from kabc.core.arrays import Array
from kabc.core.errors import ArmError, KabcError, SampleError, SettingsError
from kabc.report import group_values
from kabc.testing import ArmConformance

RNG = np.random.default_rng(0)


def frame(n_arms: int = 3, rows: int = 40, **columns: Any) -> pl.DataFrame:
    """Arms m0, m1, ... in turn; `place` numbers the rows."""
    n = n_arms * rows
    return pl.DataFrame({"machine": [f"m{i % n_arms}" for i in range(n)], "place": np.arange(n) / 8, **columns})


def drawn(arm: Arm, n: int | None = None) -> Array:
    return np.asarray(arm.draw(arm.remaining or 0 if n is None else n, RNG))


def store_of(arms: NamedArms) -> Store:
    (first, *_) = arms.values()
    assert isinstance(first, TableArm)
    return first._store


# --- formats


def as_csv(folder: Path, table: pl.DataFrame) -> Any:
    table.write_csv(folder / "t.csv")
    return folder / "t.csv"


def as_tsv(folder: Path, table: pl.DataFrame) -> Any:
    table.write_csv(folder / "t.tsv", separator="\t")
    return str(folder / "t.tsv")


def as_gz(folder: Path, table: pl.DataFrame) -> Any:
    import gzip

    with gzip.open(folder / "t.csv.gz", "wt") as file:
        file.write(table.write_csv())
    return folder / "t.csv.gz"


def as_json(folder: Path, table: pl.DataFrame) -> Any:
    table.write_json(folder / "t.json")
    return folder / "t.json"


def as_lines(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ndjson(folder / "t.jsonl")
    return folder / "t.jsonl"


def as_parquet(folder: Path, table: pl.DataFrame) -> Any:
    table.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def as_feather(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ipc(folder / "t.feather")
    return folder / "t.feather"


def as_stream(folder: Path, table: pl.DataFrame) -> Any:
    table.write_ipc_stream(folder / "t.arrow")
    return folder / "t.arrow"


def as_two_csv(folder: Path, table: pl.DataFrame) -> Any:
    table[:50].write_csv(folder / "part1.csv")
    table[50:].write_csv(folder / "part2.csv")
    return [folder / "part1.csv", folder / "part2.csv"]


def as_two_feathers(folder: Path, table: pl.DataFrame) -> Any:
    table[:50].write_ipc(folder / "part1.ipc")
    table[50:].write_ipc(folder / "part2.ipc")
    return str(folder / "part*.ipc")


def as_pandas(_: Path, table: pl.DataFrame) -> Any:
    return importlib.import_module("pandas").DataFrame(table.to_dict(as_series=False))


def as_polars(_: Path, table: pl.DataFrame) -> Any:
    return table


def as_lazy(_: Path, table: pl.DataFrame) -> Any:
    return table.lazy()


def as_arrow(_: Path, table: pl.DataFrame) -> Any:
    return table.to_arrow()


FORMATS: list[Callable[[Path, pl.DataFrame], Any]] = [
    as_csv,
    as_tsv,
    as_gz,
    as_json,
    as_lines,
    as_parquet,
    as_feather,
    as_stream,
    as_two_csv,
    as_two_feathers,
    as_pandas,
    as_polars,
    as_lazy,
    as_arrow,
]


@pytest.mark.parametrize("written", FORMATS)
def test_every_format_gives_the_same_samples_in_the_same_order(
    tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]
) -> None:
    words = ["red", "green", '\'; "quoted"']
    table = frame(colour=[words[i % 3] for i in range(120)], ok=[i % 5 > 0 for i in range(120)])
    arms = table_arms(written(tmp_path, table), arm="machine", seed=4)
    expected = table_arms(table, arm="machine", seed=4)
    assert list(arms) == ["m0", "m1", "m2"]
    assert arms.columns == ("place", "colour", "ok")
    assert arms.notes == ("columns: place: number; colour: category; ok: category",)
    for name in arms:
        assert np.array_equal(drawn(arms[name]), drawn(expected[name]))


def test_several_parquet_files_are_one_table_wherever_they_lie(tmp_path: Path) -> None:
    table = frame(2, 60)
    drawn_from = []
    for folder in ("here[1]", "the*re"):  # characters that a pattern would have a meaning for
        (tmp_path / folder).mkdir()
        for part in range(3):
            table[40 * part : 40 * part + 40].write_parquet(tmp_path / folder / f"part{part}.parquet")
        files = [tmp_path / folder / f"part{part}.parquet" for part in range(3)]
        drawn_from.append(drawn(table_arms(files, arm="machine")["m1"])[:, 0])
    assert np.array_equal(drawn_from[0], drawn_from[1])
    assert sorted(drawn_from[0].tolist()) == table.filter(pl.col("machine") == "m1")["place"].to_list()
    arms = table_arms(str(tmp_path / "here[[]1]" / "*.parquet"), arm="machine")
    assert np.array_equal(drawn(arms["m1"])[:, 0], drawn_from[0])


# --- order


def test_every_row_is_drawn_once() -> None:
    arms = table_arms(frame(3, 500), arm="machine")
    for number, arm in enumerate(arms.values()):
        places = np.concatenate([drawn(arm, n) for n in (1, 99, 400)])[:, 0] * 8
        assert sorted(places.tolist()) == list(range(number, 1500, 3))
        assert arm.remaining == 0


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60)), max_size=30), st.integers(0, 3))
def test_the_order_does_not_depend_on_the_cut_nor_on_other_arms(draws: list[tuple[int, int]], seed: int) -> None:
    table = frame(4, 300)
    whole = {name: drawn(arm) for name, arm in table_arms(table, arm="machine", seed=seed).items()}
    arms = table_arms(table, arm="machine", seed=seed)
    used = dict.fromkeys(arms, 0)
    for number, n in draws:
        name = f"m{number}"
        n = min(n, arms[name].remaining or 0)
        if n:
            assert np.array_equal(drawn(arms[name], n), whole[name][used[name] : used[name] + n])
            used[name] += n


def test_the_order_is_random() -> None:
    n_arms, rows, first = 200, 50, 10
    table = pl.DataFrame({"arm": np.repeat(np.arange(n_arms), rows), "place": np.tile(np.arange(rows), n_arms)})
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
    return np.stack([drawn(arm, n)[:, 0] for arm in table_arms(table, arm="arm", seed=seed).values()])


def test_arms_drawn_in_step_need_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = _counted_scans(monkeypatch)
    arms = table_arms(frame(50, 400), arm="machine")
    for n in [1] * 20 + [10] * 8 + [100] * 3:
        for arm in arms.values():
            drawn(arm, n)
    assert all(arm.remaining == 0 for arm in arms.values())
    assert len(scans) <= 5


def test_one_large_draw_of_every_arm_is_one_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = _counted_scans(monkeypatch)
    arms = table_arms(frame(20, 500), arm="machine")
    for arm in arms.values():
        drawn(arm, 400)
    assert len(scans) == 1


def _counted_scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    scans: list[int] = []
    read = Store._read

    def counting(self: Store, arms: Any, low: Any, high: Any) -> Any:
        scans.append(len(arms))
        return read(self, arms, low, high)

    monkeypatch.setattr(Store, "_read", counting)
    return scans


def test_what_is_fetched_is_proportional_to_what_is_drawn() -> None:
    arms = table_arms(frame(5, 4000), arm="machine")
    store = store_of(arms)
    for _ in range(30):
        drawn(arms["m3"], 50)
    waiting = store._fetched - store._drawn
    assert store._drawn.tolist() == [0, 0, 0, 1500, 0]
    assert store._fetched[3] <= 4 * 1500
    assert (np.delete(waiting, 3) <= 200).all()  # nothing but the first scan's share
    assert [len(columns[0]) for columns in store._stock] == waiting.tolist()


def test_arms_drawn_from_threads_get_the_same_samples() -> None:
    table = frame(8, 300)
    expected = {name: drawn(arm) for name, arm in table_arms(table, arm="machine").items()}

    def in_pieces(arm: Arm) -> Array:
        return np.concatenate([drawn(arm, 30) for _ in range(10)])

    arms = table_arms(table, arm="machine")
    with ThreadPoolExecutor(8) as pool:
        seen = dict(zip(arms, pool.map(in_pieces, arms.values()), strict=True))
    assert all(np.array_equal(seen[name], expected[name]) for name in arms)


def test_more_than_remains_is_refused_and_changes_nothing() -> None:
    arm = table_arms(frame(2, 10), arm="machine")["m0"]
    drawn(arm, 4)
    with pytest.raises(ArmError, match="arm 'm0': asked for 7 samples, 6 of its 10 rows remain"):
        drawn(arm, 7)
    assert len(drawn(arm, 6)) == 6


def test_arms_are_sorted_by_name_with_numbers_as_numbers() -> None:
    names = ["m10", "m9", "b", "a2x", "a10x", "7", "10", ""]
    arms = table_arms(pl.DataFrame({"n": names * 2, "v": range(16)}), arm="n")
    assert list(arms) == ["", "7", "10", "a2x", "a10x", "b", "m9", "m10"]


def test_names_that_are_not_strings_become_strings() -> None:
    assert list(table_arms(pl.DataFrame({"n": [10, 9] * 3, "v": range(6)}), arm="n")) == ["9", "10"]


# --- values


ALIKE = [
    "1.1",
    "1.10",
    "1",
    "1.0",
    "01",
    "1e3",
    "1000",
    "0x1F",
    "31",
    "2020-1-1",
    "2020-01-01",
    "1234e56",
    "true",
    "TRUE",
]


def of_lines(path: Path, names: list[Any]) -> Path:
    path.write_text(
        "".join(json.dumps({"at": "2020-1-5", "x": x, "arm": name}) + "\n" for name in names for x in (1, 2))
    )
    return path


@pytest.mark.parametrize(
    "names", [ALIKE, ALIKE[:2], ALIKE[2:4], ALIKE[5:7], ALIKE[7:9], ALIKE[9:11], ["1234e56", "12e5"], ["x ", " x", "x"]]
)
@pytest.mark.parametrize("form", ["csv", "tsv", "two.csv", "jsonl", "json"])
def test_arms_of_text_files_have_the_names_that_are_written(tmp_path: Path, form: str, names: list[str]) -> None:
    source: Any = tmp_path / f"t.{form}"
    separator = "\t" if form == "tsv" else ","
    lines = [separator.join((name, str(x), "2020-1-5")) + "\n" for name in names for x in (1, 2)]
    header = separator.join(("arm", "x", "at")) + "\n"
    if form == "two.csv":
        source = [tmp_path / "a.csv", tmp_path / "b.csv"]
        for half, file in enumerate(source):
            file.write_text(header + "".join(lines[half::2]))
    elif form == "jsonl":
        of_lines(source, names)
    elif form == "json":
        source.write_text(json.dumps([{"at": "2020-1-5", "arm": name, "x": x} for name in names for x in (1, 2)]))
    else:
        source.write_text(header + "".join(lines))
    arms = table_arms(source, arm="arm", values=["x", "at"], types={"at": "number"})
    assert set(arms) == set(names)
    for arm in arms.values():
        rows = drawn(arm)
        assert sorted(rows[:, list(arms.columns).index("x")]) == [1.0, 2.0]
        assert (rows[:, list(arms.columns).index("at")] == 18_266 * 86_400).all()  # other columns keep their type


def test_names_of_json_that_are_text_and_numbers_stay_apart(tmp_path: Path) -> None:
    ids = [12345678901234567890123, 12345678901234567890124]  # equal as doubles
    assert list(table_arms(of_lines(tmp_path / "i.jsonl", ids), arm="arm", values="x")) == [str(one) for one in ids]
    mixed = of_lines(tmp_path / "m.jsonl", ["main", 7, "7e0", 7.5])
    assert set(table_arms(mixed, arm="arm", values="x")) == {"main", "7", "7e0", "7.5"}


def test_a_csv_column_without_a_name_can_name_the_arms(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",x\n1.1,1\n1.1,2\n1.10,3\n1.10,4\n")
    assert list(table_arms(tmp_path / "t.csv", arm="column0")) == ["1.1", "1.10"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_unknown_or_empty_arm_column_of_a_text_file_is_still_said(tmp_path: Path, form: str) -> None:
    frame(place=[1.5] * 120).write_csv(tmp_path / "t.csv")
    frame(place=[1.5] * 120).write_ndjson(tmp_path / "t.jsonl")
    with pytest.raises(SettingsError, match="no column 'machin'; did you mean 'machine'"):
        table_arms(tmp_path / f"t.{form}", arm="machin")
    (tmp_path / "e.csv").write_text("arm,x\n1,1\n1,1\n,2\n2,2\n")
    of_lines(tmp_path / "e.jsonl", ["2020-1-1", None])
    with pytest.raises(ArmError, match="rows have no arm"):
        table_arms(tmp_path / f"e.{form}", arm="arm", values="x")


def test_kinds_are_inferred_and_can_be_declared() -> None:
    table = frame(2, 60, word=[f"w{i % 4}" for i in range(120)], answer=[f"answer number {i}" for i in range(120)])
    arms = table_arms(table, arm="machine")
    assert arms.notes == ("columns: place: number; word: category; answer: text, hashed n-grams",)
    assert arms.types == {"place": "number", "word": "category", "answer": "text"}
    assert drawn(arms["m0"], 5).shape == (5, N_FEATURES + 2)
    declared = table_arms(table, arm="machine", values=["word", "place"], types={"word": "text", "place": "category"})
    assert declared.notes == ("columns: word: text, hashed n-grams; place: category",)
    other = table_arms(table, arm="machine", values="answer", text="characters")
    assert drawn(other["m0"], 2).shape == (2, 64)


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    names = [
        "name",
        "hash",
        "code",
        "low",
        "high",
        "value0",
        "near",
        "cuts",
        "select",
        'a "quoted" one',
        "it's",
        "%s",
        "é",
    ]
    table = pl.DataFrame({name: [place + i % 2 for i in range(20)] for place, name in enumerate(names)})
    for source in (table, as_csv(tmp_path, table), as_parquet(tmp_path, table)):
        for place in (0, 1, 10):
            arms = table_arms(source, arm=names[place])
            assert list(arms) == [str(place), str(place + 1)]
            other = 0 if place else 1
            assert [drawn(one)[:, 0].tolist() for one in arms.values()] == [[other] * 10, [other + 1] * 10]


@pytest.mark.parametrize("name", ["rowid", "File_Row_Number", "file_index"])
def test_names_of_row_numbers_are_refused(tmp_path: Path, name: str) -> None:
    table = frame(2, 10, **{name: 1})
    for source in (table, as_csv(tmp_path, table), as_parquet(tmp_path, table), [as_parquet(tmp_path, table)] * 2):
        with pytest.raises(SettingsError, match=f"has a column '{name}', a name that row numbers need"):
            table_arms(source, arm="machine")


def test_numbers_among_text_are_not_guessed() -> None:
    table = frame(2, 20, x=["1.5", "n/a", "3"] * 13 + ["2"])
    with pytest.raises(SettingsError, match=r"'x' holds text, but 27 of the first 40 values are numbers; .*'number'"):
        table_arms(table, arm="machine")
    with pytest.raises(SampleError, match="'x' is declared a number but holds 'n/a'"):
        table_arms(table, arm="machine", types={"x": "number"})
    arms = table_arms(
        table.with_columns(pl.col("x").replace("n/a", " ")), arm="machine", types={"x": "number"}, missing="encode"
    )
    assert arms.notes[1] == "missing values: encoded as a value of their own (x: 13)"


def test_times_need_a_declaration_and_become_seconds() -> None:
    from datetime import UTC, datetime

    table = frame(2, 20, at=[datetime(1970, 1, 1, 0, 1, tzinfo=UTC)] * 40)
    with pytest.raises(SettingsError, match=r"'at' has type TIMESTAMP.*types={'at': 'number'}"):
        table_arms(table, arm="machine")
    arms = table_arms(table, arm="machine", values="at", types={"at": "number"})
    assert drawn(arms["m0"], 2).tolist() == [[60.0], [60.0]]


def with_gaps() -> pl.DataFrame:
    return frame(2, 20, x=[None, math.nan, *map(float, range(38))], word=[*["a", "b"] * 19, None, None])


def test_missing_values_are_refused_by_default() -> None:
    with pytest.raises(SampleError, match=r"'x' has 2 missing value.* in 40 rows; pass missing='encode'"):
        table_arms(with_gaps(), arm="machine")


def test_rows_with_missing_values_are_dropped_whole_and_counted() -> None:
    arms = table_arms(with_gaps(), arm="machine", missing="drop")
    assert arms.notes[1] == "missing values: 4 rows dropped (x: 2, word: 2); the groups are about complete rows"
    assert arms["m0"].remaining == 18
    assert sorted(drawn(arms["m0"])[:, 1].tolist()) == list(range(0, 36, 2))


def test_missing_values_are_encoded_as_values_of_their_own() -> None:
    arms = table_arms(with_gaps(), arm="machine", values=["x", "word"], missing="encode")
    assert arms.columns == ("x", "x missing", "word")
    rows = drawn(arms["m0"])
    assert len(rows) == 20
    assert rows[rows[:, 1] == 1].tolist() == [[0.0, 1.0, category_code("a")]]
    assert (rows[:, 2] == -1).sum() == 1


def test_an_empty_csv_field_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("m,v,c\na,1,x\na,,x\nb,2,x\nb,3,\na,4,x\nb,5,y\n")
    with pytest.raises(SampleError, match="'v' has 1 missing"):
        table_arms(path, arm="m")
    arms = table_arms(path, arm="m", missing="drop", types={"c": "category"})
    assert "2 rows dropped (v: 1, c: 1)" in arms.notes[1]


def test_a_late_text_in_a_csv_column_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("m,v\n" + "a,1\nb,2\n" * 20_000 + "a,oops\n")
    with pytest.raises(SampleError, match="'v' is declared a number but holds 'oops'"):
        table_arms(path, arm="m", types={"v": "number"})


def test_a_csv_of_strings_only_keeps_its_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("m,answer\na,yes\nb,no\na,yes\nb,no\na,no\nb,yes\n")
    assert table_arms(path, arm="m").notes == ("columns: answer: category",)


# --- wide form


def test_in_wide_form_columns_are_arms_and_short_ones_end(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("m2,m10,m1\n1,10,100\n2,20,200\n3,,300\n4,,\n")
    arms = table_arms(path, wide=True)
    assert {name: arm.remaining for name, arm in arms.items()} == {"m1": 3, "m2": 4, "m10": 2}
    assert sorted(drawn(arms["m1"])[:, 0].tolist()) == [100, 200, 300]
    assert arms.columns == ("value",)
    assert list(table_arms(path, wide=True, values=["m1", "m2"])) == ["m1", "m2"]


def test_in_wide_form_orders_of_different_arms_differ() -> None:
    arms = table_arms(pl.DataFrame({"a": range(50), "b": range(50)}), wide=True)
    assert drawn(arms["a"]).tolist() != drawn(arms["b"]).tolist()


def test_in_wide_form_a_gap_in_the_middle_is_a_missing_value() -> None:
    table = pl.DataFrame({"a": [1.0, None, 3.0, None], "b": [1.0, 2.0, math.nan, None], "c": ["x"] * 4}).drop("c")
    with pytest.raises(SampleError, match="'value' has 1 missing"):
        table_arms(table, wide=True)
    assert table_arms(table, wide=True, missing="drop")["a"].remaining == 2


def test_a_wide_form_of_words_works_like_any_other() -> None:
    table = pl.DataFrame({"a": ["x", "y"] * 5, "b": ["x", "x"] * 5})
    assert table_arms(table, wide=True).notes == ("columns: value: category",)
    assert drawn(table_arms(table, wide=True, types={"value": "text"})["a"], 1).shape == (1, N_FEATURES)


# --- errors


def bad_settings() -> list[tuple[pl.DataFrame, dict[str, Any], type[KabcError], str]]:
    good, columns = frame(), [f"c{i}" for i in range(21)]
    many = good.with_columns(**{name: pl.lit(1) for name in columns})
    single = pl.concat([good, pl.DataFrame({"machine": ["m9"], "place": [1.0]})])
    return [
        (good, {}, SettingsError, "arm= must say which column.*'machine', 'place'"),
        (good, {"arm": "machin"}, SettingsError, "no column 'machin'; did you mean 'machine'"),
        (good, {"arm": "MACHINE"}, SettingsError, "did you mean 'machine'"),
        (good, {"arm": "zzz"}, SettingsError, "no column 'zzz'; it has 'machine', 'place'"),
        (good, {"arm": "machine", "values": "plac"}, SettingsError, "values: .*did you mean 'place'"),
        (good, {"arm": "machine", "values": ["place", "place"]}, SettingsError, "same name: 'place', 'place'"),
        (good, {"arm": "machine", "values": ["machine"]}, SettingsError, "given as arm= and among values="),
        (good, {"arm": "machine", "values": []}, SettingsError, "no value column"),
        (good, {"arm": "machine", "types": {"plce": "text"}}, SettingsError, "types: .*did you mean 'place'"),
        (good, {"arm": "machine", "types": {"machine": "text"}}, SettingsError, "'machine' is not among the values"),
        (good, {"arm": "machine", "types": {"place": "words"}}, SettingsError, "must be one of"),
        (good, {"arm": "machine", "missing": "skip"}, SettingsError, "missing must be one of"),
        (good, {"arm": "machine", "wide": True}, SettingsError, "wide=True means"),
        (good, {"arm": "machine", "seed": -1}, SettingsError, "seed must be"),
        (good[:0], {"arm": "machine"}, ArmError, "has no rows"),
        (good.filter(machine="m1"), {"arm": "machine"}, ArmError, "one arm only, 'm1'"),
        (single, {"arm": "machine"}, ArmError, "1 of 4 arms have fewer than 2 rows: 'm9'"),
        (many, {"arm": "machine"}, SettingsError, "22 columns could be values.*'c20'"),
        (
            good.with_columns(machine=pl.lit(None, pl.String)),
            {"arm": "machine"},
            ArmError,
            "120 of 120 rows have no arm",
        ),
        (good.with_columns(machine=pl.lit(math.nan)), {"arm": "machine"}, ArmError, "120 of 120 rows have no arm"),
        (good.with_columns(x=pl.lit(math.inf)), {"arm": "machine"}, SampleError, "'x' has 120 infinite"),
        (
            good.with_columns(x=[[1, 2]] * 120),
            {"arm": "machine"},
            SettingsError,
            "which is no number, category or text",
        ),
        (good.with_columns(PLACE=1), {"arm": "machine"}, SettingsError, "same name: 'place', 'PLACE'"),
        (pl.DataFrame(), {"arm": "machine"}, SettingsError, "no columns"),
        (pl.DataFrame({"a": [1, 2], "b": [1, None]}), {"wide": True}, ArmError, "fewer than 2 rows: 'b'"),
        (pl.DataFrame({"a": [1, 2], "b": [None, None]}), {"wide": True}, ArmError, "fewer than 2 rows: 'b'"),
        (pl.DataFrame({"a": [1, 2]}), {"wide": True}, ArmError, "one arm only"),
    ]


@pytest.mark.parametrize(("table", "options", "kind", "words"), bad_settings())
def test_what_is_wrong_is_said_in_one_line(
    table: pl.DataFrame, options: dict[str, Any], kind: type[KabcError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        table_arms(table, **options)
    assert "\n" not in str(caught.value)


def test_arms_without_complete_rows_are_named() -> None:
    table = frame(2, 10, x=[None if i % 2 else 1.0 for i in range(20)])
    with pytest.raises(ArmError, match="fewer than 2 complete rows: 'm1'"):
        table_arms(table, arm="machine", missing="drop")


def test_files_that_cannot_be_read_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("no parquet")
    (tmp_path / "bad.json").write_text('{"a": ')
    (tmp_path / "bad.arrow").write_text("no arrow at all")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "data.xlsx").write_text("")
    (tmp_path / "twice.csv").write_text("m,v,v\na,1,2\nb,1,2\n")
    frame().write_parquet(tmp_path / "ok.parquet")
    cases: list[tuple[Any, str]] = [
        (tmp_path / "none.csv", "there is no file"),
        (str(tmp_path / "none*.csv"), "no file matches"),
        (tmp_path, "there is no file"),
        (tmp_path / "data.xlsx", "cannot tell the format from '.xlsx'"),
        (tmp_path / "bad.parquet", "cannot read .*bad.parquet"),
        (tmp_path / "bad.json", "cannot read .*bad.json"),
        (tmp_path / "bad.arrow", "cannot read .*bad.arrow"),
        (tmp_path / "empty.csv", "empty.csv"),
        (tmp_path / "twice.csv", "columns of the same name: 'v', 'v'"),
        ([tmp_path / "ok.parquet", tmp_path / "twice.csv"], "files of different formats"),
        (42, "cannot read a table from 42"),
        ([], "cannot read a table from"),
    ]
    for source, words in cases:
        with pytest.raises((SettingsError, ArmError), match=words) as caught:
            table_arms(source, arm="machine")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("written", FORMATS[-4:])
def test_a_column_without_any_value_is_missing_values(
    tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]
) -> None:
    source = written(tmp_path, frame(2, 10, x=[None] * 20))
    with pytest.raises(SampleError, match="'x' has 20 missing"):
        table_arms(source, arm="machine")
    assert drawn(table_arms(source, arm="machine", values="x", missing="encode")["m0"], 1).shape[0] == 1


def test_repeated_columns_of_frames_and_parquet_are_refused(tmp_path: Path) -> None:
    pandas, arrow = importlib.import_module("pandas"), importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    twice = arrow.table([["a", "b"], [1, 2], [1, 2]], names=["m", "v", "v"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    for source in (pandas.DataFrame([["a", 1, 2]], columns=["m", "v", "v"]), twice, tmp_path / "t.parquet"):
        with pytest.raises(SettingsError, match="columns of the same name"):
            table_arms(source, arm="m")


def test_a_file_that_changes_while_it_is_drawn_from_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame(2, 500).write_parquet(path)
    arms = table_arms(path, arm="machine")
    drawn(arms["m0"], 10)
    frame(2, 300).write_parquet(path)
    with pytest.raises(ArmError, match=r"changed while it was drawn from|cannot read"):
        drawn(arms["m0"], 490)


# --- surroundings


def test_the_temporary_folder_goes_with_the_arms() -> None:
    arms = table_arms(frame(), arm="machine")
    ((database,),) = store_of(arms)._scan.rows.workspace.rows("SELECT path FROM duckdb_databases() WHERE NOT internal")
    assert Path(database).is_file()
    arm = arms["m0"]
    del arms
    gc.collect()
    assert len(drawn(arm)) == 40  # one arm keeps it
    del arm
    gc.collect()
    assert not Path(database).parent.exists()


def test_an_interrupted_query_is_an_interrupt() -> None:
    workspace = Workspace()
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        workspace.rows("SELECT count(*) FROM range(1000000000000) AS t(i) WHERE hash(i) % 7 = 3")
    assert workspace.rows("SELECT 1") == [(1,)]


def test_nothing_heavy_is_loaded_before_a_table_is_read() -> None:
    heavy = ["duckdb", "narwhals", "sqlalchemy", "pandas", "pyarrow", "polars"]
    modules = "kabc.arms.tables, kabc.arms.sql, kabc.arms.timings, kabc.arms.values, kabc.testing"
    code = f"import sys, {modules}; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SettingsError, match=r"needs duckdb; pip install 'kabc\[data\]'"):
        table_arms(frame(), arm="machine")


def test_groups_are_found_in_a_file(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=2000) + 3 * (np.arange(2000) % 4 >= 2)
    frame(4, 500, value=values).write_parquet(tmp_path / "t.parquet")
    arms = table_arms(tmp_path / "t.parquet", arm="machine", values="value")
    result = kabc.cluster(arms, n_clusters=2, seed=0, progress=False)
    assert result.groups == (("m0", "m1"), ("m2", "m3"))
    assert result.certified


class TestTableArm(ArmConformance):
    def make_arm(self) -> Arm:
        return table_arms(frame(2, 30, word=["x", "y", "z"] * 20), arm="machine", seed=3)["m1"]


class TestWideArm(ArmConformance):
    def make_arm(self) -> Arm:
        return table_arms(pl.DataFrame({"a": range(8), "b": range(8)}), wide=True)["b"]


def test_names_of_categories_come_back_with_the_result(tmp_path: Path) -> None:
    colours = {"a": "red", "b": "red", "c": "blue"}
    rows = [(arm, colour if place % 8 else "grey") for arm, colour in colours.items() for place in range(60)]
    frame = pl.DataFrame(rows, schema=["arm", "colour"], orient="row")
    result = kabc.cluster(frame, 2, arm="arm", types={"colour": "category"}, seed=0, progress=False)
    assert set(result.levels["colour"].values()) == {"red", "blue", "grey"}
    assert {value for rows in result.samples.values() for value in rows[:, 0]} <= set(result.levels["colour"])
    result.save(tmp_path / "r.json")
    assert kabc.load_result(tmp_path / "r.json").levels == result.levels
    assert {level for column in group_values(result).columns for level in column.levels} == {"red", "blue", "grey"}
