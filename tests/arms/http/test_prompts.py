"""Prompts: from a list, from lines of text or of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kabc.arms.http.prompts import read_prompts
from kabc.core.errors import SettingsError


def test_every_line_that_is_not_empty_is_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text(" one\n\n  \ntwo, three\n")
    (tmp_path / "p.jsonl").write_text('{"prompt": "one", "id": 1}\n\n{"prompt": "two\\nlines"}\n')
    assert read_prompts(tmp_path / "p.txt") == (" one", "two, three")
    assert read_prompts(str(tmp_path / "p.jsonl")) == ("one", "two\nlines")
    assert read_prompts(["a", "b"]) == ("a", "b")


def test_without_prompts_there_is_one_that_is_empty() -> None:
    assert read_prompts(None) == ("",)


@pytest.mark.parametrize("given", [[], [""], ["a", " "], ["a", 1]])
def test_empty_prompts_and_what_is_not_text_are_refused(given: Any) -> None:
    with pytest.raises(SettingsError, match=r"prompts must be a file or a list with at least one prompt.*got \["):
        read_prompts(given)


def test_a_file_that_is_missing_or_empty_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read prompts from 'no-such-file'.*check the path"):
        read_prompts("no-such-file")
    (tmp_path / "e.txt").write_text("\n")
    with pytest.raises(SettingsError, match=r"there is no prompt in '.*e\.txt'"):
        read_prompts(tmp_path / "e.txt")


@pytest.mark.parametrize("line", ['{"question": "b"}', "not json", '"b"', '{"prompt": 3}'])
def test_json_lines_without_a_prompt_are_refused_with_their_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(f'{{"prompt": "a"}}\n\n{line}\n')
    with pytest.raises(SettingsError, match="line 3 of the prompts must look like"):
        read_prompts(file)
