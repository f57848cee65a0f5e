"""Frames of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kabc.arms.frames import open_frame
from kabc.arms.tables import table_arms
from kabc.core.errors import SampleError, SettingsError
from tests.arms.written import FORMATS, drawn, frame


@pytest.mark.parametrize("written", FORMATS[-4:])
def test_a_column_without_any_value_is_missing_values(
    tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]
) -> None:
    source = written(tmp_path, frame(2, 10, x=[None] * 20))
    with pytest.raises(SampleError, match="'x' has 20 missing"):
        table_arms(source, arm="machine")
    assert drawn(table_arms(source, arm="machine", values="x", missing="encode")["m0"], 1).shape[0] == 1


@pytest.mark.parametrize("written", FORMATS[-4:])
def test_rows_of_a_frame_are_copied(tmp_path: Path, written: Callable[[Path, pl.DataFrame], Any]) -> None:
    rows = open_frame(written(tmp_path, frame(2, 3)))
    assert rows.types == {"machine": "VARCHAR", "place": "DOUBLE"}
    assert rows.workspace.rows(f"SELECT count(*), max(place) FROM {rows.relation}") == [(6, 0.625)]


@pytest.mark.parametrize("source", [42, [], {"a": [1]}])
def test_what_is_not_a_frame_is_refused_with_its_type(source: object) -> None:
    with pytest.raises(SettingsError, match=rf"cannot read a table from .* \({type(source).__name__}\); pass the path"):
        open_frame(source)


def test_a_frame_without_columns_is_refused() -> None:
    with pytest.raises(SettingsError, match="the frame has no columns; pass one with"):
        open_frame(pl.DataFrame())
