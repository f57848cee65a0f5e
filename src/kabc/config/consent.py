"""What a configuration file may do: run, send, write and ask, if it is the user's own, or if the user says so."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kabc.config.errors import ConfigError
from kabc.config.models import Commands, Config
from kabc.core.secrets import hide_url, hide_words

_WHAT_RUNS = ("run", "env", "cwd")  # keys of [commands] that decide what is run
_WHAT_IS_WRITTEN = ("save", "report", "storage")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_MOST_SHOWN = 20  # commands


def doubt_about(file: Path, opened: int) -> str:
    """Why others may have written a file. Empty: it is owned by the user and writable only by the user.

    `opened` is the descriptor it was read from: the path may mean another file by now.
    """
    facts = os.fstat(opened)
    if not stat.S_ISREG(facts.st_mode):
        return "is not an ordinary file"
    if not hasattr(os, "getuid") or facts.st_uid != os.getuid():
        return "does not belong to you"
    if facts.st_mode & stat.S_IWOTH or (facts.st_mode & stat.S_IWGRP and _has_others(facts.st_gid)):
        return "can be written by others (chmod go-w changes that)"
    shared = [folder for folder in file.resolve().parents if _for_all(folder)]
    return f"is in {shared[0]}, where everybody may replace it" if shared else ""


def _has_others(group: int) -> bool:
    """Whether others are in a group. Many systems give each user a group of his own, and let it write his files."""
    import grp
    import pwd

    try:
        user, named = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return True
    mine = group == user.pw_gid and named.gr_name == user.pw_name
    return not mine or not set(named.gr_mem) <= {user.pw_name}


def _for_all(folder: Path) -> bool:
    """Whether anybody may replace what is in a folder. With the sticky bit, only the owner of a file may."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def expect_consent(config: Config, own: Mapping[str, Any], file: Path, doubt: str) -> None:
    """Refuse what a file that others may have written would do. `own` is what the file says and no option replaces."""
    does = list(_doubtful(config, own)) if doubt else []
    if does:
        raise ConfigError(
            f"this configuration {'; '.join(does)}; {file} {doubt}, so read them, and pass --allow-commands"
        )


def _doubtful(config: Config, own: Mapping[str, Any]) -> Iterator[str]:
    """What is run, sent, written and asked because a file says so. Reading a table is none of these."""
    if config.commands is not None and any(key in own["commands"] for key in _WHAT_RUNS):
        yield f"runs commands: {', '.join(shown_commands(config.commands))}"
    if config.http is not None:
        named = dict.fromkeys(_VARIABLE.findall(json.dumps(own["http"], default=str)))
        if named:
            yield f"sends the variables {', '.join(map(repr, named))}"
        if isinstance(config.http.prompts, str):
            yield f"sends lines of {config.http.prompts!r}"
    if config.sql is not None and any(key in own["sql"] for key in ("query", "database")):
        yield f"asks the database {hide_url(config.sql.database)!r}: {hide_words(config.sql.query)!r}"
    written = [f"{hide_url(own[key])!r} ({key})" for key in _WHAT_IS_WRITTEN if key in own]
    if written:
        yield f"writes {', '.join(written)}"


def shown_commands(commands: Commands) -> list[str]:
    """The commands, each on one line and whole: nothing of them is hidden."""
    shown = [f"{name!r}: {command!r}" for name, command in commands.run.items()]
    more = len(shown) - _MOST_SHOWN
    names = ", ".join(map(repr, commands.env or ()))  # only the names: the values may be keys
    with_names = [f"with the variables {names}"] if names else []
    return shown[:_MOST_SHOWN] + ([f"and {more} more in the file"] if more > 0 else []) + with_names
