"""Arms of one table are drawn together: the same samples, and errors of the same arm, as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc import ArmError
from kabc.arms.scans import RowBuffer
from kabc.arms.tables import table_arms
from kabc.core.arrays import Array, Counts, Index
from kabc.results.values import Result
from kabc.running import shift, sources
from tests.running.live import same

N_ARMS = 30


def table(n_rows: int = 400, n_arms: int = N_ARMS) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    machine = rng.permutation(np.repeat(np.arange(n_arms), n_rows))
    return pl.DataFrame({"machine": [f"m{i}" for i in machine], "x": rng.normal(3.0 * (machine % 3), 1.0)})


def run(arms: Any, **settings: Any) -> Result:
    return kabc.cluster(arms, **({"n_clusters": 3, "seed": 5, "progress": False} | settings))


def draws_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Filled with the number of arms of each draw."""
    seen: list[int] = []
    usual = RowBuffer.draw

    def draw(self: RowBuffer, arms: Index, counts: Counts) -> Array:
        seen.append(len(arms))
        return usual(self, arms, counts)

    monkeypatch.setattr(RowBuffer, "draw", draw)
    return seen


@pytest.mark.parametrize(
    "settings", [{}, {"block": 4}, {"strategy": "kabc-tight"}, {"max_samples": 200}, {"workers": 2}], ids=str
)
def test_all_arms_at_once_are_arms_one_by_one(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift, "_SAMPLES_AT_ONCE", 20)
    seen = draws_of(monkeypatch)
    found = run(table(), arm="machine", **settings)
    at_once = max(seen)
    monkeypatch.setattr(sources, "table_of", lambda arms: None)
    seen.clear()
    assert same(found, run(table(), arm="machine", **settings))
    assert set(seen) == {1}
    assert at_once > 1 or "workers" in settings


def test_a_failure_of_several_is_an_error_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, usual = run(table(), arm="machine"), RowBuffer.draw
    failing: list[int] = []

    def draw(self: RowBuffer, arms: Index, counts: Counts) -> Array:
        if len(arms) > 1 or arms[0] in failing:
            raise ArmError("the disk is gone")
        return usual(self, arms, counts)

    monkeypatch.setattr(RowBuffer, "draw", draw)
    assert same(run(table(), arm="machine"), expected)  # nothing was drawn by what failed
    failing.append(7)
    with pytest.raises(ArmError, match=r"arm 'm7'.*the disk is gone"):
        run(table(), arm="machine")


class Colder:
    """Changes the samples of an arm, and has all else of it."""

    def __init__(self, arm: Any) -> None:
        self._arm = arm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arm, name)

    @property
    def remaining(self) -> int:
        return int(self._arm.remaining)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self._arm.draw(n, rng) - 10.0)


def test_an_arm_around_an_arm_of_a_table_is_drawn_itself() -> None:
    arms = {name: Colder(arm) for name, arm in table_arms(table(), arm="machine").items()}
    found = run(arms)
    assert max(rows.max() for rows in found.samples.values()) < 3.0


def test_arms_of_a_table_in_another_order_are_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = draws_of(monkeypatch)
    arms = table_arms(table(), arm="machine")
    found = run(dict(reversed(arms.items())))
    assert set(seen) == {1}
    assert all(len({int(str(name)[1:]) % 3 for name in group}) == 1 for group in found.groups)
