"""The lines that install kabc, as README.md and docs/install.md show them, each typed in an empty environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.blackbox.shell import Said, environment

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
NOT_CLONED = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "dist")
PATIENT = 600  # seconds for all of it: libraries are fetched

(TEN_LINES,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
(PRINTED,) = re.findall(r"^print\(result\)  # (.*)$", TEN_LINES, re.MULTILINE)
RUN, CHECK = re.findall(r"^    (kabc (?:run|check) (?:.*\\\n)*.*)$", README, re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENT)]


def lines_of(page: str) -> list[str]:
    """The lines with pip that a page shows, in their order."""
    return re.findall(r"^    (pip .*)$", page, re.MULTILINE)


@dataclass(frozen=True)
class Newcomer:
    """Somebody with Python, pip and a clone, and nothing else."""

    clone: Path
    venv: Path

    def types(self, line: str) -> Said:
        """What a line of the shell answers, in the folder of the clone."""
        path = f"{self.venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = environment({"PATH": path, "PYTHONPATH": None, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.clone, env=env, capture_output=True, text=True, timeout=PATIENT, check=False
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def follows(self, line: str) -> Said:
        """The same, for a line that must work."""
        said = self.types(line)
        assert said.code == 0, f"{line}\n{said.out}\n{said.err}"
        return said

    def runs_the_ten_lines(self) -> None:
        """They print what the comment beside them claims, and kabc is the one that was installed."""
        (self.clone / "elsewhere").mkdir()
        (self.clone / "elsewhere" / "ten.py").write_text(f"{TEN_LINES}\nprint(kabc.__file__)\n", encoding="utf-8")
        told = self.follows("cd elsewhere && python ten.py").out
        assert told.startswith(PRINTED.partition("...")[0])
        assert Path(told.splitlines()[-1]).is_relative_to(self.venv)


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    shutil.copytree(ROOT, tmp_path / "clone", ignore=NOT_CLONED)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    return Newcomer(tmp_path / "clone", tmp_path / "venv")


def table(path: Path) -> None:
    """Three machines, of which press-7 is another."""
    rng = np.random.default_rng(0)
    arms = {
        name: rng.normal(30.0 if name == "press-7" else 20.0, 1.0, 400) for name in ("press-1", "press-2", "press-7")
    }
    rows = [
        (name, value) for values in zip(*arms.values(), strict=True) for name, value in zip(arms, values, strict=True)
    ]
    pl.DataFrame(rows, schema=["machine", "vibration"], orient="row").write_parquet(path)


def test_from_a_clone_and_what_an_error_says_brings_the_extra(newcomer: Newcomer) -> None:
    (line,) = lines_of(README)
    assert line == lines_of(PAGE)[0]
    newcomer.follows(line)
    newcomer.runs_the_ten_lines()
    table(newcomer.clone / "data.parquet")
    told = newcomer.types(f"{RUN} --seed 1")
    assert told.code == 2
    cure = told.err.strip().rpartition("; ")[2]
    assert cure == lines_of(PAGE)[-1]
    newcomer.follows(cure)
    assert newcomer.follows(f"{RUN} --seed 1 --quiet").out.startswith("2 groups")
    assert (newcomer.clone / "report.html").exists()
    checked = newcomer.types(f"{CHECK} --seed 1 --quiet")
    assert (checked.code, checked.out.partition(":")[0]) == (5, "different"), checked


def test_from_a_wheel(newcomer: Newcomer) -> None:
    _, build, install, _ = lines_of(PAGE)
    newcomer.follows(build)
    shutil.rmtree(newcomer.clone / "src")  # the wheel is all that is needed
    newcomer.follows(install)
    newcomer.runs_the_ten_lines()
    assert newcomer.follows("kabc --version").out.strip()
