"""Runs of programs: what they used, how they ended, and that nothing of them stays behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kabc.arms import outputs
from kabc.arms.processes import Ended, NotStartedError, megabytes, run_to_end, weighing


def shell(command: str, timeout: float = 60.0, keep_output: bool = True) -> Ended:
    return run_to_end(["/bin/sh", "-c", command], os.environ, None, timeout, keep_output=keep_output)


def test_a_run_that_ends_well_has_its_output_and_one_that_fails_its_errors() -> None:
    well, failed = shell("echo out; echo err >&2"), shell("echo out; echo err >&2; exit 3")
    assert (well.code, well.output, well.errors) == (0, "out\n", "")
    assert (failed.code, failed.output, failed.errors) == (3, "", "err\n")
    assert not well.timed_out and not failed.timed_out
    assert shell("echo out", keep_output=False).output == ""


def test_a_signal_is_a_negative_code() -> None:
    assert shell("kill -TERM $$").code == -15


def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(NotStartedError, match="No such file"):
        run_to_end(["no-such-program-1"], os.environ, None, 1.0, keep_output=False)


def test_too_much_output_ends_the_run_and_is_not_kept() -> None:
    ended = shell("yes", timeout=60.0)
    assert ended.too_much and not ended.timed_out
    assert (ended.code, ended.output) == (-9, "")


def test_just_so_much_output_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST_OUTPUT", 1_000_000)
    full = shell("head -c 1000000 /dev/zero")
    assert not full.too_much
    assert len(full.output) == 1_000_000
    assert shell("head -c 1000001 /dev/zero").too_much  # also what comes at the very end
    assert not shell("head -c 1000001 /dev/zero", keep_output=False).too_much


def test_of_standard_error_the_end_is_kept() -> None:
    errors = shell("yes | head -c 5000000 >&2; echo end >&2; exit 1").errors
    assert errors.endswith("y\nend\n")
    assert len(errors) == outputs.MOST_ERRORS


def test_a_run_that_prints_much_to_standard_error_ends_well() -> None:
    assert shell("yes | head -c 5000000 >&2; echo 1").output == "1\n"


@pytest.mark.parametrize("words", [["echo", "a\0b"], ["\0"]])
def test_words_that_no_program_can_have_cannot_be_started(words: list[str]) -> None:
    with pytest.raises(NotStartedError, match="null byte"):
        run_to_end(words, os.environ, None, 1.0, keep_output=False)


def test_no_file_stays_open() -> None:
    def n_open() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    shell("echo 1")
    before = n_open()
    shell("echo 1")
    shell("yes | head -c 100000", keep_output=False)
    with pytest.raises(NotStartedError):
        run_to_end(["no-such-program-1"], os.environ, None, 1.0, keep_output=True)
    assert n_open() == before


def test_memory_is_that_of_the_program_and_not_of_this_process() -> None:
    ours = np.ones(12_000_000)  # about 92 MB, which Linux would hand on to a program started from here

    def peak(words: list[str]) -> float:
        return megabytes(run_to_end(weighing(words), os.environ, None, 60.0, keep_output=True).output)

    assert ours.nbytes / 2**20 > 90
    assert 0.5 < peak(["true"]) < 25
    assert 57 < peak([sys.executable, "-S", "-c", "x = b'1' * 60_000_000"]) < 85


def test_a_timeout_ends_every_process_of_the_run(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert shell(f"sleep 300 & echo $! > {pids}; wait", timeout=0.5).timed_out
    assert _gone(int(pids.read_text()))


@pytest.mark.parametrize("code", [0, 3])
def test_a_run_that_ends_by_itself_leaves_no_process_behind(tmp_path: Path, code: int) -> None:
    pids = tmp_path / "pids"
    assert shell(f"sleep 300 & echo $! > {pids}; echo 5; exit {code}").code == code
    assert _gone(int(pids.read_text()))


def _gone(pid: int) -> bool:
    """Dead, or dead and not yet collected by whoever adopted it."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def test_an_interrupted_wait_kills_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"

    def interrupted(*_: int) -> None:
        while not pids.exists() or not pids.read_text().strip():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "waitid" if hasattr(os, "waitid") else "wait4", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shell(f"echo $$ > {pids}; sleep 30")
    assert _gone(int(pids.read_text()))
