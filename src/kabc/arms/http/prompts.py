"""Prompts: the texts that take the place of {prompt} in a call."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from kabc.arms.checks import expect
from kabc.arms.words import cut
from kabc.core.errors import SettingsError

PROMPT = "{prompt}"
_JSON_LINES = (".jsonl", ".ndjson")


def read_prompts(given: str | os.PathLike[str] | Sequence[str] | None) -> tuple[str, ...]:
    """The prompts of a file or a list. Without prompts: one that is empty."""
    if given is None:
        return ("",)
    texts = tuple(_of_file(Path(given)) if isinstance(given, str | os.PathLike) else given)
    right = bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)
    expect(right, "prompts", given, "a file or a list with at least one prompt, none of them empty")
    return texts


def _of_file(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"cannot read prompts from {str(path)!r}: {error}; check the path, and that it is text in UTF-8"
        ) from error
    as_json = path.suffix in _JSON_LINES
    found = [_prompt(line, number) if as_json else line for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise SettingsError(f"there is no prompt in {str(path)!r}; write one in each line")
    return found


def _prompt(line: str, number: int) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("prompt"), str):
        return str(value["prompt"])
    raise SettingsError(f'line {number} of the prompts must look like {{"prompt": "..."}}, got {cut(line)}')
