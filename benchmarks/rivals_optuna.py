"""Optuna and kabc side by side on the accidents that both can have.

    python -m benchmarks.rivals_optuna [--torn 100] [--writers 32] [--each 20]

Needs `pip install optuna`. A trial of Optuna (`ask`, one `suggest_float`, `tell`) stands beside a ticket of kabc
(leased, handed in). Optuna has the settings that were best for it: a time-out of 60 s, the SQLite file switched to WAL
by hand, heartbeats, failed trials done again. The rows say where other settings are shown too.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.durable import ours, theirs
from benchmarks.durable.seen import table, versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torn", type=int, default=100, help="how many torn writes of each store")
    parser.add_argument("--writers", type=int, default=32, help="processes that write at once")
    parser.add_argument("--each", type=int, default=20, help="trials or tickets of each writer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kabc-rivals-") as folder:
        rows = []
        for beside in (theirs, ours):
            home = Path(folder, beside.__name__.rsplit(".", 1)[-1])
            home.mkdir()
            rows += beside.torn_writes(home, given.torn)
            rows += beside.late(home)
            rows += beside.dead_worker(home)
            rows += beside.writers(home, given.writers, given.each)
    print(table(sorted(rows, key=lambda row: row.test)))
    print(versions("optuna", "kabc", "SQLAlchemy"))


if __name__ == "__main__":
    main()
