"""Commands of a file are shown before they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call

SHOWN = "commands of {}:\n  'a': 'echo $KABC_SEED'\n  'b': 'echo -$KABC_SEED'\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text("clusters = 2\nseed = 0\n[commands.run]\na = 'echo $KABC_SEED'\nb = 'echo -$KABC_SEED'\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("command", ["run", "plan"])
def test_commands_of_a_file_are_shown_once_and_not_if_quiet(kabc: Call, study: Path, command: str) -> None:
    answer = kabc(command, "--config", study, "--json")
    assert answer.code == 0
    assert answer.err == SHOWN.format(study)
    assert kabc(command, "--config", study, "--json", "--quiet").err == ""


@pytest.mark.parametrize("command", ["run", "plan"])
def test_commands_of_a_file_that_others_can_write_are_not_run(kabc: Call, study: Path, command: str) -> None:
    flag = study.with_name("was-run")
    study.write_text(f"clusters = 2\n[commands.run]\na = 'touch {flag}; echo 1'\nb = 'echo 2'\n")
    study.chmod(0o666)
    answer = kabc(command, "--config", study)
    assert answer.code == 2
    assert answer.err.startswith("kabc: error: this configuration runs commands: 'a': 'touch ")
    assert answer.err.endswith("so read them, and pass --allow-commands\n")
    assert not flag.exists()


def test_with_the_word_they_are_shown_and_run(kabc: Call, study: Path) -> None:
    study.chmod(0o666)
    answer = kabc("run", "--config", study, "--allow-commands")
    assert answer.code == 0
    assert answer.err == SHOWN.format(study)


def test_commands_of_the_command_line_are_not_shown(kabc: Call) -> None:
    words = ["--command", "a=echo $KABC_SEED", "--command", "b=echo -$KABC_SEED", "--clusters", "2", "--seed", "0"]
    assert kabc("run", *words).err == ""
