"""The samples of a pilot as a CSV file: one row for each sample, which `kabc plan` and `kabc run` read."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kabc.arms.base import NamedArms
from kabc.core.errors import SettingsError
from kabc.core.files import expect_writable, first_same, write_text
from kabc.core.words import no_formula

Samples = dict[str, NDArray[Any]]  # each (n, d)

ARM = "arm"  # the column of the arms


def expect_pilot_file(path: str, inputs: Sequence[str]) -> None:
    """Refuse a file that cannot be written, is not CSV, or is read by this plan."""
    expect_writable(path)
    if Path(path).suffix.lower() != ".csv":
        raise SettingsError(f"--save-pilot writes CSV, got {path}; choose a name that ends in .csv")
    if first_same(path, inputs) is not None:
        raise SettingsError(f"--save-pilot {path} is a file that this plan reads; choose another path")


def save_pilot(path: str, pilot: Samples, arms: NamedArms) -> None:
    """Write the pilot; categories as their texts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(pilot, arms)
    writer.writerow([ARM, *map(no_formula, columns)])
    for name, rows in pilot.items():
        for row in rows.reshape(len(rows), -1).tolist():
            cells = [_cell(value, arms.levels.get(c)) for c, value in zip(columns, row, strict=True)]
            writer.writerow(map(no_formula, [name, *cells]))
    write_text(path, text.getvalue())


def _columns(pilot: Samples, arms: NamedArms) -> list[str]:
    rows = next(iter(pilot.values()))
    width = rows.reshape(len(rows), -1).shape[1]
    names = list(arms.columns) if len(arms.columns) == width else [f"value {i}" for i in range(1, width + 1)]
    return [f"{name} (value)" if name == ARM else name for name in names]


def _cell(value: Any, levels: Mapping[float, str] | None) -> Any:
    """A number, the text of a category, or nothing where a value is missing."""
    if levels:
        return levels.get(value, "")
    return "" if value != value else value  # NaN
