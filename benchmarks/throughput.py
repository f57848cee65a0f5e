"""Tickets per second through a store, beside trials per second of Optuna's ask/tell.

    python -m benchmarks.throughput [--workers 1,4,16] [--draws 0,1,10] [--stores sqlite,postgresql] [--rounds 3]

Needs `pip install optuna`. Worker processes lease tickets, sleep for as long as a draw takes, and hand in one number. A
trial of Optuna is `ask`, one `suggest_float`, the same sleep, `tell`. Nobody computes: the rounds are fixed, and Optuna
samples at random. Both stores are as durable as they can be: SQLite with a write-ahead log and synchronous=FULL (the
file of Optuna is switched to WAL by hand, time-out 60 s), PostgreSQL with its defaults. All of them take turns,
`--rounds` times; the table has the medians. "One by one" hands in each draw by itself, as Optuna does; "in batches" as
many as fill 0.15 s of drawing, as a worker of kabc does. The journal of Optuna is a file of its own kind, and the
fastest that it has; a torn line makes it unreadable (see rivals_optuna.py).
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.durable import pace
from benchmarks.durable.seen import versions
from tests.postgres import Server, new_database, running_server

Rate = Callable[[int, float, float], float]  # workers, seconds of a draw, seconds -> draws per second


def systems(store: str, home: Path, server: Server | None) -> dict[str, Rate]:
    """Each with a new database for each measurement."""
    number = iter(range(1_000_000))

    def place(kind: str) -> str:
        name = f"{kind}{next(number)}"
        return str(home / f"{name}.db") if server is None else new_database(server.url)

    found: dict[str, Rate] = {
        "kabc, one by one": lambda workers, draw, time: pace.ours(place("o"), workers, draw, time, 0.0),
        "kabc, in batches": lambda workers, draw, time: pace.ours(place("b"), workers, draw, time, 0.15),
        "Optuna": lambda workers, draw, time: pace.theirs(place("r"), workers, draw, time),
    }
    if store == "sqlite":
        found["Optuna, journal"] = lambda workers, draw, time: pace.theirs(
            str(home / f"{next(number)}.log"), workers, draw, time
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,4,16")
    parser.add_argument("--draws", default="0,1,10", help="milliseconds of a draw")
    parser.add_argument("--stores", default="sqlite,postgresql")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is stopped in any case
    cells = [(int(n), float(ms)) for n in given.workers.split(",") for ms in given.draws.split(",")]
    for store in given.stores.split(","):
        with tempfile.TemporaryDirectory(prefix="kabc-throughput-") as folder:
            if store == "sqlite":
                show(store, measured(systems(store, Path(folder), None), cells, given.seconds, given.rounds))
            else:
                with running_server(durable=True) as server:
                    rates = measured(systems(store, Path(folder), server), cells, given.seconds, given.rounds)
                    show(store, rates)
    print(versions("optuna", "kabc", "SQLAlchemy", "psycopg"))


def measured(
    rates: dict[str, Rate], cells: list[tuple[int, float]], seconds: float, rounds: int
) -> dict[tuple[int, float], dict[str, float]]:
    found = {}
    for workers, milliseconds in cells:
        seen: dict[str, list[float]] = {name: [] for name in rates}
        for _ in range(rounds):
            for name, rate in rates.items():
                seen[name].append(rate(workers, milliseconds / 1000, seconds))
        found[workers, milliseconds] = {name: statistics.median(each) for name, each in seen.items()}
    return found


def show(store: str, found: dict[tuple[int, float], dict[str, float]]) -> None:
    names = list(next(iter(found.values())))
    print(f"\n{store}: per second\n")
    theirs = [name for name in names if name.startswith("Optuna")]
    print("| workers | draw | " + " | ".join(names + [f"batches : {name}" for name in theirs]) + " |")
    print("|---" * (2 + len(names) + len(theirs)) + "|")
    for (workers, milliseconds), rates in found.items():
        cells = [f"{rates[name]:,.0f}" for name in names]
        cells += [f"{rates['kabc, in batches'] / rates[name]:,.1f}" for name in theirs]
        print(f"| {workers} | {milliseconds:g} ms | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
