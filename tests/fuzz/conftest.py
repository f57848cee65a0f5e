from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.harness import said


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each fuzzer, over all its parts and all workers."""
    counts: dict[str, Counter[str]] = {}
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "fuzz":
                what, answered, refused, crashed = value
                counts.setdefault(what, Counter()).update(answered=answered, refused=refused, crashed=crashed)
    for what, ends in sorted(counts.items()):
        terminalreporter.write_line(said(what, ends))
