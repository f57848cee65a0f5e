"""A saved answer is refused with the command that shows it; every other file is left to its reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kabc
from kabc.arms.saved import refuse_saved_answer
from kabc.arms.timings import timing_arms

ARMS = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}


@pytest.fixture(params=["saved", "printed"])
def answer(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    result = kabc.cluster(ARMS, n_clusters=2, seed=0, progress=False)
    path = tmp_path / "answer.json"
    if request.param == "saved":
        result.save(path)
    else:
        path.write_text(json.dumps(result.to_dict(), indent=2))
    return path


def test_a_saved_answer_is_no_timings_and_no_table(answer: Path) -> None:
    words = "is a saved answer of kabc.*use kabc show .*answer.json"
    with pytest.raises(kabc.SettingsError, match=words):
        timing_arms(answer)
    with pytest.raises(kabc.SettingsError, match=words):
        kabc.cluster(answer, arm="names", values="labels", n_clusters=2, seed=0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"results": []}', '{"x": "kabc result"}', '[{"format": "kabc"}]'])
def test_other_files_are_left_to_their_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    refuse_saved_answer(path)
    refuse_saved_answer(tmp_path)
    refuse_saved_answer(tmp_path / "none.json")
