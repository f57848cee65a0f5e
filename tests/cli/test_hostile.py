"""Hostile files at the command line: what they hold is shown escaped, never raw."""

from __future__ import annotations

from pathlib import Path
from unicodedata import category

import numpy as np
import pyarrow
from pyarrow import parquet

from tests.cli.conftest import Call

FORGED = "x\nCERTIFICATE of kabc\nStatus: decided\x1b[2J\u202e"
SHOWN = r"x\nCERTIFICATE of kabc\nStatus: decided\x1b[2J\u202e"


def table(path: Path, forged: str) -> Path:
    """Three arms, two groups, a column of numbers and one of categories; all names hold the forged text."""
    rng = np.random.default_rng(0)
    arms = np.array([forged, "b", "c"])[np.arange(240) % 3]
    columns = {"arm": arms, forged: rng.normal(9.0 * (arms == forged)), f"{forged}2": rng.choice([forged, "e"], 240)}
    parquet.write_table(pyarrow.table(columns), path)
    return path


def unseen(text: str) -> set[str]:
    return {letter for letter in text if category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


def test_names_columns_and_categories_cannot_forge_a_certificate(kabc: Call, tmp_path: Path) -> None:
    calm, forged = table(tmp_path / "calm.parquet", "x"), table(tmp_path / "forged.parquet", FORGED)
    options = ("--arm", "arm", "--clusters", 2, "--seed", 0, "--certificate", "--quiet")
    said, told = kabc("run", calm, *options), kabc("run", forged, *options, "--save", tmp_path / "saved.json")
    assert told.code == said.code == 0, told.err
    assert not unseen(told.out + told.err)
    assert SHOWN in told.out
    assert [line[:4] for line in told.out.splitlines() if not line.startswith(" ")] == [
        *(line[:4] for line in said.out.splitlines() if not line.startswith(" ")),
        "save",
    ]
    again = kabc("show", tmp_path / "saved.json", "--certificate")
    assert not unseen(again.out) and SHOWN in again.out
    assert FORGED in kabc("show", tmp_path / "saved.json", "--json").json()["names"]


def test_a_csv_header_with_a_line_break_is_one_line_of_the_answer(kabc: Call, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('arm,"x\nCERTIFICATE of kabc"\n' + "a,1\nb,2\n" * 60, encoding="utf-8")
    told = kabc("run", tmp_path / "t.csv", "--arm", "arm", "--clusters", 2, "--seed", 0, "--no-watch", "--quiet")
    assert told.code == 0, told.err
    assert r"x\nCERTIFICATE of kabc: number" in told.out
    assert not [line for line in told.out.splitlines() if line.startswith("CERTIFICATE")]


def test_an_error_about_a_hostile_column_is_one_line(kabc: Call, tmp_path: Path) -> None:
    told = kabc("run", table(tmp_path / "forged.parquet", FORGED), "--arm", "nothing", "--clusters", 2, "--seed", 0)
    assert told.code == 2
    assert len(told.err.splitlines()) == 1 and not unseen(told.err)


def test_tables_of_the_bench_are_escaped(kabc: Call, tmp_path: Path) -> None:
    file, short = tmp_path / "mine.py", "x\n\x1b[2J"
    file.write_text(
        "from kabc.bench import Instance, gaussian\n"
        f"INSTANCES = [Instance({short!r}, {FORGED!r}, (2, 1), lambda: [gaussian(0), gaussian(9)])]\n"
    )
    assert len(kabc("bench", "--instances", file, "--list").out.splitlines()) == 2
    told = kabc("bench", "--instances", file, "--strategies", "anytime", "--runs", 1, "--out", tmp_path / "out")
    assert told.code == 0 and not unseen(told.out + told.err), told
    assert len(told.out.splitlines()) == 5
    assert not unseen((tmp_path / "out" / "table.md").read_text())
