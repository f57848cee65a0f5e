"""Runs, commands and half-done studies give what they gave when they were recorded, by whatever code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox import golden_commands, golden_runs, golden_studies
from tests.blackbox.golden import differences
from tests.blackbox.golden_data import make_files
from tests.postgres import new_database

RUNS = golden_runs.runs()


def recorded(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    make_files(made)
    return made


def test_every_recorded_run_is_still_made() -> None:
    assert list(recorded(golden_runs.GOLDEN)) == list(RUNS)
    assert set(recorded(golden_studies.ANSWERS)) == set(golden_studies.STUDIES)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_it_gave(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = json.loads(json.dumps(golden_runs.outcome(RUNS[name]())))
    assert not differences(found, recorded(golden_runs.GOLDEN)[name])


@pytest.mark.slow
@pytest.mark.timeout(900)  # forty processes, one after another
def test_commands_say_what_they_said(tmp_path: Path) -> None:
    changed = differences(golden_commands.told(tmp_path), recorded(golden_commands.GOLDEN))
    assert not changed, "\n".join(changed)


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_studies.STUDIES)
def test_a_study_that_was_killed_half_way_ends_as_it_did(name: str, tmp_path: Path, request: Any) -> None:
    result = golden_studies.finished(name, tmp_path, lambda: new_database(request.getfixturevalue("postgres")))
    found = json.loads(json.dumps(golden_runs.numbers(result)))
    assert not differences(found, recorded(golden_studies.ANSWERS)[name])


def test_a_run_that_gives_something_else_is_found_out() -> None:
    one = {"labels": [0, 1], "strength": [1.0, None], "text": "2 groups"}
    assert not differences({**one, "strength": [1.0 + 1e-8, None]}, one)
    for other in (
        {"labels": [0, 0]},
        {"strength": [1.0001, None]},
        {"strength": [1.0, 2.0]},
        {"text": "3 groups"},
        {"new": 1},
    ):
        assert len(differences({**one, **other}, one)) == 1
    assert differences({}, one)
