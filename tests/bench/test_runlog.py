"""What is in the folder of a bench is used, and nothing in it is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kabc.bench import RunLog
from kabc.bench.play import Job, Outcome
from kabc.core.errors import SettingsError

JOB = Job("boc-easy", "mark", "anytime", "code", seed=0, delta=0.1, cap=100, limit=1.0)
OUTCOME = Outcome("decided", False, 44, seconds=0.5)


def filled(folder: Path) -> Path:
    RunLog(folder).add(JOB, OUTCOME)
    return folder / "runs.jsonl"


def test_what_is_added_is_read_back(tmp_path: Path) -> None:
    filled(tmp_path)
    again = RunLog(tmp_path)
    assert again.done == {JOB: OUTCOME}
    assert again.notices == []


def test_bad_lines_are_skipped_named_and_kept(tmp_path: Path) -> None:
    path = filled(tmp_path)
    bad = [
        '{"something": "else"}',
        "[]",
        '{"job": 3, "outcome": {}}',
        "nonsense",
        '{"job": {"code": []}, "outcome": {}}',
    ]
    path.write_text("\n".join([bad[0], path.read_text().strip(), *bad[1:]]) + "\n")
    before = path.read_bytes()
    log = RunLog(tmp_path)
    assert log.done == {JOB: OUTCOME}
    assert log.notices == [f"{path}: skipped lines 1, 3, 4, 5, 6, not a run of kabc bench"]
    assert path.read_bytes() == before
    path.write_text("nonsense\n")
    assert RunLog(tmp_path).notices == [f"{path}: skipped line 1, not a run of kabc bench"]


def test_runs_without_the_code_of_the_strategy_are_one_notice(tmp_path: Path) -> None:
    path = filled(tmp_path)
    row = json.loads(path.read_text())
    del row["job"]["code"]
    path.write_text(f"{json.dumps(row)}\n" * 12)
    log = RunLog(tmp_path)
    assert log.done == {}
    assert len(log.notices) == 1
    assert "12 runs are from an earlier version of kabc" in log.notices[0]


def test_a_torn_last_line_goes_and_what_others_wrote_stays(tmp_path: Path) -> None:
    path = filled(tmp_path)
    whole = path.read_bytes()
    for torn in (b"{", b'{"job": {"inst', whole[:-1]):
        path.write_bytes(whole + torn)
        assert RunLog(tmp_path).done == {JOB: OUTCOME}
        assert path.read_bytes() == whole
    path.write_bytes(whole + b"a note of mine")
    log = RunLog(tmp_path)
    log.add(JOB, OUTCOME)
    assert path.read_bytes() == whole + b"a note of mine\n" + whole
    assert len(log.notices) == 1


def test_lines_that_no_run_writes_block_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path)
    row = json.loads(path.read_text())
    outcome, job = row["outcome"], row["job"]
    bad = [
        "[" * 100_000,
        json.dumps({"job": job, "outcome": outcome | {"samples": "x"}}),
        json.dumps({"job": job, "outcome": outcome | {"wrong": 3}}),
        json.dumps({"job": job | {"seed": "0"}, "outcome": outcome}),
        json.dumps({"job": job | {"n": [2]}, "outcome": outcome}),
        json.dumps({"job": job | {"later": 1}, "outcome": outcome}),
        "9" * 5000,
        "\x00",
    ]
    path.write_text("\n".join([*bad, path.read_text().strip()]) + "\n")
    log = RunLog(tmp_path)
    assert log.done == {JOB: OUTCOME}
    assert log.notices == [f"{path}: skipped lines 1, 2, 3, 4, 5 and 3 more, not a run of kabc bench"]


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "runs.jsonl").mkdir(parents=True)
    for name in ("file", "folder"):
        with pytest.raises(SettingsError, match="choose another folder"):
            RunLog(tmp_path / name)
