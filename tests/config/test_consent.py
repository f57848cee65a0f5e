"""Commands of a file are run if it is the user's own, or if the user says so."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

import pytest

from kabc.config import consent
from kabc.config.errors import ConfigError
from kabc.config.models import Commands
from kabc.config.overlay import configured

COMMANDS = "[commands.run]\na = 'echo 1'\nb = ['echo', '2']\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A file of one's own."""
    file = tmp_path / "study.toml"
    file.write_text(COMMANDS)
    file.chmod(0o600)
    return file


def refused(file: Path, **options: object) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(file, options)
    return str(caught.value)


def test_commands_of_an_own_file_need_no_word(study: Path) -> None:
    assert configured(study, {}).commands == Commands(run={"a": "echo 1", "b": ["echo", "2"]})


@pytest.fixture(autouse=True)
def shared_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else is in every group."""
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("people", "x", gid, ["me", "you"])))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_needs_a_word(study: Path, mode: int) -> None:
    study.chmod(mode)
    assert refused(study) == (
        f"this configuration runs commands: 'a': 'echo 1', 'b': ['echo', '2']; {study} can be written by others "
        "(chmod go-w changes that), so read them, and pass --allow-commands"
    )
    assert configured(study, {"allow_commands": True}).commands is not None
    assert "pass --allow-commands" in refused(study, allow_commands=False)


@pytest.mark.parametrize(("name", "members", "alone"), [(True, True, True), (True, False, True), (False, False, False)])
def test_the_group_of_one_user_is_not_others(
    study: Path, monkeypatch: pytest.MonkeyPatch, name: bool, members: bool, alone: bool
) -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    group = (me if name else "people", "x", study.stat().st_gid, [me] if members else [])
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(group))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd((me, "x", uid, group[2], "", "", "")))
    study.chmod(0o660)
    if alone:
        assert configured(study, {}).commands is not None
    else:
        assert "can be written by others" in refused(study)
    study.chmod(0o662)
    assert "can be written by others" in refused(study)


def test_a_file_of_another_user_needs_a_word(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert f"{study} does not belong to you" in refused(study)


def test_a_file_where_everybody_may_replace_it_needs_a_word(study: Path) -> None:
    study.parent.chmod(0o777)
    assert f"{study} is in {study.parent}, where everybody may replace it" in refused(study)
    study.parent.chmod(0o1777)  # as /tmp
    assert configured(study, {}).commands is not None


def test_a_pipe_needs_a_word() -> None:
    read, write = os.pipe()
    os.write(write, COMMANDS.encode())
    os.close(write)
    try:
        assert "is not an ordinary file" in refused(Path(f"/dev/fd/{read}"))
    finally:
        os.close(read)


@pytest.mark.parametrize("section", ["env = {PATH = '.'}", "cwd = '/'"])
def test_what_changes_the_commands_of_the_user_needs_a_word(study: Path, section: str) -> None:
    study.write_text(f"[commands]\n{section}\n")
    study.chmod(0o666)
    assert "'x': 'true'" in refused(study, run={"x": "true"})


def test_a_file_that_runs_nothing_needs_no_word(study: Path) -> None:
    study.chmod(0o666)
    study.write_text("[commands]\nwarmup = 2\n")
    assert configured(study, {"run": {"x": "true"}}).commands is not None
    study.write_text(COMMANDS)
    assert configured(study, {"path": "x.csv", "arm": "a"}).commands is None  # its commands are not run
    study.write_text("[table]\npath = 'x.csv'\narm = 'a'\n")
    assert configured(study, {}).commands is None


def test_a_file_cannot_give_the_word_itself(study: Path) -> None:
    study.write_text("allow_commands = true\n" + COMMANDS)
    study.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert "allow_commands is not a known key" in refused(study)


def test_commands_are_shown_whole_and_on_one_line_each() -> None:
    hidden = "echo 1" + " " * 500 + "\n\x1b[8mrm -rf \u202e~"
    (line,) = consent.shown_commands(Commands(run={"a\nb": hidden}))
    assert line == f"'a\\nb': 'echo 1{' ' * 500}\\n\\x1b[8mrm -rf \\u202e~'"


def test_of_variables_only_the_names_are_shown() -> None:
    assert consent.shown_commands(Commands(run={"a": "x"}, env={"KEY": "secret"})) == [
        "'a': 'x'",
        "with the variables 'KEY'",
    ]


def test_of_many_commands_some_are_shown() -> None:
    lines = consent.shown_commands(Commands(run={f"arm {i}": "x" for i in range(50)}))
    assert len(lines) == 21
    assert lines[-1] == "and 30 more in the file"
