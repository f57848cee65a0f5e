"""Runs of programs: what they used, how they ended, and that nothing of them stays behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

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


def test_of_a_long_output_the_end_is_kept() -> None:
    output = shell("yes | head -c 20000000; echo end").output
    assert output.endswith("y\nend\n")
    assert len(output) == 2**24


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

    def interrupted(pid: int, options: int) -> None:
        while not pids.exists() or not pids.read_text().strip():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "wait4", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shell(f"echo $$ > {pids}; sleep 30")
    assert _gone(int(pids.read_text()))
