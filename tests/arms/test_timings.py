"""Timings of three benchmark runners, recognised by their keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.arms.base import Arm
from kabc.arms.timings import timing_arms
from kabc.core.errors import ArmError, KabcError, SettingsError
from kabc.testing import ArmConformance

TIMES = {"old": [0.5, 0.25, 0.125, 0.75, 0.625], "new": [1.0, 2.0, 3.0]}


def hyperfine() -> dict[str, Any]:
    return {"results": [{"command": name, "mean": 0.1, "times": times} for name, times in TIMES.items()]}


def pytest_benchmark() -> dict[str, Any]:
    runs = [{"fullname": name, "name": "t", "stats": {"mean": 0.1, "data": times}} for name, times in TIMES.items()]
    return {"machine_info": {}, "benchmarks": runs}


def google() -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    for name, times in TIMES.items():
        unit, scale = ("ms", 1e3) if name == "old" else ("ns", 1e9)
        shared = {"name": name, "run_name": name, "time_unit": unit}
        runs += [{**shared, "run_type": "iteration", "real_time": time * scale, "cpu_time": 1.0} for time in times]
        runs.append({**shared, "name": f"{name}_mean", "run_type": "aggregate", "real_time": 99.0})
    return {"context": {"num_cpus": 2}, "benchmarks": runs}


FORMATS = {"hyperfine": hyperfine(), "pytest-benchmark": pytest_benchmark(), "Google Benchmark": google()}


def written(folder: Path, data: object) -> Path:
    path = folder / "timings.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("runner", FORMATS)
def test_every_run_is_a_sample_in_seconds(tmp_path: Path, runner: str) -> None:
    path = written(tmp_path, FORMATS[runner])
    arms = timing_arms(path)
    assert list(arms) == ["old", "new"]
    assert arms.notes == (f"timings of {runner}, in seconds",)
    for name, times in TIMES.items():
        got = np.asarray(arms[name].draw(len(times), np.random.default_rng(0)))
        assert np.allclose(np.sort(got), np.sort(times))


def test_the_seed_orders_the_samples(tmp_path: Path) -> None:
    path = written(tmp_path, {"results": [{"command": name, "times": list(range(50))} for name in "ab"]})

    def order(name: str, seed: int) -> list[float]:
        return list(np.asarray(timing_arms(path, seed)[name].draw(50, np.random.default_rng(0))))

    assert order("a", 1) == order("a", 1)
    assert order("a", 1) != order("a", 2)
    assert order("a", 1) != order("b", 1)


def test_commands_of_one_name_are_told_by_their_parameters(tmp_path: Path) -> None:
    runs = [{"command": "sort", "parameters": {"n": n}, "times": [1.0, 2.0]} for n in "12"]
    assert list(timing_arms(written(tmp_path, {"results": runs}))) == ["sort n=1", "sort n=2"]


def pruned(runner: str) -> dict[str, Any]:
    return json.loads(json.dumps(FORMATS[runner]))  # type: ignore[no-any-return]


def bad_files() -> list[tuple[object, type[KabcError], str]]:
    few, cut, no_data, failed = (
        pruned("hyperfine"),
        pruned("hyperfine"),
        pruned("pytest-benchmark"),
        pruned("Google Benchmark"),
    )
    few["results"][1]["times"] = [1.0]
    del cut["results"][0]["times"]
    del no_data["benchmarks"][0]["stats"]["data"]
    failed["benchmarks"][0].update(error_occurred=True, error_message="no such file")
    twice = {"results": [{"command": "a", "times": [1.0, 2.0]}] * 2}
    return [
        (few, ArmError, "arm 'new': it has 1 timing, and at least 2 are needed; .*--runs"),
        (cut, SettingsError, "hyperfine but is not complete"),
        (no_data, SettingsError, "not complete.*--benchmark-json"),
        (failed, ArmError, "arm 'old': the benchmark failed: no such file"),
        (twice, ArmError, "arm 'a': it is in the file twice"),
        ({"results": []}, ArmError, "has timings of 0 arms; at least 2"),
        ({"rows": []}, SettingsError, "has no timings that kabc can read"),
        ([1, 2], SettingsError, "has no timings that kabc can read"),
    ]


@pytest.mark.parametrize(("data", "kind", "words"), bad_files())
def test_other_files_are_refused_with_the_cure(tmp_path: Path, data: object, kind: type[KabcError], words: str) -> None:
    with pytest.raises(kind, match=words):
        timing_arms(written(tmp_path, data))


def test_a_missing_file_and_a_file_that_is_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no file"):
        timing_arms(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("{")
    with pytest.raises(SettingsError, match="is not JSON"):
        timing_arms(tmp_path / "text.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(SettingsError, match="nested too deeply"):
        timing_arms(tmp_path / "deep.json")


class TestTimingArm(ArmConformance):
    @pytest.fixture(autouse=True)
    def _write(self, tmp_path: Path) -> None:
        self.path = written(tmp_path, FORMATS["hyperfine"])

    def make_arm(self) -> Arm:
        return timing_arms(self.path)["old"]
