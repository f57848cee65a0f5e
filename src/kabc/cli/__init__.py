"""The command line: `kabc --help`."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Modules are loaded only when the command is known."""
    from kabc.cli.app import dispatch

    return dispatch(arguments)
