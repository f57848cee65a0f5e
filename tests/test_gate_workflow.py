"""The workflow of the guide "A gate in CI" does what it says: its steps are run, as a runner would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import kabc

ROOT = Path(__file__).parent.parent
WORKFLOW = ROOT / "examples" / "gate" / "workflow.yml"
INSTALL = "pip install tools/kabc-*.whl"  # here kabc is the one of this repository


def run_steps(text: str) -> list[str]:
    """The scripts of all steps that have one: what follows "run:" on its line, or the block under "run: |"."""
    steps, lines = [], text.split("\n")
    for number, line in enumerate(lines):
        found = re.fullmatch(r"( *)(?:- )?run: (.*)", line)
        if found and found[2] != "|":
            steps.append(found[2])
        elif found:
            margin = len(found[1])
            rest = lines[number + 1 :]
            end = next(
                (i for i, one in enumerate(rest) if one.strip() and len(one) - len(one.lstrip()) <= margin), None
            )
            steps.append("\n".join(rest[:end]))
    return steps


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A pull request that changes nothing yet, and the code before it in `base`."""
    for place in (tmp_path, tmp_path / "base"):
        shutil.copytree(ROOT / "examples" / "gate", place / "examples" / "gate")
    return tmp_path


def run_all(checkout: Path) -> subprocess.CompletedProcess[str]:
    """All steps but the installation, until one fails; with the variables of a runner."""
    folder = str(Path(sys.executable).parent)
    env = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(checkout / "summary.md"),
        "OMP_NUM_THREADS": "1",
    }
    install, *steps = run_steps(WORKFLOW.read_text(encoding="utf-8"))
    assert install == INSTALL and steps
    for step in steps:
        fixed = step.replace("kabc check", "kabc check --seed 1")  # a fresh seed is doubtful once in a hundred runs
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", fixed]
        done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False, timeout=240)
        if done.returncode:
            break
    return done


def test_a_pull_request_that_changes_nothing_passes(checkout: Path) -> None:
    done = run_all(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::notice title=kabc check::same: new is within 5 %25 of old" in done.stdout
    assert (checkout / "summary.md").read_text(encoding="utf-8").startswith("### kabc check: same")
    assert ET.parse(checkout / "gate.xml").getroot().get("failures") == "0"
    assert kabc.load_result(checkout / "gate.json").verdict == "same"
    assert (checkout / "gate.html").exists()


def test_a_pull_request_that_makes_it_slower_fails(checkout: Path) -> None:
    bench = checkout / "examples" / "gate" / "bench.sh"
    bench.write_text(bench.read_text(encoding="utf-8").replace("work=1000", "work=1150"), encoding="utf-8")
    done = run_all(checkout)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "::error title=kabc check::different: new differs from old: median 1.1" in done.stdout
    assert ET.parse(checkout / "gate.xml").getroot().get("failures") == "1"


def test_steps_are_found_in_both_forms() -> None:
    text = "steps:\n  - run: one\n  - name: x\n    run: |\n      two\n\n      three\n    env: y\n"
    assert run_steps(text) == ["one", "      two\n\n      three"]
