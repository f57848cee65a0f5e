"""Forecasts are shown where they can be told, and nowhere else."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

import kabc
from kabc.results.forecast import more_samples
from kabc.running.snapshots import Snapshot
from tests.running.examples import normal


class Foretelling(kabc.AnytimeKABC):
    """Says what it is told to say, after 100 samples."""

    def __init__(self, forecast: Any, n_samples: int = 100, stopped: bool = False) -> None:
        super().__init__(2, 2, 0.05)
        self._n_samples, self._says = n_samples, forecast
        self._status = "decided" if stopped else None

    @property
    def forecast(self) -> Any:
        return self._says


def test_a_forecast_has_whole_samples_of_each_arm() -> None:
    found = more_samples(Foretelling([0.5, 40.0]))
    assert found is not None
    assert found.tolist() == [1, 40]


@pytest.mark.parametrize("says", [None, [0.0, 0.0], [math.inf, 1.0], [math.nan, 1.0], [-1.0, 5.0], [2000.0, 1.0]])
def test_what_is_unknown_endless_or_too_far_ahead_is_not_shown(says: Any) -> None:
    assert more_samples(Foretelling(says)) is None


def test_a_forecast_reaches_at_most_twenty_times_what_was_drawn() -> None:
    assert more_samples(Foretelling([1000.0, 1000.0])) is not None
    assert more_samples(Foretelling([1000.0, 1001.0])) is None


def test_nothing_is_left_when_it_has_stopped() -> None:
    assert more_samples(Foretelling([5.0, 5.0], stopped=True)) is None


def test_strategies_without_a_forecast_have_none() -> None:
    assert more_samples(kabc.Cluster(3, 10, 0.1, kabc.Gaussian(1.0))) is None


@pytest.mark.parametrize("seed", range(2))
def test_no_run_is_frightened_by_its_first_rounds(seed: int) -> None:
    """Two nearly equal arms: early evidence is noise, and what it takes by that noise is no number to show."""
    seen: list[tuple[int, int]] = []

    def look(one: Snapshot) -> None:
        if one.forecast is not None:
            seen.append((one.n_samples, one.forecast))

    total = kabc.cluster([normal(0), normal(1)], 2, seed=seed, on_round=look).n_samples
    assert all(left <= 20 * drawn for drawn, left in seen)
    assert all(drawn + left <= 5 * total for drawn, left in seen)


def test_snapshot_result_text_and_json_say_the_same() -> None:
    seen: list[int | None] = []
    arms = {name: normal(mean) for name, mean in (("a", 0.0), ("b", 1.0), ("c", 0.0), ("d", 1.0))}
    whole = kabc.cluster(arms, 2, seed=1)
    told = [
        kabc.cluster(arms, 2, seed=1, max_samples=n, on_round=lambda one: seen.append(one.forecast))
        for n in range(whole.n_samples * 3 // 4, whole.n_samples, 16)
    ]
    shown = [one for one in told if one.needs is not None]
    assert shown
    for result in shown:
        assert result.needs is not None
        assert sum(result.needs.values()) in seen
        assert 0.5 <= (result.n_samples + sum(result.needs.values())) / whole.n_samples <= 2
        assert "needs about " in str(result)
        assert result.to_dict()["needs"] == result.needs
    early = kabc.cluster(arms, 2, seed=1, max_samples=24)
    assert early.needs is None
    assert early.to_dict()["needs"] is None
    assert "how many more samples it takes cannot be told yet" in str(early)
    assert "cannot be told" not in str(whole)


def test_without_a_number_of_groups_there_is_no_end_to_forecast() -> None:
    result = kabc.cluster([normal(0), normal(0.7)], max_samples=60, seed=0)
    assert result.needs is None
    assert "cannot be told" not in str(result)


def test_what_it_needs_is_saved(tmp_path: Path) -> None:
    result = dataclasses.replace(
        kabc.cluster({1: normal(0), "b": normal(0.1)}, 2, seed=0, max_samples=20), needs={1: 7, "b": 9}
    )
    result.save(tmp_path / "r.json")
    assert kabc.load_result(tmp_path / "r.json") == result
