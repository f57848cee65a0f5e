"""Nothing that was paid for is lost: failures, signals, full disks and broken pipes leave an answer that was found."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc as package
from kabc.cli.show import written
from kabc.running.interrupts import Interrupts
from kabc.running.progress import Ticker
from tests.cli.conftest import Call
from tests.processes import running

SCRIPT = Path(sys.executable).with_name("kabc")
ENV = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def words_of(machines: Path) -> list[object]:
    return ["run", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1]


def finished(words: list[object], **options: Any) -> subprocess.CompletedProcess[str]:
    given = [str(word) for word in [SCRIPT, *words, "--quiet"]]
    return subprocess.run(given, text=True, stderr=subprocess.PIPE, check=False, **({"env": ENV} | options))


# ------------------------------------------------------------ failures


def failing(folder: Path, at: int) -> list[object]:
    count = f"n=$(($(cat {folder}/n 2>/dev/null || echo 0) + 1)); echo $n > {folder}/n; [ $n -lt {at} ] || exit 7; "
    draw = "echo $((KABC_SEED % 7))"
    return ["run", "--command", f"good={draw}", "--command", f"bad={count}{draw}", "--clusters", 2, "--seed", 1]


def test_a_command_that_fails_late_leaves_an_answer_a_file_and_a_report(kabc: Call, tmp_path: Path) -> None:
    saved, report = tmp_path / "r.json", tmp_path / "r.html"
    answer = kabc(*failing(tmp_path, 12), "--save", saved, "--report", report)
    assert answer.code == 3
    assert answer.out.startswith("undecided: the run failed, the groups are a guess (")
    assert answer.err.startswith("kabc: error: arm 'bad': ") and "exit code 7" in answer.err
    assert answer.err.count("\n") == 1 and "error.result" not in answer.err
    told = package.load_result(saved)
    assert (told.status, told.samples_per_arm["bad"], told.n_lost) == ("failed", 10, 3)
    said = told.failure.replace("on_failure=", "--on-failure")
    assert "exit code 7" in said and f"failure: {said}" in answer.out
    assert "exit code 7" in report.read_text(encoding="utf-8")
    assert kabc("show", saved).code == 3


def test_with_json_the_answer_is_the_document(kabc: Call, tmp_path: Path) -> None:
    answer = kabc(*failing(tmp_path, 12), "--json")
    assert (answer.code, answer.json()["status"]) == (3, "failed")
    assert "exit code 7" in answer.json()["failure"]
    (tmp_path / "n").unlink()
    assert "Traceback" in kabc(*failing(tmp_path, 12), "--debug").err


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("a fault")])
@pytest.mark.parametrize("where", ["kabc.results.files.save_result", "kabc.report.html.write_report"])
def test_whatever_happens_while_a_file_is_written_the_answer_is_printed(
    error: Exception, where: str, kabc: Call, machines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(where, fails)
    answer = kabc(*words_of(machines), "--save", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert answer.code == 2
    assert "group 1, 2 arms: a, c" in answer.out
    assert answer.err.count("\n") == 1 and type(error).__name__ in answer.err
    assert len(list(tmp_path.iterdir())) == 1  # the other file is written


def test_the_files_are_written_even_if_the_answer_cannot_be_printed(
    kabc: Call, machines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **options: object) -> str:
        raise MemoryError

    monkeypatch.setattr("kabc.cli.show.text", fails)
    answer = kabc(*words_of(machines), "--save", tmp_path / "r.json")
    assert answer.code == 2 and "cannot print the answer: MemoryError" in answer.err
    assert package.load_result(tmp_path / "r.json").certified


# ------------------------------------------------------------ paths


@pytest.mark.parametrize("option", ["--save", "--report"])
@pytest.mark.parametrize("kind", ["folder", "missing", "read-only", "socket"])
def test_a_path_that_cannot_be_written_is_refused_before_a_sample(
    option: str, kind: str, kabc: Call, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    path = {
        "folder": tmp_path,
        "missing": tmp_path / "no" / "r",
        "read-only": Path("/proc/r"),
        "socket": tmp_path / "s",
    }
    if kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path[kind]))
    draw = f"echo x >> {log}; echo 1"
    words = ["run", "--command", f"a={draw}", "--command", f"b={draw}", "--clusters", 2, option, path[kind]]
    answer = kabc(*words)
    assert answer.code == 2 and answer.err.startswith("kabc: error: cannot write")
    assert answer.out == "" and not log.exists()


def test_trying_a_path_leaves_nothing_behind(kabc: Call, machines: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("old")
    clustering = ("run", machines, "--arm", "nothing", "--clusters", 2, "--seed", 1)
    answer = kabc(*clustering, "--save", old, "--report", tmp_path / "new")
    assert answer.code == 2
    assert list(tmp_path.iterdir()) == [old] and old.read_text() == "old"


# ------------------------------------------------------------ signals


@pytest.mark.parametrize("how", SIGNALS)
def test_an_answer_is_printed_before_it_is_saved_and_a_signal_does_not_stop_that(
    how: signal.Signals, machines: Path, tmp_path: Path
) -> None:
    pipe, out, err = tmp_path / "pipe", tmp_path / "out", tmp_path / "err"
    os.mkfifo(pipe)  # saving waits until somebody reads
    with out.open("w") as stdout, err.open("w") as stderr:
        command = [SCRIPT, *words_of(machines), "--save", pipe]
        with running(command, stdout=stdout, stderr=stderr, env=ENV) as process:
            until(lambda: "group 1, 2 arms: a, c" in out.read_text())
            process.send_signal(how)
            until(lambda: "interrupt again" in err.read_text())
            assert json.loads(pipe.read_text(encoding="utf-8"))["status"] == "decided"
            assert process.wait(60) == 0
    assert out.read_text().endswith(f"saved: {pipe}\n")


def test_a_second_signal_gives_the_file_up_and_says_so(machines: Path, tmp_path: Path) -> None:
    pipe, out, err = tmp_path / "pipe", tmp_path / "out", tmp_path / "err"
    os.mkfifo(pipe)
    with out.open("w") as stdout, err.open("w") as stderr:
        command = [SCRIPT, *words_of(machines), "--save", pipe]
        with running(command, stdout=stdout, stderr=stderr, env=ENV) as process:
            until(lambda: "group 1, 2 arms: a, c" in out.read_text())
            process.send_signal(signal.SIGINT)
            until(lambda: "interrupt again" in err.read_text())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 2
    assert f"kabc: error: interrupted; not written: {pipe}" in err.read_text()


@pytest.mark.parametrize("second", [True, False])
def test_a_library_that_hides_the_second_signal_does_not_hide_it_from_the_user(second: bool) -> None:
    def write(path: str) -> None:
        try:
            if second:
                os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as hidden:
            raise ValueError("a literal could not be built") from hidden
        raise ValueError("a literal is wrong")

    with Interrupts(Ticker(False)) as interrupts:
        with pytest.raises(KeyboardInterrupt):  # the run is interrupted, then comes its answer
            os.kill(os.getpid(), signal.SIGINT)
        interrupts.over()
        os.kill(os.getpid(), signal.SIGINT)
        if second:
            with pytest.raises(KeyboardInterrupt):
                written("saved", "a.json", write, interrupts, as_json=True)
        else:
            problem = written("saved", "a.json", write, interrupts, as_json=True)
            assert problem == "cannot write 'a.json': ValueError: a literal is wrong"


def test_a_second_signal_gives_the_file_of_odd_ones_up_and_says_so(machines: Path, tmp_path: Path) -> None:
    pipe, out, err = tmp_path / "pipe", tmp_path / "out", tmp_path / "err"
    os.mkfifo(pipe)
    with out.open("w") as stdout, err.open("w") as stderr:
        words = ["outliers", machines, "--arm", "machine", "--values", "vibration", "--tolerance", "20%", "--seed", "1"]
        with running([SCRIPT, *words, "--save", pipe], stdout=stdout, stderr=stderr, env=ENV) as process:
            until(lambda: out.read_text())
            process.send_signal(signal.SIGINT)
            until(lambda: "interrupt again" in err.read_text())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 2
    assert err.read_text().endswith(f"kabc: error: interrupted; not written: {pipe}\n")


@pytest.mark.parametrize("how", SIGNALS)
def test_a_signal_at_a_random_moment_leaves_whole_files_and_the_right_code(
    how: signal.Signals, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(how)
    draw = "echo $((KABC_SEED % 7 {}))"
    arms = ["--command", f"a={draw.format('')}", "--command", f"b={draw.format('+ 5')}"]
    words = ["run", *arms, "--clusters", "2", "--seed", "1"]
    for delay in rng.uniform(0.5, 4.0, 3):
        folder = tmp_path_factory.mktemp("signals")
        files = [folder / "r.json", folder / "r.html"]
        command = [SCRIPT, *words, "--json", "--quiet", "--save", files[0], "--report", files[1]]
        with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as process:
            time.sleep(delay)
            process.send_signal(how)
            out, err = process.communicate(timeout=60)
        if process.returncode < 0 or "before there was an answer" in err or "KeyboardInterrupt" in err:
            assert "groups" not in out and not list(folder.iterdir())  # it was only being loaded
            continue
        told = json.loads(out)
        if "error" in told:  # a library that was being loaded hid the signal behind an error of its own
            assert process.returncode in (1, 2, 3) and not list(folder.iterdir()), err
            continue
        assert process.returncode == {"decided": 0}.get(told["status"], 3), err
        assert sorted(folder.iterdir()) == sorted(files)
        assert json.loads(files[0].read_text(encoding="utf-8"))["n_samples"] == told["n_samples"]
        assert files[1].read_text(encoding="utf-8").endswith("</html>\n")


# ------------------------------------------------------------ standard output, and disks


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_standard_output_does_not_cost_the_file(machines: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        seen = finished([*words_of(machines), "--save", tmp_path / "r.json"], stdout=full)
    assert seen.returncode == 2
    assert "cannot write to standard output" in seen.stderr and seen.stderr.count("\n") == 1
    assert package.load_result(tmp_path / "r.json").certified


def test_a_reader_that_has_left_does_not_cost_the_file(machines: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        seen = finished([*words_of(machines), "--save", tmp_path / "r.json"], stdout=write)
    finally:
        os.close(write)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert package.load_result(tmp_path / "r.json").certified


def test_a_full_disk_leaves_the_answer_and_no_part_of_a_file(tmp_path: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    draws = ["--command", "a=echo $((KABC_SEED % 7))", "--command", "b=echo $((KABC_SEED % 7 + 50))"]
    words = [
        "run",
        *draws,
        "--clusters",
        2,
        "--seed",
        1,
        "--save",
        tmp_path / "r.json",
        "--report",
        tmp_path / "r.html",
    ]
    env = ENV | {"PYTHONDONTWRITEBYTECODE": "1"}
    seen = finished(words, stdout=subprocess.PIPE, preexec_fn=small, env=env)
    assert seen.returncode == 2
    assert "group 1, 1 arm: a" in seen.stdout
    assert seen.stderr.count("cannot write") == 2 == seen.stderr.count("\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("as_json", [False, True])
def test_names_that_cannot_be_encoded_are_printed_as_escapes(encoding: str, as_json: bool, tmp_path: Path) -> None:
    saved, report = tmp_path / "r.json", tmp_path / "r.html"
    draw = "echo $((KABC_SEED % 7 {}))"
    names = ["caf\xe9", os.fsdecode(b"odd\xff"), "plain"]
    commands = [f"{name}={draw.format('+ 50' if name == 'plain' else '')}" for name in names]
    words = [word for command in commands for word in ("--command", command)]
    options = ["--clusters", 2, "--seed", 1, "--save", saved, "--report", report, *["--json"] * as_json]
    env = ENV | {"PYTHONIOENCODING": encoding}
    seen = finished(["run", *words, *options], stdout=subprocess.PIPE, env=env)
    assert (seen.returncode, seen.stderr) == (0, "")
    if as_json:
        assert json.loads(seen.stdout)["groups"][0]["arms"] == names[:2]
    else:
        assert "odd\\udcff" in seen.stdout
    assert package.load_result(saved).names == tuple(names)
    assert report.read_text(encoding="utf-8").endswith("</html>\n")


def test_a_closed_standard_error_does_not_end_a_run(machines: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        given = [str(word) for word in [SCRIPT, *words_of(machines)]]
        seen = subprocess.run(given, stdout=subprocess.PIPE, stderr=write, env=ENV, check=False)
    finally:
        os.close(write)
    assert seen.returncode == 0


def test_signals_of_a_program_that_calls_the_command_line_are_left_as_they_were(kabc: Call, machines: Path) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    assert kabc(*words_of(machines)).code == 0
    assert [signal.getsignal(number) for number in SIGNALS] == before
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(kabc(*words_of(machines)).code))
    thread.start()
    thread.join(60)
    assert codes == [0]
