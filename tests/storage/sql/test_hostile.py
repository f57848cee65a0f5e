"""A store that somebody made in order to harm, or that is broken: one line, nothing runs, memory is bounded."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from kabc.storage.contract import Draw, Failure, NewTicket, Storage
from kabc.storage.errors import StorageError
from kabc.storage.opening import open_storage

SOAK = os.environ.get("KABC_FUZZ") == "100"  # all values in all columns, and a blob of a gigabyte


def a_store(path: Path) -> None:
    """One study with a bit of everything."""
    store = open_storage(path)
    study = store.create_study("nightly", {"seed": 1}, {"max_samples": 10}).id
    store.set_facts(study, {"size": [1]})
    store.register_worker(study, "ann", {"host": "here"})
    store.open_round(study, 0, [NewTicket(0, 0, 0, 4)])
    (told,) = store.exchange(study, "ann", want=1).leased
    store.exchange(study, "ann", [Draw(told.id, told.lease, "ann", np.arange(4.0), 0.0, 1.0)])
    store.open_round(study, 1, [NewTicket(arm, 0, 4, 4) for arm in range(4)])
    one, two, three = store.exchange(study, "ann", want=3).leased
    store.exchange(study, "ann", [Draw(one.id, one.lease, "ann", np.arange(4.0), 0.0, 1.0)])
    store.exchange(study, "ann", [Failure(two.id, two.lease, "ann", "no", final=False)])
    store.exchange(study, "ann", [Draw(two.id, two.lease, "ann", np.arange(4.0), 0.0, 1.0)])
    store.save_snapshot(study, 0, b"state")
    assert three.state == "leased"
    store.close()


def read_all(store: Storage) -> None:
    """Everything that a store can be asked."""
    for name in store.study_names():
        study = store.load_study(name).id
        store.summary(study)
        store.tickets(study, 0)
        store.tickets(study, 1)
        list(store.draws(study, 0, 9))
        list(store.late_draws(study))
        store.notes(study)
        store.workers(study)
        store.leases(study)
        store.deaths(study)
        store.load_snapshot(study)
        store.renew(study, "ann", {4: 1}, 60.0)
        store.bury(study, "ann", counted=True)
        store.exchange(study, "bob", want=9)
        store.wait(study, -1, 0.0)
        store.open_round(study, 2, [NewTicket(0, 0, 8, 4)])


TABLES = {
    "kabc_studies": [
        "name", "spec", "state", "created", "revision", "changed", "facts", "limits", "answer", "n_rounds", "latest",
        "counted",
    ],
    "kabc_tickets": [
        "round", "place", "arm", "piece", "start", "count", "state", "lease", "worker", "expires", "deaths", "n_paid",
    ],
    "kabc_draws": ["worker", "rows", "started", "ended"],
    "kabc_late": ["lease", "worker", "rows", "started", "ended", "n_paid"],
    "kabc_totals": ["arm", "n_samples", "n_paid"],
    "kabc_workers": ["name", "facts", "first_seen", "last_seen", "changes", "changed"],
    "kabc_notes": ["kind", "body", "written"],
    "kabc_snapshots": ["number", "content"],
}  # fmt: skip
VALUES: list[object] = [
    "<script>alert(1)</script>",
    "'; DROP TABLE kabc_studies; --",
    b"\x80\x04\x95cos\nsystem\n.",
    -1,
    2**62,
    1.5,
    float("inf"),
    '{"a": ' * 5000,
    "[1]",
    "\x1b[31m\n\n",
    "",
]


@pytest.mark.parametrize("table", TABLES)
def test_wrong_values_in_any_column_end_in_one_line(tmp_path: Path, table: str) -> None:
    good = tmp_path / "good.db"
    a_store(good)
    content = good.read_bytes()
    refused = 0
    for at, column in enumerate(TABLES[table]):
        for number, value in enumerate(VALUES if SOAK else VALUES[at % 3 :: 3]):
            path = tmp_path / f"{column}-{number}.db"
            path.write_bytes(content)
            with sqlite3.connect(path) as connection:
                connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = 1', (value,))
            connection.close()
            store = open_storage(path)
            try:
                read_all(store)
            except StorageError as error:
                refused += 1
                assert "\n" not in str(error), (column, value)  # noqa: PT017
                assert len(str(error)) < 500, (column, value)  # noqa: PT017
            finally:
                store.close()
            path.unlink()
    assert refused


BLOBS = [("kabc_draws", "rows"), ("kabc_late", "rows"), ("kabc_snapshots", "content"), ("kabc_notes", "body")]


@pytest.mark.parametrize(("table", "column"), BLOBS)
def test_a_large_blob_is_not_read(tmp_path: Path, table: str, column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 999_000_000
    if not SOAK:
        size = 2**25
        monkeypatch.setattr("kabc.storage.sql.rounds.MOST_BYTES", 2**20)
        monkeypatch.setattr("kabc.storage.sql.sqlite.MOST_BYTES", 2**20)
    path = tmp_path / "kabc.db"
    a_store(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"UPDATE {table} SET {column} = zeroblob({size})")
    connection.close()
    store = open_storage(path)
    tracemalloc.start()
    with pytest.raises(StorageError) as error:
        read_all(store)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    store.close()
    assert "\n" not in str(error.value)
    assert largest < size / 4


def test_triggers_and_views_of_a_hostile_file_reach_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kabc.db"
    a_store(path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER evil AFTER INSERT ON kabc_notes BEGIN SELECT load_extension('/tmp/evil.so'); END"
        )
    connection.close()
    store = open_storage(path)
    with pytest.raises(StorageError) as error:
        store.add_note(1, "seen", {})
    assert "\n" not in str(error.value)
    store.close()
