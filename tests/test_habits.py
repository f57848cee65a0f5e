"""The habits of this repository: one version, and a suite that ends, wherever it is started."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kabc
from tests.processes import running

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place() -> None:
    # What is installed is not asked: an editable install keeps the version of the day it was made.
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    source = (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE) == [kabc.__version__]


def suite(folder: Path, test: str, *words: str, ignoring: bool = False) -> tuple[int, str]:
    """Exit code and output of a suite of one file, with the settings and the conftest.py of this one."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_one.py").write_text(test, encoding="utf-8")
    settings = ["-c", ROOT / "pyproject.toml", "--rootdir", folder, "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *settings, *words, folder]
    if ignoring:  # as a shell starts what runs in the background
        command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output, _ = process.communicate(timeout=120)
    return process.returncode, output


CTRL_C = """
import os, signal, subprocess, sys, pytest

def test_here():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

def test_in_a_child():
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('still here')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == ""
"""


@pytest.mark.slow
def test_ctrl_c_works_in_a_suite_that_was_started_with_sigint_ignored(tmp_path: Path) -> None:
    code, output = suite(tmp_path, CTRL_C, "-n1", "-o", "timeout=30", ignoring=True)
    assert code == 0, output
    assert "2 passed" in output


HANGS = """
import time

def test_that_hangs():
    time.sleep(600)

def test_that_comes_after_it():
    pass
"""


@pytest.mark.slow
def test_a_test_that_hangs_fails_by_name_and_the_next_one_runs(tmp_path: Path) -> None:
    assert PROJECT["tool"]["pytest"]["ini_options"]["timeout"] == 300
    code, output = suite(tmp_path, HANGS, "-n1", "-o", "timeout=1")
    assert code == 1
    assert re.search(r"^FAILED .*test_that_hangs", output, re.MULTILINE), output
    assert "Failed: Timeout" in output
    assert "1 failed, 1 passed" in output


DEAF = """
import ctypes

def test_that_hangs():
    ctypes.PyDLL(None).sleep(600)  # holds the lock of the interpreter: neither a signal nor a thread gets in
"""


@pytest.mark.slow
def test_compiled_code_that_hangs_ends_the_process_by_name(tmp_path: Path) -> None:
    code, output = suite(tmp_path, DEAF, "-n1", "--max-worker-restart=0", "-o", "faulthandler_timeout=2")
    assert code == 1
    assert re.search(r"^FAILED .*test_that_hangs", output, re.MULTILINE), output


EAGER = """
import kabc, pytest

ARMS = [lambda n, rng: rng.normal(0, 1, n), lambda n, rng: rng.normal(9, 1, n)]

@pytest.mark.parametrize("result", [kabc.cluster(ARMS, 2, seed=0)])
def test_something(result):
    pass
"""


def test_no_strategy_runs_while_tests_are_collected(tmp_path: Path) -> None:
    code, output = suite(tmp_path, EAGER)
    assert code == 2
    assert "a strategy runs while tests are collected" in output
