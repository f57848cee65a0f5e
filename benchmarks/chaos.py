"""Studies under accidents: each one ends with exactly what the undisturbed run gives, or the table says what did not.

    python -m benchmarks.chaos [--kills 200] [--workers 1,4] [--stores sqlite,postgresql] [--only kills,...] [--seed 0]

`--kills` are in all, spread over workers, stores, and two kinds of moments: any time of the run, and between any two
statements of a transaction. After a kill, the same line is run again; nothing else is done. A run is right if its asks,
its samples, its evidence and its labels are those of the undisturbed one, each draw that counts was made by an arm, and
no ticket has two. The other accidents: torn (the write-ahead log is cut after a kill), full (disk), read-only (file),
frozen (SIGSTOP beyond the lease), clocks (an hour apart), writers (32 at once), restarts (of PostgreSQL, ten times).
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.durable import accidents
from benchmarks.durable.kills import Bench, kills, whole
from benchmarks.durable.restarts import restarts
from benchmarks.durable.seen import Seen, table, versions
from tests.postgres import Server, new_database, running_server

TESTS = ("kills", "torn", "full", "read-only", "frozen", "clocks", "writers", "restarts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", default="1,4")
    parser.add_argument("--stores", default="sqlite,postgresql")
    parser.add_argument("--only", default=",".join(TESTS), help=f"of {', '.join(TESTS)}")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is stopped in any case
    counts, stores, only = [int(n) for n in given.workers.split(",")], given.stores.split(","), given.only.split(",")
    each = -(-given.kills // (len(counts) * len(stores)))
    rows: list[Seen] = []
    with ExitStack() as stack:
        for store in stores:
            server = stack.enter_context(running_server(durable=True)) if store == "postgresql" else None
            where = "SQLite" if server is None else "PostgreSQL"
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kabc-chaos-")))
            for row in tests(home, where, server, counts, each, only, given.seed):
                print(f"{row.test}, {row.where}: {row.right} of {row.tried}", flush=True)
                rows.append(row)
    print()
    print(table(rows))
    print(versions("kabc", "SQLAlchemy", "psycopg"))


def bench(home: Path, server: Server | None) -> Bench:
    """SQLite: a file for each study. PostgreSQL: one database."""
    home.chmod(0o755)
    url = None if server is None else new_database(server.url)
    return Bench(home, lambda name: str(home / f"{name}.db") if url is None else url)


def tests(
    home: Path, where: str, server: Server | None, counts: list[int], each: int, only: list[str], seed: int
) -> Iterator[Seen]:
    """The rows of one store."""
    place = bench(home, server)
    right = whole(place)
    sqlite: dict[str, Callable[[], Seen]] = {
        "torn": lambda: accidents.torn_logs(place, right, 20, seed),
        "full": lambda: accidents.full_disk(place, right, 5),
        "read-only": lambda: accidents.read_only(place, right),
    }
    both: dict[str, Callable[[], Seen]] = {
        "frozen": lambda: accidents.frozen(place, right, where, 2),
        "clocks": lambda: accidents.two_clocks(place, right, where),
        "writers": lambda: accidents.many_writers(place, right, where, 32),
    }
    if "kills" in only:
        for workers in counts:
            yield from kills(place, right, where, workers, each, seed + workers)
    for name, test in ({**sqlite, **both} if server is None else both).items():
        if name in only:
            yield test()
    if server is not None and "restarts" in only:
        yield restarts(accidents.slower(place), right, server, 2, 10, seed)


if __name__ == "__main__":
    main()
