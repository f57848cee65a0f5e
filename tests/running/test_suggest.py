"""A run that nobody gave a number of groups suggests a tolerance, with its price."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.running import suggest
from kabc.strategies.tolerance.price import samples_of_arms

WORDS = "to prove which arms are the same, ask for a tolerance: "


def suggested(result: kabc.Result) -> list[str]:
    return [note for note in result.notes if note.startswith(WORDS)]


def normals(*means: float, spread: float = 8.0) -> list[Any]:
    return [lambda n, rng, mean=mean: rng.normal(mean, spread, n) for mean in means]


def test_a_stalled_run_says_what_a_tolerance_costs_and_that_is_true() -> None:
    result = kabc.cluster(normals(100, 100, 140), seed=0, progress=False)
    assert result.status == "stalled"
    (line,) = suggested(result)
    found = re.fullmatch(
        WORDS + r"tolerance='(\d+%)' takes about ([\d,]+) samples of each arm, '(\d+%)' about ([\d,]+) \(an estimate\)",
        line,
    )
    assert found is not None
    cheap, price, smaller, more = found.groups()
    assert float(smaller[:-1]) < float(cheap[:-1])
    assert int(price.replace(",", "")) <= 300 < int(more.replace(",", ""))
    run = kabc.cluster(normals(100, 100, 140), tolerance=cheap, seed=1, progress=False)
    assert run.status == "decided"
    assert 0.5 < int(price.replace(",", "")) / max(run.samples_per_arm.values()) < 2
    assert f"note: {line}" in str(result)


def test_values_with_signs_are_suggested_standard_deviations() -> None:
    (line,) = suggested(kabc.cluster(normals(0, 0, 40), seed=0, progress=False))
    assert "tolerance='0.5 sd' takes about" in line


def test_rows_that_are_too_few_are_named() -> None:
    rng = np.random.default_rng(0)
    result = kabc.cluster([rng.normal(100, 8, 60) for _ in range(3)], seed=0, progress=False)
    assert result.status == "exhausted"
    (line,) = suggested(result)
    assert line.endswith("(an estimate; the smallest arm has 60 rows)")
    cheap, smaller = (int(found.replace(",", "")) for found in re.findall(r"about ([\d,]+)", line))
    assert cheap <= 60 < smaller


@pytest.mark.parametrize(
    "settings",
    [{"n_clusters": 2}, {"max_samples": 60}, {"tolerance": "20%"}, {"strategy": kabc.AnytimeKABC(2, None, 0.05)}],
)
def test_who_gave_something_to_stop_at_gets_no_advice(settings: dict[str, Any]) -> None:
    assert not suggested(kabc.cluster(normals(100, 140), seed=0, progress=False, **settings))


def test_texts_and_categories_get_no_advice() -> None:
    rng = np.random.default_rng(0)
    arms = [rng.choice(["u", "v"], 60) for _ in range(3)]
    assert not suggested(kabc.cluster(arms, seed=0, progress=False))


def test_a_refuted_assumption_leaves_no_room_for_advice() -> None:
    drift = [np.linspace(1, 50, 400) + np.random.default_rng(arm).normal(0, 1, 400) for arm in range(2)]
    result = kabc.cluster(drift, seed=1, progress=False)
    assert result.status == "doubtful"
    assert not suggested(result)
    assert suggested(kabc.cluster(drift, seed=1, progress=False, watch=False))


@pytest.mark.parametrize("rows", [np.zeros(60), np.full(60, 1e308), np.r_[np.zeros(59), 1e300]])
def test_odd_values_do_not_fail_a_run(rows: Any) -> None:
    assert kabc.cluster([rows, rows + 0], seed=0, progress=False).n_samples


def test_many_arms_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice is cheap: some hundred samples, however many arms."""
    seen: list[int] = []

    def counting(rows: Any, *more: Any) -> Any:
        seen.append(sum(map(len, rows)))
        return samples_of_arms(rows, *more)

    monkeypatch.setattr(suggest, "samples_of_arms", counting)
    rng = np.random.default_rng(0)
    result = kabc.cluster([rng.normal(100, 8, 20) for _ in range(70)], seed=0, progress=False)
    assert len(suggested(result)) == 1
    assert seen and max(seen) <= 600


def test_blocks_are_the_samples_of_advice() -> None:
    rng = np.random.default_rng(0)
    result = kabc.cluster([rng.normal(100, 8, 400) for _ in range(3)], block=4, seed=0, progress=False)
    assert len(suggested(result)) == 1


def test_the_progress_line_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    monkeypatch.setattr("kabc.running.progress._LINE_SECONDS", 0.0)
    monkeypatch.setattr("kabc.running.script._LOOK_SECONDS", 0.0)
    lines: list[str] = []
    kabc.cluster(normals(100, 100, 100), tolerance="5%", seed=0, progress=lines.append)
    assert any(re.search(r"\d+ samples, about [\d,]+ left \(an estimate\)", line) for line in lines)
