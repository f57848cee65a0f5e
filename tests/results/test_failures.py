"""Failures of arms: the lines that people read, and the way to a file and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import kabc
from kabc.arms.tallies import Failures
from kabc.report import report_html
from kabc.results.failures import failure_lines
from tests.results.examples import answer

FAILED = Failures(12, {"timeout": 2, "status 500": 10}, "answered 500: 'x'", 240, 3)


def test_a_line_names_the_arm_the_kinds_and_the_last_message() -> None:
    assert failure_lines({"fast": FAILED}) == [
        "failures: 12 of 240 tries of fast (status 500: 10, timeout: 2; last: answered 500: 'x')"
    ]
    assert failure_lines({}) == []


def test_arms_that_failed_in_the_same_way_share_a_line() -> None:
    arms: dict[Any, Failures] = {i: Failures(i, {"timeout": i}, f"message {i}", 100) for i in range(1, 9)}
    arms["odd"] = Failures(1, {"status 500": 1}, "x", 2)
    odd, others = failure_lines(arms)
    assert odd == "failures: 1 of 2 tries of odd (status 500: 1; last: x)"
    named, how = others.split(" (")
    assert named == (
        "failures: 8 of 100 tries of 8, 7 of 100 tries of 7, 6 of 100 tries of 6 and 15 of 500 tries of 5 more arms"
    )
    assert how == "timeout: 36; last: message 8)"


def test_many_ways_to_fail_are_cut() -> None:
    arms: dict[Any, Failures] = {i: Failures(i, {f"status {i}": i}, "x", 100) for i in range(1, 9)}
    lines = failure_lines(arms)
    assert len(lines) == 4
    assert lines[0].startswith("failures: 8 of 100 tries of 8 (")
    assert lines[-1] == "failures: and 15 of 500 tries of 5 more arms"
    many = Failures(21, {f"status {i}": i for i in range(1, 7)}, "x", 100)
    assert "(status 6: 6, status 5: 5, status 4: 4, status 3: 3, other: 3; last: x)" in failure_lines({"a": many})[0]


def test_failures_are_saved_and_files_without_them_are_read(tmp_path: Path) -> None:
    result = dataclasses.replace(answer("ab|c"), failures={"c": FAILED})
    result.save(tmp_path / "a.json")
    assert kabc.load_result(tmp_path / "a.json") == result
    assert "failures: 12 of 240 tries of c" in str(result)
    assert "failures: 12 of 240 tries of c" in report_html(result)
