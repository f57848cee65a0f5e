"""A class is judged whole, or by pairs."""

from __future__ import annotations

import pytest

from kabc.strategies.peers.tas_fw import strategy as strategy_file


@pytest.fixture
def by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every class counts as a large one."""
    monkeypatch.setattr(strategy_file, "_MOST_GROUPS", 0)


@pytest.fixture(params=["whole", "by pairs"])
def both_ways(request: pytest.FixtureRequest) -> None:
    """A class is judged whole, then by pairs."""
    if request.param == "by pairs":
        request.getfixturevalue("by_pairs")
