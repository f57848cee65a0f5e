"""Samples, evidence and labels of all strategies are what they were when the golden file was written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.seeded_runs import GOLDEN, outcome, seeded_runs

RUNS = seeded_runs()


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(GOLDEN.read_text())
    return loaded


def test_every_recorded_run_is_still_made(golden: dict[str, Any]) -> None:
    assert set(golden) == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_seeded_run_is_what_it_was(name: str, golden: dict[str, Any]) -> None:
    found, recorded = outcome(RUNS[name].result()), golden[name]
    strengths, before = found["pairs"].pop("strength"), recorded["pairs"].pop("strength")
    samples, first = found.pop("first_samples"), recorded.pop("first_samples")
    assert found == recorded
    assert samples == pytest.approx(first, rel=1e-8)
    assert [value is None for value in strengths] == [value is None for value in before]
    numbers = [(new, old) for new, old in zip(strengths, before, strict=True) if old is not None]
    assert [new for new, _ in numbers] == pytest.approx([old for _, old in numbers], rel=1e-6, abs=1e-9)
