"""No test rolls dice: a run without a seed ends, unless the test is marked `fresh_seed`.

Python loads this file at the start of every process that tests start, as conftest.py puts its folder on PYTHONPATH. The
tests themselves load it there. kabc and numpy ask one function for a seed that nobody has chosen.
"""

from __future__ import annotations

import os
import secrets
import sys

REFUSED = "TESTS_REFUSE_FRESH_SEEDS"  # set but while a test runs that is marked

_draw = secrets.randbits


class FreshSeedError(BaseException):
    """A test drew a seed. It is no Exception: code under test must not catch it."""


def _drawn(k: int) -> int:
    """The bits, for whom it is no test: for libraries that are being loaded, too."""
    caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
    if REFUSED in os.environ and caller in ("__main__", "kabc", "tests"):
        raise FreshSeedError(
            "a fresh seed is drawn, so this test would roll dice; give seed= or --seed, or mark it "
            "@pytest.mark.fresh_seed if fresh seeds are what it is about"
        )
    return _draw(k)


if _draw.__name__ != _drawn.__name__:  # not loaded yet under another name
    secrets.randbits = _drawn  # numpy takes it from here when it is loaded
