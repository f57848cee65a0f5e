"""docs/cli.md says what the command line does."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from kabc.cli import exits
from kabc.cli.app import app
from kabc.config import models as config
from kabc.config.overlay import configured

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_file_on_the_page_is_a_valid_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    study = tmp_path / "study.toml"
    study.write_text(block)
    source = configured(study, {}).source
    assert isinstance(source, config.Http)
    assert list(source.endpoints) == ["alpha", "beta"]


def test_every_key_of_a_file_is_on_the_page() -> None:
    for name, model in config.SECTIONS.items():
        (row,) = re.findall(rf"\| `\[{name}\]` \|(.*)\|", PAGE)
        keys = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row))
        assert keys == list(model.model_fields), name
    (row,) = re.findall(r"\| top \|(.*)\|", PAGE)
    assert re.findall(r"`(\w+)`", row) == [key for key in config.Config.model_fields if key not in config.SECTIONS]


def test_every_command_and_option_is_on_the_page() -> None:
    group = typer.main.get_command(app)
    commands = group.commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f"`kabc {name}" in PAGE
        options = [option for param in command.params for option in param.opts if option.startswith("--")]
        assert [option for option in options if option not in PAGE] == []


def test_every_exit_code_is_on_the_page() -> None:
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)} == codes
