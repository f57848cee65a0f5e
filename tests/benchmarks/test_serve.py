"""The load script in a small form: every tell that was acknowledged is in the store, and every stream hears of it."""

from __future__ import annotations

import json

import pytest

from benchmarks.serve import main


@pytest.mark.slow
def test_no_tell_is_lost_and_no_stream_is_held_up(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seconds", "2", "--workers", "5", "--rate", "50", "--streams", "20", "--memory", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["told"] > 0
    assert (found["lost"], found["not_acknowledged"], found["refused"]) == (0, 0, 0)
    assert (
        found["events_of_a_stream_least"] >= 2
    )  # how things were, and that they changed: beside one that takes nothing
