"""Progress: shown to those who look on, and never in the way of others; a doubt is a part of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.blackbox.shell import KABC, shell

ARMS = [f"--command={name}=sleep 0.1; echo $((KABC_SEED % 10))" for name in "ab"]
LONG = ("run", *ARMS, "--seed", 1, "--max-samples", 30, "--workers", 1)  # three seconds

IN_PYTHON = """
import time, kabc
def slow(n, rng):
    time.sleep(0.1 * n)
    return rng.normal(size=n)
kabc.cluster([slow, slow], 2, max_samples=28, seed=0{more})
"""


def test_a_shell_without_a_terminal_hears_nothing(tmp_path: Path) -> None:
    said = shell(*LONG, "--storage", "kabc.db", "--study", "nightly", folder=tmp_path)
    assert said.out
    assert said.err == ""


def test_unless_it_asks(tmp_path: Path) -> None:
    said = shell(*LONG, "--progress", folder=tmp_path)
    assert "samples" in said.err


def test_a_terminal_hears(tmp_path: Path) -> None:
    seen, given = pty.openpty()
    command = [str(word) for word in (KABC, *LONG)]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=given, env=environment) as process:
        os.close(given)
        heard = b""
        while True:
            try:
                piece = os.read(seen, 4096)
            except OSError:  # how Linux says that the other side has left
                break
            if not piece:
                break
            heard += piece
    os.close(seen)
    assert process.returncode == 3
    assert b"drawing" in heard


def test_python_without_a_terminal_hears_nothing_unless_it_asks() -> None:
    def heard(more: str) -> str:
        code = IN_PYTHON.format(more=more)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == ""
        return done.stderr

    assert heard("") == ""
    assert "drawing" in heard(", progress=True")


def test_a_doubt_is_seen_while_the_run_goes_on() -> None:
    clock = {"n": 0.0}

    def slower(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        time.sleep(0.006 * n)
        clock["n"] += n
        return rng.normal(clock["n"] / 30, 1.0, n)  # every machine becomes slower, one like the other

    lines: list[str] = []
    found = kabc.cluster([slower] * 4, tolerance="0.05 sd", max_samples=800, seed=0, progress=lines.append)
    assert found.status == "doubtful"
    told = [i for i, line in enumerate(lines) if "doubtful so far" in line]
    assert told, lines
    assert "later samples differ from earlier ones" in lines[told[0]]
    assert "evidence" in lines[told[0]]
    assert told[0] < len(lines) - 2  # long before the end
    assert "doubtful so far" in lines[-1]


def test_nothing_is_doubted_without_a_reason() -> None:
    lines: list[str] = []

    def steady(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        time.sleep(0.01 * n)
        return rng.normal(size=n)

    kabc.cluster([steady] * 4, tolerance="0.05 sd", max_samples=300, seed=0, progress=lines.append)
    assert lines
    assert not [line for line in lines if "doubt" in line]


def test_a_finished_cell_shows_the_answer_and_no_progress() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    source = IN_PYTHON.strip().format(more="") + "\n"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries of notebooks, which are not under test
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    texts = ["".join(part) for one in outputs for part in one.get("data", {}).values()]
    texts += [one["text"] for one in outputs if "text" in one]
    assert any("samples)" in text for text in texts), texts  # the answer
    assert not [text for text in texts if text.startswith("round ") or "drawing" in text], texts
