"""Arms that are timings of a benchmark runner: hyperfine, pytest-benchmark or Google Benchmark.

The keys of a file say which runner wrote it. Times become seconds. Each run, or repetition, is one sample.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kabc.arms.base import NamedArms
from kabc.arms.pools import PoolArm
from kabc.arms.saved import refuse_saved_answer
from kabc.core.errors import ArmError, KabcError, SettingsError
from kabc.core.words import counted

Timings = dict[str, list[float]]

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_FEWEST = 2  # timings of an arm
_MORE_RUNS = {
    "hyperfine": "run hyperfine with --runs 30 or more",
    "pytest-benchmark": "run pytest with --benchmark-json, and --benchmark-min-rounds=30 or more",
    "Google Benchmark": "run it with --benchmark_repetitions=30 or more, without --benchmark_report_aggregates_only",
}


def timing_arms(path: str | os.PathLike[str], seed: int = 0) -> NamedArms:
    """Arms from a JSON file of timings, in the order of the file. A sample is the seconds of one run.

    Parameters
    ----------
    path : str or path
        A file of hyperfine (--export-json), pytest-benchmark (--benchmark-json) or Google Benchmark (--benchmark_out
        with --benchmark_out_format=json).
    seed : int, default 0
        Decides the order of the samples of each arm.

    Returns
    -------
    NamedArms
        The arms by name, for `kabc.cluster`.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from kabc.arms.timings import timing_arms
    >>> results = [{"command": "old", "times": [0.3, 0.4]}, {"command": "new", "times": [0.1, 0.2]}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "hyperfine.json")
    ...     _ = path.write_text(json.dumps({"results": results}))
    ...     arms = timing_arms(path)
    >>> {name: arm.remaining for name, arm in arms.items()}
    {'old': 2, 'new': 2}
    """
    name = os.fspath(path)
    refuse_saved_answer(name)
    data = _loaded(name)
    runner = _runner(data)
    if runner is None:
        raise SettingsError(
            f"{name!r} has no timings that kabc can read; pass a file of hyperfine --export-json, of pytest "
            "--benchmark-json, or of Google Benchmark --benchmark_out with format json; for a table set arm="
        )
    try:
        timings = _READERS[runner](data)
    except KabcError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(
            f"{name!r} looks like timings of {runner} but is not complete ({error!r}); {_MORE_RUNS[runner]}"
        ) from error
    _enough(timings, name, runner)
    arms = {
        arm: PoolArm(arm, times, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,))))
        for number, (arm, times) in enumerate(timings.items())
    }
    said = [f"timings of {runner}, in seconds"]
    return NamedArms(arms, said, ["seconds"], types={"seconds": "number"}, source=name)


def _loaded(name: str) -> Any:
    if not Path(name).is_file():
        raise SettingsError(f"there is no file {name!r} (looked from {Path.cwd()}); check the path")
    try:
        return json.loads(Path(name).read_text(encoding="utf-8"))
    except RecursionError:
        raise SettingsError(f"{name!r} is nested too deeply; pass the JSON file of the benchmark runner") from None
    except ValueError as error:  # not JSON, or not even text
        raise SettingsError(f"{name!r} is not JSON: {error}; pass the JSON file of the benchmark runner") from error


def _runner(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    if _all_have(data.get("results"), "command"):
        return "hyperfine"
    if _all_have(data.get("benchmarks"), "fullname", "stats"):
        return "pytest-benchmark"
    if "context" in data and _all_have(data.get("benchmarks"), "name"):
        return "Google Benchmark"
    return None


def _all_have(entries: Any, *keys: str) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, dict) and set(keys) <= set(entry) for entry in entries)


def _hyperfine(data: Any) -> Timings:
    entries = data["results"]
    commands = [entry["command"] for entry in entries]
    return _by_name(
        (command if commands.count(command) == 1 else f"{command} {_parameters(entry)}".strip(), entry["times"])
        for command, entry in zip(commands, entries, strict=True)
    )


def _parameters(entry: dict[str, Any]) -> str:
    """Commands that were given the same name differ only in their parameters."""
    return " ".join(f"{name}={value}" for name, value in entry.get("parameters", {}).items())


def _pytest_benchmark(data: Any) -> Timings:
    return _by_name((entry["fullname"], entry["stats"]["data"]) for entry in data["benchmarks"])


def _by_name(entries: Iterator[tuple[str, list[float]]]) -> Timings:
    timings: Timings = {}
    for name, times in entries:
        if name in timings:
            raise ArmError("it is in the file twice; give each benchmark its own name").of_arm(name)
        timings[name] = [float(time) for time in times]
    return timings


def _google(data: Any) -> Timings:
    timings: Timings = {}
    for entry in data["benchmarks"]:
        if entry.get("run_type", "iteration") != "iteration":
            continue  # means and medians of the repetitions
        if entry.get("error_occurred"):
            raise ArmError(
                f"the benchmark failed: {entry.get('error_message', 'no message')}; correct it, or filter it out"
            ).of_arm(entry["name"])
        seconds = float(entry["real_time"]) * _SECONDS[entry.get("time_unit", "ns")]
        timings.setdefault(entry.get("run_name", entry["name"]), []).append(seconds)
    return timings


_READERS = {"hyperfine": _hyperfine, "pytest-benchmark": _pytest_benchmark, "Google Benchmark": _google}


def _enough(timings: Timings, name: str, runner: str) -> None:
    if len(timings) < 2:
        raise ArmError(
            f"{name!r} has timings of {counted(len(timings), 'arm')}; at least 2 are needed; add benchmarks to it"
        )
    for arm, times in timings.items():
        if len(times) < _FEWEST:
            raise ArmError(
                f"it has {counted(len(times), 'timing')}, and at least {_FEWEST} are needed; {_MORE_RUNS[runner]}"
            ).of_arm(arm)
        if not np.isfinite(times).all():
            raise ArmError(f"it has a timing that is not a finite number; {_MORE_RUNS[runner]}").of_arm(arm)
