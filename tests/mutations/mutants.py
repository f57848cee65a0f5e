"""What a mutant is."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A change that breaks the guarantee, and the test that must fail for it."""

    module: str  # relative to src/kabc
    original: str  # occurs exactly once in the module
    mutated: str
    why: str  # what is wrong with it
    test: str  # "path/of/test_file.py::test_name", relative to tests

    def applied(self, source: str) -> str:
        """The source with this change; ValueError if the original text does not occur exactly once."""
        found = source.count(self.original)
        if found != 1:
            raise ValueError(f"{self.module}: {self.original!r} occurs {found} times; update tests/mutations")
        return source.replace(self.original, self.mutated)
