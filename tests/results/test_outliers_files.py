"""Saved odd ones out: what is read back prints the same, and no file makes it crash."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.results.outliers_files import loaded_outliers


def found(tolerance: str | None = "10%", **given: Any) -> kabc.OutliersResult:
    rng = np.random.default_rng(0)
    hosts: dict[Any, Any] = {("web", i): rng.normal(13.0 if i == 7 else 10.0, 1.0, 150) for i in range(12)}
    hosts["tiny"] = rng.normal(10, 1, 3)
    return kabc.outliers(hosts, tolerance=tolerance, seed=0, progress=False, **given)


@pytest.mark.parametrize("tolerance", ["10%", "0.2 kernel distance", None])
def test_what_is_read_back_prints_the_same(tmp_path: Path, tolerance: str | None) -> None:
    result = found(tolerance)
    result.save(tmp_path / "odd.json")
    again = kabc.OutliersResult.load(tmp_path / "odd.json")
    assert str(again) == str(result)
    assert (again.names, again.odd_names, again.labels) == (result.names, (("web", 7),), result.labels)
    assert again.to_dict(full=True) == result.to_dict(full=True)


def test_a_doubtful_answer_keeps_its_doubts(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    walks = {f"h{i}": np.cumsum(rng.normal(size=200)) for i in range(4)}
    result = kabc.outliers(walks, tolerance="1 sd", seed=0, progress=False)
    assert result.status == "doubtful" and result.assumptions
    result.save(tmp_path / "odd.json")
    assert str(kabc.OutliersResult.load(tmp_path / "odd.json")) == str(result)


def test_each_kind_of_answer_says_how_the_other_is_read(tmp_path: Path) -> None:
    found().save(tmp_path / "odd.json")
    with pytest.raises(kabc.SettingsError, match=r"is an answer of kabc outliers, .*OutliersResult.load"):
        kabc.load_result(tmp_path / "odd.json")
    kabc.cluster([[0.0, 1.0] * 30, [5.0, 6.0] * 30], max_samples=40, seed=0, progress=False).save(
        tmp_path / "groups.json"
    )
    with pytest.raises(kabc.SettingsError, match="holds no odd ones out"):
        kabc.OutliersResult.load(tmp_path / "groups.json")
    (tmp_path / "short.json").write_text(json.dumps(found().to_dict()), encoding="utf-8")
    with pytest.raises(kabc.SettingsError, match="short form"):
        kabc.OutliersResult.load(tmp_path / "short.json")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(one for key, part in inner for one in places(part, (*path, key)))]


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_read_or_refused_in_one_line(seed: int) -> None:
    document, rng = json.loads(json.dumps(found().to_dict(full=True))), np.random.default_rng(seed)
    every = [path for path in places(document) if path and (len(path) < 5 or rng.random() < 0.05)]
    damages: list[Any] = [None, -1, 1e300, "x", [], {}, True, [["a"]], {"shape": [3], "kind": "int", "data": [1, 2, 3]}]
    refused = 0
    for number in rng.choice(len(every), 60, replace=False).tolist():
        broken, path = copy.deepcopy(document), every[number]
        at = broken
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = damages[rng.integers(len(damages))]
        refused += refusal(broken) is not None
    assert refused > 10


def refusal(document: Any) -> str | None:
    """Why a document is refused, on one line; None if it can be printed."""
    try:
        str(loaded_outliers(document, "it"))
    except kabc.SettingsError as error:
        (line,) = str(error).split("\n")
        return line
    return None
