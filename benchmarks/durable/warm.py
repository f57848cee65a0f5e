"""Loading this runs a small study: the processes that are forked afterwards have loaded all that one needs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.durable.subject import run

with tempfile.TemporaryDirectory() as folder:
    run(str(Path(folder, "warm.db")), "warm", Path(folder, "calls"), 0.0)
