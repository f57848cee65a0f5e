"""Commands as arms: what is measured, what is passed in, what every kind of failure says."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.arms import failures
from kabc.arms.base import Arm
from kabc.arms.commands import CommandArm, command_arms
from kabc.core.errors import ArmError, SettingsError

LARGE_OUTPUT = f"{sys.executable} -c 'print(\"x\" * 200_000); print(5)'"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 0.001)


def one(command: str | list[str], n: int = 1, seed: int = 0, **options: Any) -> NDArray[np.float64]:
    arms = command_arms({"x": command}, **{"warmup": 0, **options})
    return np.asarray(arms["x"].draw(n, np.random.default_rng(seed)))


def test_command_arms_are_arms_drawn_one_at_a_time_without_an_end() -> None:
    arm = command_arms({"x": "echo 1"})["x"]
    assert isinstance(arm, Arm)
    assert isinstance(arm, CommandArm)
    assert arm.one_at_a_time
    assert arm.remaining is None


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("echo 2.5", [2.5]),
        ("echo noise; echo '1 2\t3'; echo", [1, 2, 3]),
        (["printf", "%s %s", "1e3", "-4"], [1000, -4]),
        ("echo '[1, 2.5]'", [1, 2.5]),
        ("echo true", None),
        (LARGE_OUTPUT, [5]),
    ],
)
def test_the_last_line_printed_is_the_sample(command: str | list[str], row: list[float] | None) -> None:
    assert one(command).tolist() == [[1.0] if row is None else row]


@pytest.mark.parametrize(
    ("text", "path", "row"),
    [
        ('log\n{"latency": {"p50": 3.5}}', "latency.p50", [3.5]),
        ('{\n "runs": [{"time": 1}, {"time": [2, 3]}]\n}', "runs.1.time", [2, 3]),
        ('{"runs": [7, 8]}', "runs.-1", [8]),
        ('{"a": "12.5"}', "a", [12.5]),
    ],
)
def test_a_path_picks_from_json_on_one_line_or_many(text: str, path: str, row: list[float]) -> None:
    assert one(["printf", "%s", text], json_path=path).tolist() == [row]


def test_wall_time_is_the_whole_run_and_processor_time_is_not_slept() -> None:
    start = time.perf_counter()
    wall = float(one("sleep 0.2", measure="wall")[0, 0])
    around = time.perf_counter() - start
    assert 0.2 <= wall <= around
    assert float(one("sleep 0.2", measure="cpu")[0, 0]) < wall


def test_processor_time_counts_the_children_of_the_command() -> None:
    busy = f"{sys.executable} -S -c 'import time\nwhile time.process_time() < 0.15: pass'"
    assert float(one(f"{busy}; true", measure="cpu")[0, 0]) >= 0.15


def test_memory_is_in_megabytes() -> None:
    assert 57 < float(one([sys.executable, "-S", "-c", "x = b'1' * 60_000_000"], measure="rss")[0, 0]) < 85


@pytest.mark.parametrize("measure", ["wall", "cpu", "rss"])
def test_a_measured_command_may_print_what_it_likes(measure: str) -> None:
    sample = one("yes | head -c 1000000", measure=measure)
    assert sample.shape == (1, 1)
    assert sample[0, 0] > 0


def test_warm_up_runs_are_made_once_and_are_no_samples(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arm = command_arms({"x": f"echo run >> {log}; wc -l < {log}"}, warmup=2)["x"]
    rng = np.random.default_rng(0)
    first = np.asarray(arm.draw(1, rng)).ravel().tolist()
    assert first + np.asarray(arm.draw(2, rng)).ravel().tolist() == [3, 4, 5]


def test_the_same_seed_gives_the_same_samples_with_or_without_warm_up_whole_or_in_parts() -> None:
    whole = one("echo $KABC_SEED", n=3, seed=7)
    assert len(set(whole.ravel())) == 3
    arm, rng = command_arms({"x": "echo $KABC_SEED"}, warmup=2)["x"], np.random.default_rng(7)
    assert np.array_equal(whole, np.concatenate([np.asarray(arm.draw(1, rng)) for _ in range(3)]))
    assert not np.array_equal(whole, one("echo $KABC_SEED", n=3, seed=8))


def test_variables_are_given_to_all_arms_and_to_one_and_stay_out_of_the_repr(tmp_path: Path) -> None:
    env: Mapping[str, str | Mapping[str, str]] = {"COMMON": "1", "OWN": "2", "b": {"OWN": "33344455"}}
    arms = command_arms(dict.fromkeys("ab", "echo $COMMON $OWN; pwd >&2; test -d here"), env=env, cwd=tmp_path)
    (tmp_path / "here").mkdir()
    rows = {name: np.asarray(arm.draw(1, np.random.default_rng(0))).tolist() for name, arm in arms.items()}
    assert rows == {"a": [[1, 2]], "b": [[1, 33344455]]}
    assert "33344455" not in repr(arms)


def test_an_exit_code_is_told_with_the_last_line_of_standard_error() -> None:
    with pytest.raises(ArmError) as caught:
        one("echo first >&2; echo second >&2; exit 3")
    assert caught.value.arm == "x"
    assert "exit code 3" in str(caught.value)
    assert "'second'" in str(caught.value)
    assert "first" not in str(caught.value).split("failed:")[1]


def test_a_signal_is_told_by_its_name() -> None:
    with pytest.raises(ArmError, match="killed by SIGTERM, it said nothing"):
        one("kill -TERM $$")


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    with pytest.raises(ArmError, match="killed by signal 40, it said nothing"):
        one("kill -40 $$")


def test_too_much_output_is_a_failure() -> None:
    with pytest.raises(ArmError, match="printed more than 16 MB and was killed; print only the numbers"):
        one("yes")
    assert one("yes", on_failure="encode").tolist() == [[0.0, 1.0]]


def test_json_without_an_end_to_its_depth_is_a_failure() -> None:
    deep = [sys.executable, "-c", "print('[' * 100_000 + ']' * 100_000)"]
    for path in (None, "0.0"):
        with pytest.raises(ArmError, match="printed JSON that is nested too deeply"):
            one(deep, json_path=path)


def test_a_timeout_is_a_failure() -> None:
    with pytest.raises(ArmError, match=r"did not end within timeout=0\.2 seconds and was killed; raise timeout="):
        one("sleep 300", timeout=0.2)


@pytest.mark.parametrize("command", ["no-such-program-1", ["no-such-program-1"], "/etc/passwd", ["/etc/passwd"]])
@pytest.mark.parametrize("measure", ["output", "rss"])
@pytest.mark.parametrize("on_failure", ["raise", "encode"])
def test_a_command_that_cannot_be_run_ends_the_run_under_every_policy(
    command: str | list[str], measure: str, on_failure: str
) -> None:
    with pytest.raises(ArmError, match=r"arm 'x': cannot run .*; check its spelling and PATH"):
        one(command, measure=measure, on_failure=on_failure)


def test_a_retry_runs_again_with_a_new_seed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = f"echo $KABC_SEED >> {log}; test $(wc -l < {log}) -ge 3 && echo 4"
    assert one(command, on_failure="retry").tolist() == [[4.0]]
    assert len(set(log.read_text().split())) == 3
    log.unlink()
    with pytest.raises(ArmError, match=r"arm 'x': 2 tries failed; the last failure: .*exit code 1"):
        one(command, on_failure="retry", retries=1)


def test_a_retry_does_not_move_the_seeds_of_later_samples(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flaky = f"if test -e {flag}; then echo $KABC_SEED; else touch {flag}; exit 1; fi"
    assert np.array_equal(one(flaky, n=3, on_failure="retry")[1:], one("echo $KABC_SEED", n=3)[1:])


def test_an_encoded_failure_is_zeros_and_a_one(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flaky = f"if test -e {flag}; then echo 5 6; else touch {flag}; exit 1; fi"
    assert one(flaky, n=2, on_failure="encode", columns=["a", "b"]).tolist() == [[0, 0, 1], [5, 6, 0]]
    arms = command_arms({"x": flaky}, on_failure="encode", columns=["a", "b"])
    assert arms.columns == ("a", "b", "failed")
    assert any("encoded as a value of their own" in note for note in arms.notes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": "time"}, "measure must be 'output', 'wall', 'cpu' or 'rss', got 'time'"),
        ({"measure": "wall", "json_path": "a"}, "measure must be 'output' where json_path is given, got 'wall'"),
        ({"json_path": ""}, "json_path must be text like 'latency.p50', got ''"),
        ({"warmup": -1}, "warmup must be a whole number, 0 or more, got -1"),
        ({"timeout": 0}, "timeout must be a finite number of seconds above 0, got 0"),
        ({"env": {"other": {"A": "1"}}}, "env has variables for an arm 'other'; the arms are x"),
        ({"env": {"A": 1}}, "the variable A in env must be text, got int"),
        ({"on_failure": "drop"}, "on_failure must be 'raise'"),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        command_arms({"x": "echo 1"}, **options)
    assert said in str(caught.value)


@pytest.mark.parametrize("command", ["", "  ", [], [1, 2], ()])
def test_what_is_no_command_is_refused_by_name(command: Any) -> None:
    with pytest.raises(SettingsError, match=r"arm 'x': a command must be text for the shell"):
        command_arms({"x": command})


@pytest.mark.parametrize(
    ("measure", "column"), [("wall", "wall seconds"), ("cpu", "cpu seconds"), ("rss", "peak MB"), ("output", None)]
)
def test_the_column_says_what_is_measured_and_its_unit(measure: Any, column: str | None) -> None:
    assert command_arms({"a": "true", "b": "true"}, measure=measure).columns == (() if column is None else (column,))
