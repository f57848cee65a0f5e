"""Nothing that a command started outlives it, or kabc; and nothing else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest

from kabc.arms import leftovers
from kabc.arms.commands import command_arms
from kabc.arms.processes import run_to_end
from tests.processes import running

pytestmark = pytest.mark.skipif(not leftovers.WORKS, reason="other systems do not show the environment of a process")

DETACHED = "setsid sleep 300 >/dev/null 2>&1 </dev/null &"
DAEMON = 'import os; os.fork() or os.setsid() or os.fork() or os.execlp("sleep", "sleep", "300")'
LATE = 20.0  # seconds

# draws from a command until it is killed
KABC = """
import numpy, sys
from kabc.arms.commands import command_arms
command_arms({"a": sys.argv[1]}, warmup=0)["a"].draw(1, numpy.random.default_rng(0))
"""


def living(word: str) -> list[str]:
    """The programs that have this word in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if word.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def becomes(word: str, n: int, program: str = "") -> list[str]:
    """The programs with the word, once there are so many of them, or after a long wait."""

    def found() -> list[str]:
        return [one for one in living(word) if one.startswith(program)]

    end = time.monotonic() + LATE
    while len(found()) != n and time.monotonic() < end:
        time.sleep(0.02)
    return found()


@pytest.fixture
def word() -> str:
    return f"kabc-test-{uuid.uuid4()}"


@pytest.mark.parametrize(
    "command",
    [
        f"{DETACHED} echo 1",
        f"{DETACHED} exit 3",
        f"({DETACHED} sleep 300 &) ; echo 1",
        f"{sys.executable} -c '{DAEMON}'",
    ],
    ids=["of a good run", "of a failed run", "with another one", "twice forked"],
)
def test_a_process_that_left_the_session_of_its_command_ends_with_it(command: str, word: str) -> None:
    run_to_end(["/bin/sh", "-c", command], {**os.environ, "WORD": word}, None, 60.0, keep_output=True)
    assert living(word) == []


def test_a_process_that_left_the_session_ends_at_the_timeout(word: str) -> None:
    command = f"{DETACHED} sleep 300"
    assert run_to_end(["/bin/sh", "-c", command], {**os.environ, "WORD": word}, None, 1.0, keep_output=True).timed_out
    assert living(word) == []


def test_commands_that_run_at_the_same_time_do_not_end_each_other(word: str) -> None:
    env = {**os.environ, "WORD": word}
    with running(["sleep", "300"], env=env), running(["setsid", "sleep", "300"], env=env):
        run_to_end(["/bin/sh", "-c", f"{DETACHED} echo 1"], env, None, 60.0, keep_output=True)
        assert len(becomes(word, 2)) == 2


def test_only_processes_with_the_mark_are_ended() -> None:
    with (
        running(["sleep", "300"], env={"A": "one-1;"}) as one,
        running(["sleep", "300"], env={"A": "one-12;"}) as other,
    ):
        leftovers.end_marked("one-1;")
        assert one.wait(LATE) == -signal.SIGKILL
        assert other.poll() is None


def test_numbers_of_processes_begin_again_after_the_largest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = os.getpid()
    with running(["sleep", "300"]) as process:
        assert process.pid in leftovers._processes(here)
        assert process.pid in leftovers._processes(None)
        assert here not in leftovers._processes(process.pid)
        read = Path.read_text
        # the last number is smaller than that of the command: they have begun again
        said = {"/proc/loadavg": f"0 0 0 1/1 {here + 1}", "/proc/sys/kernel/pid_max": "4194304"}
        monkeypatch.setattr(Path, "read_text", lambda path: said.get(str(path)) or read(path))
        assert here in leftovers._processes(here + 2)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_when_kabc_is_killed_nothing_stays_behind(number: signal.Signals, word: str) -> None:
    command = f"{DETACHED} sleep 300 & sleep 300"
    with running(
        [sys.executable, "-c", KABC, command], env={**os.environ, "WORD": word}, stderr=subprocess.DEVNULL
    ) as it:
        assert len(becomes(word, 3, "sleep")) == 3
        it.send_signal(number)
        it.wait(LATE)
        assert becomes(word, 0) == []


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGKILL, 2), (signal.SIGKILL, 1), (signal.SIGHUP, 1)])
def test_a_killed_command_line_leaves_nothing_behind(number: signal.Signals, workers: int, word: str) -> None:
    main = "from kabc.cli import main; main()"
    commands = [f"--command={name}={DETACHED} sleep 300" for name in "ab"]
    words = [sys.executable, "-c", main, "run", *commands, "--clusters=2", "--seed=0", f"--workers={workers}"]
    env = {**os.environ, "WORD": word}
    with running(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as it:
        assert len(becomes(word, 2 * workers, "sleep")) == 2 * workers
        it.send_signal(number)
        it.wait(LATE)
        assert becomes(word, 0) == []


def test_the_guard_ends_with_the_last_arm_and_comes_again(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", word)
    arms = command_arms({"a": "echo 1", "b": "echo 2"}, warmup=0)
    rng = np.random.default_rng(0)
    assert living(word) == []
    for _ in range(2):
        for arm in arms.values():
            arm.draw(1, rng)
        assert len(living(word)) == 1
        arms["a"].close()  # type: ignore[attr-defined]
        assert len(living(word)) == 1
        arms["b"].close()  # type: ignore[attr-defined]
        arms["b"].close()  # type: ignore[attr-defined]
        assert living(word) == []


def test_the_guard_ends_when_its_arms_are_forgotten(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", word)
    command_arms({"a": "echo 1"}, warmup=0)["a"].draw(1, np.random.default_rng(0))
    assert becomes(word, 0) == []


def test_a_command_that_runs_kabc_is_ended_with_all_of_it(word: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner.py"
    inner.write_text(KABC)
    command = f"{sys.executable} {inner} '{DETACHED} sleep 300'"
    env = {**os.environ, "WORD": word}
    ended = run_to_end(["/bin/sh", "-c", f"{command} & sleep 3; echo 1"], env, None, 60.0, keep_output=True)
    assert ended.output == "1\n"
    assert living(word) == []
