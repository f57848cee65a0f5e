"""Every Python block of the README and the guides runs as it stands; commands and settings can be read."""

from __future__ import annotations

import io
import re
import shlex
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer.main

from kabc.cli import main
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


class Prints:
    """What a block prints, beside the comment on the line of each print."""

    def __init__(self, block: str) -> None:
        tokens = tokenize.generate_tokens(io.StringIO(block).readline)
        self._comments = {at.start[0]: at.string for at in tokens if at.type == tokenize.COMMENT}
        self.false: list[str] = []

    def __call__(self, *values: object) -> None:
        comment = self._comments.get(sys._getframe(1).f_lineno)
        printed = " ".join(str(value) for value in values)
        if comment is not None and not bears_out(printed, comment):
            self.false.append(f"{comment}\nbut it prints\n{printed}")


def bears_out(printed: str, comment: str) -> bool:
    """A comment beside a print is what it prints, or the first line of it; "..." stands for anything."""
    pattern = re.escape(comment.removeprefix("# ")).replace(re.escape("..."), ".*")
    return any(re.fullmatch(pattern, " ".join(text.split())) for text in (printed, printed.partition("\n")[0]))


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs_and_prints_what_its_comments_say(block: str) -> None:
    prints = Prints(block)
    exec(compile(block, "<docs>", "exec"), {"print": prints})
    assert not prints.false, prints.false[0]


def test_a_comment_that_is_not_what_is_printed_is_found_out() -> None:
    assert bears_out("2 groups (46 samples)\n  group 1", "# 2 groups (... samples)")
    assert bears_out("[[0 1]\n [1 0]]", "# [[0 1] [1 0]]")
    assert not bears_out("2 groups (46 samples)", "# 2 groups")
    prints = Prints("print(1)  # 2\n")
    exec("print(1)  # 2\n", {"print": prints})
    assert prints.false


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


def test_the_plan_that_is_shown_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(
        r"^    (kabc plan --gap .*)\n\n((?:    .+\n)+)", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.M
    )
    assert shown is not None
    assert main([*shlex.split(shown[1])[1:], "--seed", "0"]) == 0  # any seed: two normal laws are assumed
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        line.strip() for line in shown[2].splitlines()
    ]


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
