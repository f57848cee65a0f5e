"""How a command was called."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kabc.results.values import Result


@dataclass(frozen=True)
class Call:
    """The words of the command line, and whether the process ends after this command."""

    words: tuple[str, ...] = ()
    last: bool = False

    def recorded(self, result: Result) -> Result:
        """The result with the command line in its origin; keys and passwords are hidden."""
        if result.origin is None or not self.words:
            return result
        from kabc.core.secrets import hide_words

        command = hide_words(shlex.join(["kabc", *map(hide_words, self.words)]))  # commands are words of their own
        return replace(result, origin=replace(result.origin, command=command))
