"""An answer says where it comes from: the date, the source, the command line and the version; keys are hidden."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import kabc as package
from tests.cli.conftest import Call


def test_file_command_date_and_version_are_in_the_answer_and_in_the_saved_file(
    kabc: Call, machines: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    words = ("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save", saved)
    assert kabc(*words, "--json").json()["origin"]["source"] == str(machines)
    origin = package.load_result(saved).origin
    assert origin is not None
    assert origin.source == str(machines)
    assert origin.command == " ".join(["kabc", *map(str, words), "--json"])
    assert origin.version == package.__version__
    assert abs(datetime.fromisoformat(origin.date) - datetime.now(UTC)) < timedelta(hours=1)
    assert kabc("show", saved, "--json").json()["origin"] == json.loads(saved.read_text(encoding="utf-8"))["origin"]


def test_the_report_has_them_too_and_the_title_that_is_asked_for(kabc: Call, machines: Path, tmp_path: Path) -> None:
    saved, report = tmp_path / "saved.json", tmp_path / "report.html"
    words = ("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save", saved, "--report", report)
    kabc(*words)
    page = report.read_text(encoding="utf-8")
    assert f"<h1>{machines.name}: which arms are the same?</h1>" in page
    assert f"kabc run {machines} --arm machine" in page
    kabc("show", saved, "--report", report, "--title", "Plant <7>")
    again = report.read_text(encoding="utf-8")
    assert "<h1>Plant &lt;7&gt;</h1>" in again
    assert f"kabc run {machines} --arm machine" in again


def test_no_key_of_a_command_is_anywhere(kabc: Call, tmp_path: Path) -> None:
    saved, report = tmp_path / "saved.json", tmp_path / "report.html"
    key = "sk-0123456789abcdef"
    commands = [f"{name}=: -H 'Authorization: Bearer {key}' --password {key}; echo {name}" for name in "12"]
    answer = kabc(
        *("run", "--command", commands[0], "--command", commands[1], "--clusters", 2, "--seed", 1),
        *("--save", saved, "--report", report, "--no-check-k"),
    )
    assert answer.code == 0, answer.err
    origin = package.load_result(saved).origin
    assert origin is not None
    assert "Authorization: Bearer ***" in origin.command
    assert origin.source == "1: a command; 2: a command"
    for written in (saved, report):
        assert key not in written.read_text(encoding="utf-8")
