"""A result as a data frame: one row for each arm, with the names as they are."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest

import kabc
from kabc import SettingsError
from tests.results.examples import EXAMPLES, example, renamed

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def rows(frame: Any) -> list[dict[str, Any]]:
    """The rows, with None for what is missing."""
    if isinstance(frame, pl.DataFrame):
        return frame.to_dicts()
    whole = frame.astype(object)
    found: list[dict[str, Any]] = whole.where(whole.notna(), None).to_dict("records")
    return found


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_there_is_one_row_for_each_arm(name: str, backend: str) -> None:
    result = example(name)
    frame = result.to_frame(backend)
    assert isinstance(frame, LIBRARIES[backend])
    found = rows(frame)
    assert [row["arm"] for row in found] == list(result.names)
    assert [row["group"] for row in found] == [label + 1 if label >= 0 else None for label in result.labels]
    assert [row["samples"] for row in found] == list(result.samples_per_arm.values())
    assert [row["certified"] for row in found] == [result.certified] * len(found)


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("names", [(1, 2, 3), ("1", "2", "3"), (1.5, 2.5, 3.5), (1, "1", (1,)), ((1, 2), (3, 4), None)])
def test_names_keep_their_types(names: tuple[Any, ...], backend: str) -> None:
    given = dataclasses.replace(renamed(example("bets"), names), set_aside={})
    found = [row["arm"] for row in rows(given.to_frame(backend))]
    assert found == list(names)
    assert [type(name) for name in found] == [type(name) for name in names]


@pytest.mark.parametrize("backend", LIBRARIES)
def test_an_arm_that_was_set_aside_has_no_group_but_a_reason(backend: str) -> None:
    rng = np.random.default_rng(0)
    pools = {name: rng.normal(mean, 1, 300) for name, mean in (("a", 0), ("b", 9), ("c", 0), ("d", 9))}
    result = kabc.cluster({**pools, "tiny": [0.5, 1.5, 4.5]}, n_clusters=2, seed=0)
    assert list(result.set_aside) == ["tiny"]
    *others, tiny = rows(result.to_frame(backend))
    assert (tiny["group"], tiny["certified"], tiny["samples"]) == (None, False, result.samples_per_arm["tiny"])
    assert tiny["set_aside"] == result.set_aside["tiny"]
    assert [(row["group"], row["certified"], row["set_aside"]) for row in others] == [
        (label + 1, True, None) for label in result.labels[:4]
    ]


def test_figures_of_numbers_and_categories_are_those_of_the_effects() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"arm": ["a", "b"] * 200, "ms": rng.normal(0, 1, 400) + np.tile([0, 9], 200)})
    frame = frame.with_columns(colour=pl.Series(["red", "blue", "red", "red"] * 100))
    result = kabc.cluster(frame, 2, arm="arm", seed=0)
    for row, effect in zip(rows(result.to_frame()), result.effects.arms, strict=True):
        assert row["arm"] == effect.arm
        assert row["oddness"] == effect.oddness
        by_name = {one.column: one for one in effect.columns}
        ms, colour = by_name["ms"], by_name["colour"]
        assert (row["ms_median"], row["ms_p5"], row["ms_p95"]) == (ms.median, ms.low, ms.high)
        assert (row["colour_top"], row["colour_top_share"]) == colour.shares[0]


def test_the_library_is_the_first_one_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = example("bets")
    assert isinstance(result.to_frame(), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(result.to_frame(), pl.DataFrame)
    with pytest.raises(SettingsError, match="to_frame needs pandas, which is not installed; pip install pandas"):
        result.to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SettingsError, match="to_frame needs pandas or polars, which is not installed"):
        result.to_frame()
    with pytest.raises(SettingsError, match=r"'pandas' or 'polars', got 'panda' \(did you mean 'pandas'\?\)"):
        result.to_frame("panda")
