"""What programs read of an answer says the same as what people read."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kabc
from tests.blackbox.shell import Said, shell


def checked(folder: Path, *, shift: int, rows: int, more: tuple[object, ...] = ()) -> Said:
    """A check with a tolerance of 3 % (30), on so many rows of each build; it ends by itself, or with the rows."""
    dice = random.Random(4)
    builds = [(name, 1000 + by) for _ in range(rows) for name, by in (("old", 0), ("new", shift))]
    lines = [f"{name},{dice.gauss(mean, 25):.3f}" for name, mean in builds]
    (folder / "rows.csv").write_text("\n".join(["build,value", *lines]) + "\n")
    asked = ("--arm", "build", "--this", "new", "--same-as", "old", "--tolerance", "3%", "--seed", 3)
    return shell("check", "rows.csv", *asked, "--quiet", "--json", *more, folder=folder)


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A check whose rows end just after the two were told apart; as JSON, and saved."""
    folder = tmp_path_factory.mktemp("different")
    said = checked(folder, shift=60, rows=75, more=("--save", "r.json"))
    return {"facts": said.json, "code": said.code, "folder": folder}


def test_a_certified_difference_is_certified_for_programs_too(different: dict[str, Any]) -> None:
    facts = different["facts"]
    assert (facts["verdict"], facts["status"], different["code"]) == ("different", "exhausted", 5)
    text = shell("show", different["folder"] / "r.json").out
    assert "wrong with probability at most 5 %" in text.splitlines()[0]
    assert "certified: they differ" in text
    assert facts["certified"] is True
    result = kabc.load(different["folder"] / "r.json")
    assert result.certified
    assert "guess" not in str(result)


def test_answers_that_were_saved_with_the_other_word_are_read(different: dict[str, Any], tmp_path: Path) -> None:
    saved = json.loads((different["folder"] / "r.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps(saved | {"certified": False}))
    assert shell("show", tmp_path / "old.json", "--json").json["certified"] is True
    (tmp_path / "bad.json").write_text(json.dumps(saved | {"verdict": "open", "reference": []}))
    assert shell("show", tmp_path / "bad.json").code == 2


def test_what_is_not_known_is_not_certified(tmp_path: Path) -> None:
    said = checked(tmp_path, shift=20, rows=75)
    assert (said.json["verdict"], said.json["certified"], said.code) == ("open", False, 3)


def test_a_doubtful_check_is_not_certified() -> None:
    rows = [float(i) for i in range(200)]  # each later sample is larger
    found = kabc.check({"old": rows, "new": [5.0 + row for row in rows]}, this="new", tolerance=1, seed=0)
    assert (found.status, found.verdict, found.certified) == ("doubtful", "open", False)
    assert found.to_dict()["certified"] is False


def test_sameness_is_certified() -> None:
    arms = {name: lambda n, rng: rng.normal(size=n) for name in ("old", "new")}
    found = kabc.check(arms, this="new", tolerance="1 sd", seed=0, progress=False)
    assert (found.status, found.verdict, found.to_dict()["certified"]) == ("decided", "same", True)


def test_a_report_is_written_as_the_guide_says(tmp_path: Path) -> None:
    code = (
        "import kabc\n"
        "result = kabc.cluster({'a': [0.1, 0.2] * 60, 'b': [0.8, 0.9] * 60}, 2, seed=0, progress=False)\n"
        "kabc.report.write_report(result, 'report.html')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "<html" in (tmp_path / "report.html").read_text()
