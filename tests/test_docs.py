"""Every Python block of the README and the guides runs as it stands; commands and settings can be read."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer.main

from kabc.cli.app import app
from kabc.config.models import Config

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENGINES = ROOT / "docs" / "engines.md"  # its blocks share a cluster


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page != ENGINES
    for number, block in enumerate(blocks_of(page))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs(block: str) -> None:
    exec(compile(block, "<docs>", "exec"), {})


def test_the_blocks_of_engines_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    seen: dict[str, Any] = {}
    for block in blocks_of(ENGINES):
        exec(compile(block, "<docs>", "exec"), seen)
    assert seen["client"].status == "closed"


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        name, heading = target
        if name.startswith(("http:", "https:")):
            address = urlsplit(name)
            assert address.scheme == "https" and "." in address.netloc, f"{page.name} links to {name}"
            continue
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name} links to {name}, which is not there"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, f"{page.name} links to #{heading} of {file.name}, which is not there"


def commands_shown() -> list[str]:
    """Indented lines that begin with kabc, up to a pipe; a table may have a strategy of this name."""
    pattern = r"^    (?:[A-Z_]+=\S+ )*(kabc [a-z](?:.*\\\n)*.*)"
    found = [line for page in ALL for line in re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE)]
    return [line.replace("\\\n", " ").split(" || ")[0] for line in found]


@pytest.mark.parametrize("line", commands_shown())
def test_a_command_that_is_shown_has_options_that_are_there(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while words[:1] and words[0] in getattr(command, "commands", ()):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)  # reads the options, runs nothing


def test_every_block_is_of_a_kind_that_is_run_or_read() -> None:
    """A block in another language, or Python that is only indented, would be shown and never tried."""
    guides = {"python", "console", "text", "toml", "yaml"}  # see test_guides.py
    code = re.compile(r"^    (import |from \w+ import|result\.|\w+ = kabc\.|kabc\.\w+\()", re.MULTILINE)
    for page in ALL:
        text = page.read_text(encoding="utf-8")
        followed = page.parent.name == "guides" or page.name == "gallery.md"
        fences = re.findall(r"^```([^\s{]*)[^\n]*\n.*?^```", text, re.DOTALL | re.MULTILINE)
        languages = {language for language in fences if language}  # what has none is a part of the site's own markup
        assert languages <= (guides if followed else {"python", "toml"}), f"{page.name} has {languages}"
        outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        assert code.findall(outside) == [], f"{page.name} shows Python that no test runs: fence it"


def test_settings_that_are_shown_can_be_read() -> None:
    blocks = [text for page in PAGES for text in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]
    assert blocks
    for text in blocks:
        Config.model_validate(tomllib.loads(text))
