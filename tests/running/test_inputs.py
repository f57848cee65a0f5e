"""Arms, or a table that holds their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from kabc import Hamming, SettingsError
from kabc.arms.base import NamedArms
from kabc.running.inputs import Reading, suitable_kernel

FRAME = pl.DataFrame({"host": ["x", "y"] * 10, "seconds": np.arange(20.0) % 7, "colour": ["red", "blue"] * 10})
NOTHING = Reading(None, None, None, None)


def opened(source: Any, reading: Reading, *, by_kernel: bool = False) -> NamedArms:
    arms = reading.opened(source, by_kernel, 0)
    assert isinstance(arms, NamedArms)
    return arms


def test_a_frame_a_path_and_a_list_of_paths_are_tables(tmp_path: Path) -> None:
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for file in files:
        FRAME.write_csv(file)
    reading = Reading("host", "seconds", None, None)
    for source in (FRAME, files[0], str(files[0]), files, list(map(str, files))):
        assert list(opened(source, reading)) == ["x", "y"]


@pytest.mark.parametrize("source", [{"a": [1.0], "b": [2.0]}, [[1.0], [2.0]], np.ones((2, 3)), [], 3])
def test_anything_else_is_handed_on_as_arms(source: Any) -> None:
    assert NOTHING.opened(source, False, 0) is source


@pytest.mark.parametrize(
    ("reading", "name"),
    [
        (Reading("host", None, None, None), "arm='host'"),
        (Reading(None, ["x"], None, None), r"values=\['x'\]"),
        (Reading(None, None, {"x": "number"}, None), "types="),
        (Reading(None, None, None, "drop"), "missing='drop'"),
    ],
)
def test_settings_of_a_table_are_refused_beside_arms(reading: Reading, name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}.* is for a table; leave it out, or pass a data frame"):
        reading.opened([[1.0], [2.0]], False, 0)


def test_only_tables_without_a_number_get_the_hamming_kernel() -> None:
    colours = opened(FRAME, Reading("host", "colour", None, None), by_kernel=True)
    both = opened(FRAME, Reading("host", None, None, None), by_kernel=True)
    assert isinstance(suitable_kernel(colours), Hamming)
    assert suitable_kernel(both) is None
    assert suitable_kernel({"a": [1.0], "b": [2.0]}) is None
