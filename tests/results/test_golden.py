"""Files of every version of the format still load, to the same answer.

A file here is never written again: it is what people have on their disks. Add files for a new version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import Result
from kabc.strategies.answers import Round

FOLDER = Path(__file__).parent.parent / "golden" / "results"
ALL = ["0.1.0-decided", "0.1.0-kernel", "0.1.0-undecided", "2-decided", "2-kernel", "2-undecided"]


def golden(name: str) -> Result:
    return kabc.load_result(FOLDER / f"{name}.json")


def test_these_are_all() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == ALL


@pytest.mark.parametrize("name", ALL)
def test_an_old_file_is_the_same_result_when_it_is_saved_today(name: str, tmp_path: Path) -> None:
    loaded = golden(name)
    loaded.save(tmp_path / "again.json")
    assert kabc.load_result(tmp_path / "again.json") == loaded


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("2-")])
def test_a_file_of_this_version_is_written_again_with_all_it_has(name: str, tmp_path: Path) -> None:
    golden(name).save(tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    before = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert known(before, written) == before


def known(before: Any, written: Any) -> Any:
    """What is written, without the fields that a version added later."""
    if isinstance(before, dict):
        return {key: known(value, written[key]) for key, value in before.items()}
    return written


def test_0_1_0_decided() -> None:
    result = golden("0.1.0-decided")
    assert str(result).splitlines() == [
        "2 groups, wrong with probability at most 5 % if there are exactly 2 groups (32 samples)",
        "  group 1, 2 arms: 7, 8",
        "    column 1: median 0.11, 5-95 % -1.19 to 1.09",
        "    column 2: median 0.40, 5-95 % -1.31 to 1.49",
        "  group 2, 2 arms: 9, 10",
        (
            "    column 1: median 3.26, 5-95 % 1.31 to 4.82; median +3.16 against group 1 (+2.31 to +4.19); "
            "spread 1.5 times"
        ),
        (
            "    column 2: median 3.06, 5-95 % 1.27 to 3.94; median +2.67 against group 1 (+1.51 to +3.76); "
            "spread 0.95 times"
        ),
        "effects: estimates with 95 % bootstrap intervals, no part of the guarantee",
        "samples per arm: 8",
    ]
    assert result.names == ("7", "8", "9", "10")  # 0.1.0 wrote texts
    assert result.labels == (0, 0, 1, 1)
    assert result.evidence.by_bets
    assert result.evidence.n_told_apart == 4
    assert result.evidence.strength[0, 2] == pytest.approx(1.05774361)
    assert result.evidence.measured is None
    assert result.rounds[-1] == Round(number=7, delta=0.05, n=8, n_samples=32, n_groups=2)
    assert {name: rows.shape for name, rows in result.samples.items()} == dict.fromkeys(result.names, (8, 2))
    assert result.trace is not None
    assert result.trace.strength.shape == (7, 4, 4)
    assert result.guarantee.strategy == "Anytime KABC(delta = 0.05, K = 2)"
    assert "k(k + 1) / (3 delta/4)" in result.certificate()


def test_0_1_0_kernel() -> None:
    result = golden("0.1.0-kernel")
    assert result.groups == (("a", "b"), ("c",))
    assert (result.n_samples, result.n_pilot, result.delta, result.seed) == (951, 60, 0.1, 2)
    assert result.kernel == "Gaussian(bandwidth=2.8474700104550363)"
    assert not result.evidence.by_bets
    np.testing.assert_allclose(result.evidence.strength[2], [1.15084242, 1.1679275, 0.0], rtol=1e-6)
    assert np.isnan(result.evidence.log_evidence).all()
    assert "last of 4 rounds: k = 4, delta_k = 0.00156, 166 samples of each arm, 2 components" in result.certificate()


def test_0_1_0_undecided() -> None:
    result = golden("0.1.0-undecided")
    assert str(result).splitlines() == [
        "undecided: the budget is spent, the groups are a guess (200 samples)",
        "certified: nothing yet; 0 of 6 pairs are told apart",
        "  group 1 (guess), 4 arms: w, x, y, z",
        "    colour: green (57 %), red (43 %)",
        "    ms: median 4.89, 5-95 % 3.49 to 6.59",
        "effects: estimates with 95 % bootstrap intervals, no part of the guarantee",
        "samples per arm: 50",
        "note: columns: colour: category; ms: number",
    ]
    assert result.n_clusters is None
    assert result.columns == ("colour", "ms")
    assert result.levels == {"colour": {194370368160771.0: "green", 205119453184404.0: "red"}}
    assert result.evidence.strength[1, 3] == pytest.approx(0.786463081)


def test_2_decided() -> None:
    result = golden("2-decided")
    assert str(result).splitlines() == [
        "3 groups, wrong with probability at most 5 % if there are exactly 3 groups (32 samples)",
        "  group 2, 1 arm: 2",
        "    value: median 4.03, 5-95 % 2.97 to 4.93; median +3.99 against group 1 (+3.23 to +4.75)",
        "  group 3, 1 arm: 4",
        "    value: median 8.12, 5-95 % 6.56 to 9.09; median +8.09 against group 1 (+7.07 to +8.88)",
        "  group 1, 2 arms: 1, 30",
        "    value: median 0.04, 5-95 % -1.19 to 1.05",
        "effects: estimates with 95 % bootstrap intervals, no part of the guarantee",
        "samples per arm: 8",
    ]
    assert result.names == (1, 2, 30, 4)
    assert result.labels == (0, 1, 0, 2)
    assert result.samples_per_arm == {1: 8, 2: 8, 30: 8, 4: 8}
    assert result.evidence.by_bets
    np.testing.assert_allclose(result.evidence.strength[3, :3], [1.22921938, 1.12747214, 1.23319431], rtol=1e-6)
    assert result.samples[30].shape == (8, 1)
    assert result.trace is not None
    assert result.trace.strength.shape == (7, 4, 4)


def test_2_kernel() -> None:
    result = golden("2-kernel")
    assert result.groups == (("a", "c"), ("b",))
    assert (result.n_samples, result.n_pilot, result.seed) == (123, 60, 5)
    assert result.kernel.startswith("Gaussian(bandwidth=2.7535")
    assert not result.evidence.by_bets
    np.testing.assert_allclose(result.evidence.strength[1], [1.10053321, 0.0, 1.08910402], rtol=1e-6)
    assert result.guarantee.strategy == "KABC(delta = 0.05, K = 2)"


def test_2_undecided() -> None:
    result = golden("2-undecided")
    assert result.status == "exhausted"
    assert result.n_groups_at_least == 2
    assert result.spent == 0.25 * result.n_samples
    assert result.columns == ("colour", "ms")
    assert result.levels == {"colour": {194370368160771.0: "green", 205119453184404.0: "red"}}
    assert result.notes == ("columns: colour: category; ms: number",)
    assert str(result).startswith(
        "undecided: all rows read, or too few left for another round; the groups are a guess ("
    )
