"""`kabc.cluster(..., tolerance=...)`, its answer in words and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import Result, SettingsError


def build(mean: float, spread: float = 4.0) -> Any:
    return lambda n, rng: rng.normal(mean, spread, n)


BUILDS = {"a": build(100), "b": build(100), "c": build(112), "d": build(100)}


@pytest.fixture(scope="module")
def decided() -> Result:
    return kabc.cluster(BUILDS, tolerance="4%", seed=0, progress=False)


@pytest.fixture(scope="module")
def undecided() -> Result:
    rows = {name: np.random.default_rng(len(name) + i).normal(100, 4, 150) for i, name in enumerate("wxyz")}
    return kabc.cluster(rows, tolerance="1%", seed=0, progress=False)


def test_the_first_line_says_what_is_proven(decided: Result) -> None:
    assert decided.status == "decided" and decided.groups == (("a", "b", "d"), ("c",))
    first = str(decided).splitlines()[0]
    assert first.startswith(
        "2 groups, each arm within 4 % of its group, groups differ; wrong with probability at most 5 %"
    )
    assert "as much as value: a shift by" in str(decided)
    assert "within 4 % of the rest of its group" in decided.certificate()
    assert decided.conditional_on == ""


def test_verdicts_and_margins_of_pairs(decided: Result) -> None:
    assert decided.verdicts is not None and decided.same_within is not None and decided.apart_at_least is not None
    assert decided.verdicts.tolist()[0] == ["same", "same", "different", "same"]
    assert decided.same_within.shape == decided.apart_at_least.shape == (4, 4)
    assert (decided.apart_at_least <= decided.same_within).all()
    assert decided.between == ()


def test_a_file_that_is_too_small_says_how_far_it_got_and_what_it_would_take(undecided: Result) -> None:
    assert undecided.status == "exhausted"
    text = str(undecided)
    assert "proven so far: any two within" in text
    assert "0 pairs are the same within 1 %, 0 are different, 6 are open" in text
    assert "more samples of w" in text


def test_an_answer_is_saved_and_loaded_with_its_verdicts(decided: Result, undecided: Result, tmp_path: Path) -> None:
    for result in (decided, undecided):
        result.save(tmp_path / "answer.json")
        again = kabc.load_result(tmp_path / "answer.json")
        assert again == result and str(again) == str(result)


def test_the_short_json_lists_pairs(decided: Result) -> None:
    part = decided.to_dict()["tolerance"]
    assert part["said"] == "4 %" and part["unit"] == "%"
    assert [pair["verdict"] for pair in part["pairs"]] == [
        "same",
        "different",
        "same",
        "different",
        "same",
        "different",
    ]


def test_without_a_tolerance_there_are_no_verdicts() -> None:
    result = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0)
    assert result.verdicts is None and result.same_within is None and result.between == ()


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"tolerance": "2%", "strategy": "anytime"}, "takes no tolerance"),
        ({"strategy": "tolerance"}, "needs a tolerance"),
        ({"tolerance": "2%", "min_separation": 0.1}, "two ways"),
        ({"tolerance": "2%", "strategy": kabc.AnytimeKABC(4, 2, 0.05)}, "strategy object"),
        ({"tolerance": "2 furlongs"}, "furlongs"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_a_sample_is_drawn(settings: dict[str, Any], part: str) -> None:
    drawn: list[int] = []

    def arm(n: int, rng: np.random.Generator) -> Any:
        drawn.append(n)
        return rng.normal(size=n)

    with pytest.raises(SettingsError, match=part):
        kabc.cluster([arm] * 4, seed=0, progress=False, **settings)
    assert not drawn


def test_columns_of_a_table_are_known_before_a_sample_is_drawn() -> None:
    import polars as pl

    table = pl.DataFrame({"host": ["x", "y"] * 50, "ms": np.arange(100.0) % 7, "mb": np.arange(100.0) % 11})
    with pytest.raises(SettingsError, match="did you mean 'ms'"):
        kabc.cluster(table, arm="host", tolerance={"mss": "2%"}, seed=0, progress=False)
    with pytest.raises(SettingsError, match="2 columns"):
        kabc.cluster(table, arm="host", tolerance="2", seed=0, progress=False)


def test_where_samples_refute_an_assumption_no_verdict_is_left() -> None:
    walk = {name: np.cumsum(np.random.default_rng(i).normal(size=400)) for i, name in enumerate("abc")}
    result = kabc.cluster(walk, tolerance="0.5 sd", seed=0, progress=False)
    assert result.status == "doubtful" and result.verdicts is not None
    off = ~np.eye(3, dtype=np.bool_)
    assert (result.verdicts[off] == "open").all()
    assert result.same_within is not None and np.isinf(result.same_within[off]).all()
    assert result.apart_at_least is not None and not result.apart_at_least.any()
    assert {pair["verdict"] for pair in result.to_dict()["tolerance"]["pairs"]} == {"open"}
