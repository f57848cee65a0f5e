"""Files: every format gives the same samples, and names are read as they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError, SampleError, SettingsError
from tests.arms.written import FORMATS, drawn, frame


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
    assert arms.notes[0] == "columns: place: number; colour: category; ok: category"
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
    with pytest.raises(
        SettingsError, match=r"arm= names a column 'machin' that .* does not have .did you mean 'machine'"
    ):
        table_arms(tmp_path / f"t.{form}", arm="machin")
    (tmp_path / "e.csv").write_text("arm,x\n1,1\n1,1\n,2\n2,2\n")
    of_lines(tmp_path / "e.jsonl", ["2020-1-1", None])
    with pytest.raises(ArmError, match="column 'arm', which names the arm, is empty in"):
        table_arms(tmp_path / f"e.{form}", arm="arm", values="x")


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
        (tmp_path / "data.xlsx", "cannot tell the format of .*data.xlsx' from its ending '.xlsx'"),
        (tmp_path / "bad.parquet", "cannot read .*bad.parquet"),
        (tmp_path / "bad.json", "cannot read .*bad.json"),
        (tmp_path / "bad.arrow", "cannot read .*bad.arrow"),
        (tmp_path / "empty.csv", "empty.csv"),
        (tmp_path / "twice.csv", "columns of the same name: 'v', 'v'"),
        ([tmp_path / "ok.parquet", tmp_path / "twice.csv"], "files of different formats .*; pass files of one format"),
    ]
    for source, words in cases:
        with pytest.raises((SettingsError, ArmError), match=words) as caught:
            table_arms(source, arm="machine")
        assert "\n" not in str(caught.value)


def test_an_arrow_file_with_damaged_texts_is_refused(tmp_path: Path) -> None:
    offsets = np.array([0, 5, 10**9, 7], dtype=np.int32)  # DuckDB would read far beyond the texts
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"m0m1m0m1")]
    damaged = pa.record_batch({"machine": pa.Array.from_buffers(pa.string(), 3, buffers), "place": pa.array([1.0] * 3)})
    for name, new in (("file.arrow", pa.ipc.new_file), ("stream.arrow", pa.ipc.new_stream)):
        with new(tmp_path / name, damaged.schema) as writer:
            writer.write_batch(damaged)
        with pytest.raises(ArmError, match=f"cannot read .*{name}"):
            table_arms(tmp_path / name, arm="machine")
