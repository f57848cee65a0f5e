"""Whoever waits sees what for: progress also comes while one step takes long."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import kabc
from kabc.cli.live import LivePanel
from tests.processes import running

KABC = str(Path(sys.executable).with_name("kabc"))
SEED = ("--seed", "1")
ENDLESS = (
    "select 'a' || (i % 2) as arm, i % 7 as value from range(400) t(i), "
    "(select count(*) from range(1000000) a, range(1000000) b where hash(a.range + b.range) = 7)"
)


def first_line(*words: str) -> str:
    """The first line of progress of a command that would go on for long."""
    with running([KABC, *words, "--progress"], stderr=subprocess.PIPE) as process:  # it is killed at the end
        assert process.stderr is not None
        return process.stderr.readline()


@pytest.mark.parametrize("word", ["run", "plan"])
def test_a_command_that_takes_long_is_shown_while_it_runs(word: str) -> None:
    slow = "sleep 200; echo 1"
    arms = ("--command", f"a={slow}", "--command", f"b={slow}", "--timeout", "300")
    line = first_line(word, *arms, "--clusters", "2", *SEED)
    assert ("drawing, 0 of 4 draws done, 0 samples so far" if word == "run" else "pilot: arm 1 of 2") in line


def test_a_table_that_takes_long_is_shown_while_it_is_read() -> None:
    line = first_line(
        "run", "--sql", ENDLESS, "--database", "duckdb:///:memory:", "--arm", "arm", "--clusters", "2", *SEED
    )
    assert line.endswith(" s: running the query\n")


def test_python_shows_a_draw_that_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def slow(n: int, rng: object) -> list[float]:
        while "drawing, 0 of 2 draws done" not in (err := capsys.readouterr().err):
            time.sleep(0.1)
        seen.append(err)
        raise KeyboardInterrupt

    assert kabc.cluster({"a": slow, "b": slow}, 2, seed=0, progress=True).status == "interrupted"
    assert seen


def test_a_quiet_panel_stays_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with LivePanel(quiet=True) as panel, panel.during("a long step"):
        panel._still_at_it()
    assert capsys.readouterr() == ("", "")
