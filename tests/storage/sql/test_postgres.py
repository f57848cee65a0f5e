from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest
from sqlalchemy import Connection, select
from sqlalchemy.exc import OperationalError

from kabc.storage.contract import Draw, NewTicket, Storage
from kabc.storage.errors import StorageError, StoreAwayError
from kabc.storage.opening import open_storage
from kabc.storage.sql import tables
from kabc.storage.sql.store import SqlStorage
from tests.postgres import PASSWORD, Server, new_database, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that a test may stop."""
    with running_server() as one:
        yield one


def worked(store: Storage, study: int, name: str) -> int:
    """Draws all that there is; says how many draws it handed in."""
    done, held = 0, store.exchange(study, name, want=2).leased
    while held:
        draws = [Draw(one.id, one.lease, name, np.full(one.count, one.piece), 0.0, 1.0) for one in held]
        time.sleep(0.01)
        answer = store.exchange(study, name, draws, want=2)
        done += answer.outcomes.count("done")
        held = answer.leased
    return done


def test_a_store_that_nobody_closes_leaves_no_connection_open(server: Server) -> None:
    url = new_database(server.url)
    store = open_storage(url)
    store.create_study("nightly", {}, {})
    del store
    gc.collect()
    with psycopg.connect(url) as connection:
        open_now = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kabc' AND datname = current_database()"
        )
        for _ in range(100):  # the server hears of it a little later
            connection.rollback()
            (n,) = connection.execute(open_now).fetchone() or (None,)
            if n == 0:
                break
            time.sleep(0.05)
    assert n == 0


@pytest.mark.slow
def test_a_server_that_crashes_again_and_again_loses_nothing_and_counts_nothing_twice(server: Server) -> None:
    url = new_database(server.url)
    store = open_storage(url)
    study = store.create_study("nightly", {}, {}).id
    restarts = 10 if os.environ.get("KABC_FUZZ") == "100" else 3
    asked = [NewTicket(0, piece, piece, 2) for piece in range(200 * restarts)]
    store.open_round(study, 0, asked)
    done: list[int] = []
    stores = [open_storage(url) for _ in range(3)]
    threads = [
        threading.Thread(target=lambda at=at, one=one: done.append(worked(one, study, f"w{at}")))
        for at, one in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for _ in range(restarts):
        time.sleep(0.4)
        server.restart()
    for thread in threads:
        thread.join()
    assert sum(done) == len(asked)
    assert [draw.rows.tolist() for _, draw in store.draws(study, 0, 0)] == [[one.piece] * 2 for one in asked]
    assert store.summary(study).n_samples == 2 * len(asked)
    assert {one.lease for one in store.tickets(study, 0)} == {1}  # no lease was lost with its answer
    assert store.notes(study) == []
    for one in (store, *stores):
        one.close()


def test_a_call_whose_answer_was_lost_is_made_once(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = new_database(postgres)
    store = open_storage(url)
    assert isinstance(store, SqlStorage)
    home = store._home
    real = home.transaction
    lost: list[bool] = []

    @contextmanager
    def losing(*, write: bool) -> Iterator[Connection]:
        """Commits, and then breaks as if the answer did not come: every second time."""
        with real(write=write) as connection:
            yield connection
        if write:
            lost.append(not (lost and lost[-1]))
            if lost[-1]:
                raise OperationalError("", {}, psycopg.OperationalError("the connection is lost"))

    monkeypatch.setattr(home, "transaction", losing)
    study = store.create_study("nightly", {}, {}).id
    store.open_round(study, 0, [NewTicket(arm, 0, 0, 1) for arm in range(6)])
    store.register_worker(study, "ann", {})
    held = store.exchange(study, "ann", want=3).leased
    assert [one.arm for one in held] == [0, 1, 2]
    answer = store.exchange(
        study, "ann", [Draw(one.id, one.lease, "ann", np.zeros(1), 0.0, 1.0) for one in held], want=2
    )
    assert answer.outcomes == ("done",) * 3
    assert [one.arm for one in answer.leased] == [3, 4]
    assert [one.state for one in store.tickets(study, 0)] == ["done"] * 3 + ["leased"] * 2 + ["open"]
    store.add_note(study, "seen", {})
    store.set_limits(study, {"max_samples": 9}, {})
    store.set_state(study, "paused", {})
    assert [note.kind for note in store.notes(study)] == ["seen", "limits", "paused"]
    assert lost.count(True) >= 8
    store.close()


def test_a_server_that_stays_away_is_said_in_one_line_and_meanwhile(server: Server) -> None:
    store = open_storage(new_database(server.url))
    assert isinstance(store, SqlStorage)
    store._patience = 3.0
    said: list[str] = []
    store.say = said.append
    server.stop()
    try:
        with pytest.raises(StoreAwayError, match="start the server, or check host and port") as error:
            store.study_names()
    finally:
        server.start()
    assert "\n" not in str(error.value)
    assert PASSWORD not in str(error.value)
    assert any("does not answer; trying again for" in one for one in said)
    assert store.study_names() == []
    store.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((PASSWORD, "wrong-word"), "check the user and the password"),
        (("/postgres", "/nowhere"), "make the database and the user first"),
        (("@127.0.0.1", "@no-such-host.invalid"), "check the name of the host"),
    ],
)
def test_a_server_that_cannot_be_used_is_said_in_one_line_without_the_password(
    postgres: str, change: tuple[str, str], said: str
) -> None:
    url = postgres[::-1].replace(change[0][::-1], change[1][::-1], 1)[::-1]
    with pytest.raises(StorageError, match=said) as error:
        open_storage(url)
    text = str(error.value)
    assert "\n" not in text and "wrong-word" not in text and PASSWORD not in text
    assert ":***@" in text


def test_a_port_where_nobody_listens_is_said_at_once() -> None:
    with pytest.raises(StorageError, match="start the server, or check host and port"):
        open_storage("postgresql://me:hidden-word@127.0.0.1:1/x")


def test_the_url_of_a_store_has_no_password(postgres: str) -> None:
    store = open_storage(new_database(postgres))
    assert PASSWORD not in store.url
    assert store.url.startswith("postgresql://postgres:***@127.0.0.1:")
    store.close()


def test_a_forked_process_has_connections_of_its_own(postgres: str) -> None:
    store = open_storage(new_database(postgres))
    study = store.create_study("nightly", {}, {}).id
    for _ in range(3):
        child = os.fork()
        if child == 0:
            store.add_note(study, "child", {})
            os._exit(0)
        store.add_note(study, "parent", {})
        assert os.waitpid(child, 0)[1] == 0
        store.add_note(study, "parent", {})
    kinds = [note.kind for note in store.notes(study)]
    assert (kinds.count("child"), kinds.count("parent")) == (3, 6)
    store.close()


def test_what_is_acknowledged_is_durable_also_where_the_server_is_set_up_otherwise(postgres: str) -> None:
    url = new_database(postgres)
    with psycopg.connect(url, autocommit=True) as connection:
        name = url.rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    store = open_storage(url)
    with store._home.transaction(write=True) as used:  # type: ignore[attr-defined]
        assert used.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    store.close()


def test_a_process_that_is_frozen_in_a_transaction_holds_up_others_for_a_while_only(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database(postgres)
    open_storage(url).close()  # its tables are made
    monkeypatch.setattr("kabc.storage.sql.postgres._IDLE_SECONDS", 3)
    frozen, other = open_storage(url), open_storage(url)
    study = frozen.create_study("nightly", {}, {}).id
    tries = 0

    def work(connection: Connection) -> str:
        nonlocal tries
        tries += 1
        connection.execute(select(tables.studies).with_for_update())
        if tries == 1:  # as if the process stood still meanwhile
            other.set_state(study, "paused", {})
        return str(connection.execute(select(tables.studies.c.state)).scalar_one())

    assert frozen._write(work) == "paused"  # type: ignore[attr-defined]
    assert tries == 2
    frozen.close()
    other.close()
