"""Columns: which are used, and what they hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from kabc.arms.columns import arm_column
from kabc.arms.frames import open_frame
from kabc.arms.tables import table_arms
from kabc.arms.values import N_FEATURES
from kabc.core.errors import KabcError, SampleError, SettingsError
from tests.arms.written import drawn, frame


def test_kinds_are_inferred_and_can_be_declared() -> None:
    table = frame(2, 60, word=[f"w{i % 4}" for i in range(120)], answer=[f"answer number {i}" for i in range(120)])
    arms = table_arms(table, arm="machine")
    assert arms.notes[0] == "columns: place: number; word: category; answer: text, hashed n-grams"
    assert arms.types == {"place": "number", "word": "category", "answer": "text"}
    assert drawn(arms["m0"], 5).shape == (5, N_FEATURES + 2)
    declared = table_arms(table, arm="machine", values=["word", "place"], types={"word": "text", "place": "category"})
    assert declared.notes == ("columns: word: text, hashed n-grams; place: category",)
    other = table_arms(table, arm="machine", values="answer", text="characters")
    assert drawn(other["m0"], 2).shape == (2, 64)


def test_numbers_among_text_are_not_guessed() -> None:
    table = frame(2, 20, x=["1.5", "n/a", "3"] * 13 + ["2"])
    with pytest.raises(
        SettingsError, match=r"'x' holds text, but 27 of the first 40 values are numbers; .*types=\{'x': 'number'\}"
    ):
        table_arms(table, arm="machine")
    with pytest.raises(SampleError, match="'x' is declared a number but holds 'n/a'"):
        table_arms(table, arm="machine", types={"x": "number"})
    arms = table_arms(
        table.with_columns(pl.col("x").replace("n/a", " ")), arm="machine", types={"x": "number"}, missing="encode"
    )
    assert arms.notes[1] == "missing values: encoded as a value of their own (x: 13)"


def test_times_need_a_declaration_and_become_seconds() -> None:
    table = frame(2, 20, at=[datetime(1970, 1, 1, 0, 1, tzinfo=UTC)] * 40)
    with pytest.raises(SettingsError, match=r"'at' has type TIMESTAMP.*set types={'at': 'number'} to compare seconds"):
        table_arms(table, arm="machine")
    arms = table_arms(table, arm="machine", values="at", types={"at": "number"})
    assert drawn(arms["m0"], 2).tolist() == [[60.0], [60.0]]


def test_wide_is_no_cure_where_rows_cannot_be_wide() -> None:
    with pytest.raises(SettingsError, match=r"arm= must say which column .*'machine', 'place'$"):
        arm_column(open_frame(frame()), None)  # as for a query


def bad_settings() -> list[tuple[pl.DataFrame, dict[str, Any], type[KabcError], str]]:
    good, columns = frame(), [f"c{i}" for i in range(21)]
    many = good.with_columns(**{name: pl.lit(1) for name in columns})
    return [
        (
            good,
            {},
            SettingsError,
            "arm= must say which column.*'machine', 'place'; for one column for each arm: --wide at the command line",
        ),
        (
            good,
            {"arm": "machin"},
            SettingsError,
            "arm= names a column 'machin' that the frame does not have .did you mean 'machine'",
        ),
        (good, {"arm": "MACHINE"}, SettingsError, "did you mean 'machine'"),
        (good, {"arm": "zzz"}, SettingsError, "column 'zzz' that the frame does not have; it has 'machine', 'place'"),
        (good, {"arm": "machine", "values": "plac"}, SettingsError, "values= names .*did you mean 'place'"),
        (good, {"arm": "machine", "values": ["place", "place"]}, SettingsError, "same name: 'place', 'place'"),
        (good, {"arm": "machine", "values": ["machine"]}, SettingsError, "is in arm= and in values="),
        (good, {"arm": "machine", "values": []}, SettingsError, "no value column"),
        (good, {"arm": "machine", "types": {"plce": "text"}}, SettingsError, "types= names .*did you mean 'place'"),
        (
            good,
            {"arm": "machine", "types": {"machine": "text"}},
            SettingsError,
            "'machine' that is not one of the values",
        ),
        (good, {"arm": "machine", "types": {"place": "words"}}, SettingsError, "must be one of"),
        (good, {"arm": "machine", "missing": "skip"}, SettingsError, "missing must be one of"),
        (good, {"arm": "machine", "wide": True}, SettingsError, "wide=True means one column for each arm"),
        (good, {"arm": "machine", "seed": -1}, SettingsError, "seed must be"),
        (
            many,
            {"arm": "machine"},
            SettingsError,
            "22 columns could be values, more than 20; name some of them with values=; .*'c20'",
        ),
        (
            good.with_columns(x=[[1, 2]] * 120),
            {"arm": "machine"},
            SettingsError,
            "which is not a number, category or text; leave it out of values=",
        ),
        (good.with_columns(PLACE=1), {"arm": "machine"}, SettingsError, "same name: 'place', 'PLACE'"),
    ]


@pytest.mark.parametrize(("table", "options", "kind", "words"), bad_settings())
def test_wrong_settings_are_refused_in_one_line(
    table: pl.DataFrame, options: dict[str, Any], kind: type[KabcError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        table_arms(table, **options)
    assert "\n" not in str(caught.value)
