"""What it will cost, before paying."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kabc import Gaussian
from kabc.cli.plan import _embedded
from tests.cli.conftest import Call


def test_strategies_are_planned_side_by_side_from_a_pilot(kabc: Call, machines: Path) -> None:
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1)
    facts = kabc(*words, "--price", 0.5, "--seconds-per-sample", 2, "--json").json()
    plans = {row["strategy"]: row for row in facts["plans"]}
    assert list(plans) == ["anytime", "kabc-tight", "kabc"]
    assert plans["anytime"]["samples"] < plans["kabc-tight"]["samples"] < plans["kabc"]["samples"]
    assert plans["kabc"]["samples"] <= plans["kabc"]["sure_samples"]
    assert plans["anytime"]["sure_samples"] is None
    assert all(row["money"] == 0.5 * row["samples"] and row["seconds"] == 2 * row["samples"] for row in plans.values())
    text = kabc(*words)
    assert text.code == 0
    assert "a pilot of 60 samples of each of 4 arms" in text.out
    assert "money" not in text.out
    assert f"{plans['kabc']['samples']:,}" in text.out


def test_a_gap_needs_no_data(kabc: Call) -> None:
    words = ("plan", "--gap", 1.5, "--arms", 4, "--clusters", 2, "--seed", 1, "--json")
    near, far = kabc(*words).json()["plans"], kabc(*words, "--gap", 6).json()["plans"]
    assert all(a["samples"] > b["samples"] for a, b in zip(near, far, strict=True) if a["strategy"] != "anytime")
    assert near[0]["samples"] >= far[0]["samples"]


def test_the_gap_of_means_is_translated_to_the_distance_of_the_embeddings() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 1, (2000, 1)), rng.normal(1.5, 1, (2000, 1))
    kernel = Gaussian(bandwidth=1.0)
    squared = kernel(x, x).mean() + kernel(y, y).mean() - 2 * kernel(x, y).mean()
    distance, variance = _embedded(1.5)
    assert distance == pytest.approx(math.sqrt(squared), abs=0.03)
    assert variance == pytest.approx(1 - kernel(x, x).mean(), abs=0.03)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--gap", "1", "--arms", "4"], "--clusters"),
        (["--gap", "1", "--clusters", "2"], "--arms"),
        (["--gap", "-1", "--arms", "4", "--clusters", "2"], "--gap"),
        (["--clusters", "2"], "nothing to draw from"),
    ],
)
def test_what_is_missing_is_named(words: list[str], part: str, kabc: Call) -> None:
    answer = kabc("plan", *words)
    assert answer.code == 2
    assert part in answer.err
    assert answer.err.count("\n") == 1


def test_a_pilot_without_a_gap_says_so(kabc: Call, tmp_path: Path) -> None:
    data = tmp_path / "same.csv"
    data.write_text("m,x\n" + "".join(f"{name},{i % 10}\n" for i in range(40) for name in "abc"))
    answer = kabc("plan", data, "--arm", "m", "--clusters", 2)
    assert answer.code == 2
    assert "40 samples per arm show no gap between 2 groups" in answer.err
