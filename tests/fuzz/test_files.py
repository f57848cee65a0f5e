"""`kabc run` on files of every kind that it reads, with something wrong in most of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from tests.fuzz.harness import Case, Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.shell import HOSTILE_TEXTS, called, folder_of_a_case, hostile_bytes

Words = list[str]
Made = tuple[str, bytes, Words]  # name of a file, its content, and the words of a run on it

_QUERY = ["--sql", "select arm, value, kind from t"]


def rows_of(rng: np.random.Generator) -> list[tuple[str, float, str]]:
    """Two groups of arms, and a column of categories."""
    names = ["a", "b", "c d", "1.10"][: int(rng.integers(2, 5))]
    rows = int(rng.integers(8, 60))
    return [
        (name, round(float(rng.normal(4.0 * (i % 2), 1.0)), 4), "xyz"[int(rng.integers(3))])
        for _ in range(rows)
        for i, name in enumerate(names)
    ]


def text_table(rng: np.random.Generator) -> Made:
    mark, name = [(",", "t.csv"), ("\t", "t.tsv"), (";", "t.csv"), (",", "t.csv.gz"), (",", "t.txt")][rng.integers(5)]
    lines = [mark.join(map(str, row)) for row in [("arm", "value", "kind"), *rows_of(rng)]]
    for _ in range(int(rng.integers(0, 4)) if rng.random() < 0.5 else 0):
        at = int(rng.integers(len(lines)))
        cells = lines[at].split(mark)
        cells[int(rng.integers(len(cells)))] = HOSTILE_TEXTS[int(rng.integers(len(HOSTILE_TEXTS)))]
        lines[at] = mark.join(cells[: int(rng.integers(1, 5))])
    return name, "\n".join(lines).encode(), [name, "--arm", "arm"]


def json_lines(rng: np.random.Generator) -> Made:
    rows: list[Any] = [{"arm": arm, "value": value, "kind": kind} for arm, value, kind in rows_of(rng)]
    for _ in range(int(rng.integers(0, 4)) if rng.random() < 0.5 else 0):
        odd: list[Any] = [None, [], {}, {"arm": []}, {"arm": None, "value": {"x": 1}}, {"value": 10**30}, "x", 3, True]
        rows[int(rng.integers(len(rows)))] = odd[int(rng.integers(len(odd)))]
    name = "t.jsonl" if rng.random() < 0.7 else "t.json"
    text = "\n".join(map(json.dumps, rows)) if name == "t.jsonl" else json.dumps(rows)
    return name, text.encode(), [name, "--arm", "arm"]


def columns_of(rng: np.random.Generator) -> pa.Table:
    arm, value, kind = zip(*rows_of(rng), strict=True)
    return pa.table({"arm": list(arm), "value": list(value), "kind": list(kind)})


def parquet(rng: np.random.Generator) -> Made:
    pq.write_table(columns_of(rng), "made")
    return "t.parquet", Path("made").read_bytes(), ["t.parquet", "--arm", "arm"]


def arrow(rng: np.random.Generator) -> Made:
    feather.write_feather(columns_of(rng), "made", compression="uncompressed")
    return "t.arrow", Path("made").read_bytes(), ["t.arrow", "--arm", "arm"]


def sqlite(rng: np.random.Generator) -> Made:
    made = sqlite3.connect("made")
    made.execute("create table t (arm text, value real, kind text)")
    made.executemany("insert into t values (?, ?, ?)", rows_of(rng))
    made.commit()
    made.close()
    return "t.db", Path("made").read_bytes(), [*_QUERY, "--database", "sqlite:///t.db", "--arm", "arm"]


def duck(rng: np.random.Generator) -> Made:
    with duckdb.connect("made.duckdb") as made:
        made.execute("create table t (arm text, value double, kind text)")
        made.executemany("insert into t values (?, ?, ?)", rows_of(rng))
    content = Path("made.duckdb").read_bytes()
    return "t.duckdb", content, [*_QUERY, "--database", "t.duckdb", "--arm", "arm"]


def timings(rng: np.random.Generator) -> Made:
    times = [[float(value) for value in rng.gamma(9.0 + 9 * i, 0.01, 40)] for i in range(2)]
    forms: list[Any] = [
        {"results": [{"command": f"./{i}", "times": one} for i, one in enumerate(times)]},
        {"benchmarks": [{"name": f"b{i}", "stats": {"data": one}} for i, one in enumerate(times)]},
        {
            "benchmarks": [
                {"name": f"b{i}", "run_type": "iteration", "real_time": value, "time_unit": "ns"}
                for i, one in enumerate(times)
                for value in one
            ]
        },
    ]
    form = forms[int(rng.integers(len(forms)))]
    if rng.random() < 0.5:
        odd: list[Any] = [None, [], {}, "x", 3, [None], [float("nan")], ["x"], {"data": []}, -1, 10**400]
        entry = next(iter(form.values()))[0]
        entry[list(entry)[int(rng.integers(len(entry)))]] = odd[int(rng.integers(len(odd)))]
    return "t.json", json.dumps(form).encode(), ["t.json"]


def settings(rng: np.random.Generator) -> Made:
    """A TOML file. It runs no command, and calls only a port where nobody listens."""
    Path("t.csv").write_text("\n".join(["arm,value,kind", *(",".join(map(str, row)) for row in rows_of(rng))]))
    sources = [
        '[table]\npath = "t.csv"\narm = "arm"\n',
        '[table]\npath = ["t.csv", "t.csv"]\narm = "arm"\nvalues = ["value"]\ntypes = { value = "number" }\n',
        '[sql]\nquery = "select 1"\ndatabase = "sqlite:///nowhere/x.db"\narm = "arm"\n',
        '[http]\nmethod = "GET"\nretries = 0\n[http.endpoints]\na = "http://127.0.0.1:9/"\nb = "http://127.0.0.1:9/"\n',
    ]
    values = [
        '""',
        "-1",
        "0",
        "1",
        "2",
        "1e308",
        "nan",
        "inf",
        "true",
        "[]",
        "[1]",
        "{}",
        '"x"',
        "9" * 30,
        "1979-05-27",
    ]
    keys = ["clusters", "delta", "strategy", "options", "max_samples", "pilot", "block", "seed", "workers", "watch"]
    keys += ["check_k", "min_separation", "tabel", "sql", "http", "commands", "timings", "", "a.b", '"é"']
    chosen = [keys[int(rng.integers(len(keys)))] for _ in range(int(rng.integers(0, 3)))]
    top = "".join(f"{key} = {values[int(rng.integers(len(values)))]}\n" for key in chosen)
    source = sources[int(rng.integers(len(sources)))]
    if rng.random() < 0.3 and "[http]" not in source:
        source += f"{['order', 'where', 'missing', 'arm', 'wide'][int(rng.integers(5))]} = {values[rng.integers(15)]}\n"
    return "t.toml", f"{top}{source}".encode(), ["--config", "t.toml"]


MAKERS: list[Callable[[np.random.Generator], Made]] = [
    *(text_table, text_table, text_table, json_lines, json_lines, parquet, arrow, sqlite, duck),
    *(timings, timings, settings, settings),
]


def on_a_file(folder: Path) -> Case:
    numbers: Iterator[int] = count()

    def one_case(rng: np.random.Generator) -> Ended:
        with folder_of_a_case(folder, next(numbers)):
            name, content, words = MAKERS[int(rng.integers(len(MAKERS)))](rng)
            if rng.random() < 0.6 and b"http" not in content:
                content = hostile_bytes(rng, content)
            Path(name).write_bytes(content)
            given = [*words, "--max-samples", "400", "--seed", "1", "--quiet"]
            given += ["--clusters", "2"] if rng.random() < 0.7 else []
            given += ["--report", "out.html"] if rng.random() < 0.1 else []
            given += ["--save", "out.json"] if rng.random() < 0.2 else []
            given += ["--json"] if rng.random() < 0.3 else []
            return called(["run", *given], expect_json="--json" in given)

    return one_case


@every_part
@pytest.mark.timeout(1800)
def test_every_file_gives_an_answer_or_one_line(tmp_path: Path, part: int, record_property: Record) -> None:
    expect_sound(fuzzed("files", 500, on_a_file(tmp_path), part), 0.05, record_property)
