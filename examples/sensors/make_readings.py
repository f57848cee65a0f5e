"""Readings of eight analysers, as readings.csv and readings.db: python examples/sensors/make_readings.py.

The readings are real: chemical analyses of 178 wines of three cultivars. They come with kabc; src/kabc/data/README.md
names the source. The wines of each cultivar go to two or three analysers at random. So two analysers are the same
exactly when they have the same cultivar.
"""

from __future__ import annotations

import csv
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path

ANALYSERS = {"1": ("A2", "A5", "A7"), "2": ("A1", "A4", "A8"), "3": ("A3", "A6")}  # cultivar -> its analysers


def main() -> None:
    """Write both files into the current folder."""
    with files("kabc").joinpath("data/wine.csv").open(encoding="utf-8") as file:
        (_, *columns), *wines = csv.reader(file)
    rng = random.Random(0)
    rng.shuffle(wines)
    turn = dict.fromkeys(ANALYSERS, 0)
    rows = []
    for cultivar, *values in wines:
        place = ANALYSERS[cultivar]
        rows.append([place[turn[cultivar] % len(place)], *values])
        turn[cultivar] += 1
    header = ["analyser", *columns]
    write_csv(header, rows)
    write_sqlite(header, rows)
    print(f"{len(rows)} readings of 8 analysers, {len(columns)} values each: readings.csv, readings.db")


def write_csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write the readings as a CSV file."""
    with Path("readings.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def write_sqlite(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write the readings as a table of an SQLite database."""
    columns = ", ".join([f"{header[0]} text", *(f"{name} real" for name in header[1:])])
    with closing(sqlite3.connect("readings.db")) as database, database:
        database.execute("drop table if exists readings")
        database.execute(f"create table readings ({columns})")
        database.executemany(f"insert into readings values ({', '.join('?' * len(header))})", rows)


if __name__ == "__main__":
    main()
