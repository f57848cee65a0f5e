"""No test rolls dice: whoever draws a fresh seed in a test is refused by name, unless the test is marked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kabc

KABC = str(Path(sys.executable).with_name("kabc"))
ARMS = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60}
RUN = "import kabc; print(kabc.cluster({'a': [0.1, 0.2] * 60, 'b': [0.8, 0.9] * 60}, 2, progress=False).seed)"
DRAWN = "this test would roll dice; give seed= or --seed"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "wide.csv"
    path.write_text("a,b\n" + "0.1,0.8\n0.2,0.9\n" * 60, encoding="utf-8")
    return path


def process(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def test_a_run_without_a_seed_ends(wide: Path) -> None:
    with pytest.raises(BaseException, match=DRAWN):
        kabc.cluster(ARMS, 2)
    with pytest.raises(BaseException, match=DRAWN):
        np.random.default_rng()
    for words in ([sys.executable, "-c", RUN], [KABC, "run", wide, "--wide", "--clusters", 2]):
        done = process(*words)
        assert done.returncode == 1 and DRAWN in done.stderr, done


def test_with_a_seed_nothing_is_refused(wide: Path) -> None:
    assert kabc.cluster(ARMS, 2, seed=3).seed == 3
    done = process(KABC, "run", wide, "--wide", "--clusters", 2, "--seed", 3, "--quiet")
    assert done.stdout and not done.stderr


@pytest.fixture
def nobody_refuses() -> None:
    assert kabc.cluster(ARMS, 2).seed != kabc.cluster(ARMS, 2).seed


@pytest.mark.fresh_seed
@pytest.mark.usefixtures("nobody_refuses")
def test_a_marked_test_draws_fresh_seeds_in_its_fixtures_and_processes_too() -> None:
    done = process(sys.executable, "-c", RUN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout != process(sys.executable, "-c", RUN).stdout
