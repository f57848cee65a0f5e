"""What people should know before a run begins, on standard error."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from kabc.config.consent import shown_commands
from kabc.config.models import Config


def show_commands(config: Config, file: Path | None, *, quiet: bool) -> None:
    """Show the commands that a configuration file runs."""
    if quiet or file is None or config.commands is None:
        return
    with suppress(OSError):  # nobody is there to read it
        print("\n  ".join([f"commands of {file}:", *shown_commands(config.commands)]), file=sys.stderr)
