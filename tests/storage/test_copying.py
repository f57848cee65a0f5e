"""A copy of a study is the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.storage.contract import Draw, NewTicket, Storage
from kabc.storage.errors import StorageError, StudyExistsError
from kabc.storage.opening import open_storage
from kabc.storage.sql import copying
from kabc.storage.sql.copying import copy_study
from kabc.storage.sql.store import SqlStorage
from tests.cli import kept
from tests.postgres import new_database


def a_store(path: Path) -> SqlStorage:
    store = open_storage(str(path))
    assert isinstance(store, SqlStorage)
    return store


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[SqlStorage, SqlStorage]]:
    """Two files; the second one has another study already, so that ids differ."""
    source, target = a_store(tmp_path / "source.db"), a_store(tmp_path / "target.db")
    kept.made(target, "other", rounds=1)
    yield source, target
    source.close()
    target.close()


def whole(storage: Storage, name: str) -> dict[str, Any]:
    """All that a store knows of a study, without ids."""
    study = storage.load_study(name)
    seen = storage.summary(study.id)

    def drawn(pairs: Any) -> list[Any]:
        return [(replace(t, id=0), replace(d, ticket=0, rows=0), d.rows.tolist()) for t, d in pairs]

    return {
        "study": replace(study, id=0),
        "summary": replace(seen, study=None),  # type: ignore[arg-type]
        "draws": drawn(storage.draws(study.id, 0, 99)),
        "late": drawn(storage.late_draws(study.id)),
        "notes": [replace(note, id=0, body={**note.body, "ticket": 0}) for note in storage.notes(study.id)],
        "workers": storage.workers(study.id),
        "deaths": storage.deaths(study.id),
    }


def eventful(store: Storage) -> int:
    """A study with a late draw, a death, notes, two workers and an open round."""
    study = kept.made(store, limits={"max_samples": 500})
    store.register_worker(study.id, "w-2", {"host": "there"})
    store.open_round(study.id, 3, [NewTicket(1, 0, 6, 3), NewTicket(0, 0, 6, 3)])
    (lost,) = store.exchange(study.id, "w-1", want=1).leased
    store.bury(study.id, "w-1", counted=True)
    (taken,) = store.exchange(study.id, "w-2", want=1).leased
    draw = Draw(lost.id, lost.lease, "w-1", np.full(3, -1.0), kept.STARTED, kept.STARTED)
    store.exchange(study.id, "w-1", [draw])
    store.exchange(study.id, "w-2", [replace(draw, lease=taken.lease, worker="w-2")])
    return study.id


def test_a_copy_has_everything_as_it_was(
    stores: tuple[SqlStorage, SqlStorage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_AT_ONCE", 3)  # several pages of everything
    source, target = stores
    study = eventful(source)
    told: list[int] = []
    copy_study(source, study, target, "nightly", told.append)
    assert whole(target, "nightly") == whole(source, "nightly")
    assert told[-1] == 21
    assert target.study_names() == ["other", "nightly"]
    copy_study(target, target.load_study("nightly").id, source, "again")
    copied, first = whole(source, "again"), whole(source, "nightly")
    assert {**copied, "study": 0} == {**first, "study": 0}


def test_what_is_leased_is_open_in_the_copy_and_keeps_its_number(stores: tuple[SqlStorage, SqlStorage]) -> None:
    source, target = stores
    study = eventful(source)
    (held,) = source.exchange(study, "w-2", want=1).leased
    copy_study(source, study, target, "nightly")
    copy = target.load_study("nightly").id
    (ticket,) = [one for one in target.tickets(copy, 3) if one.state != "done"]
    assert (ticket.state, ticket.lease) == ("open", held.lease)
    (again,) = target.exchange(copy, "w-9", want=1).leased
    assert again.lease == held.lease + 1
    assert [one.id for one in source.leases(study)] == [held.id]  # the source goes on


def test_a_name_that_is_taken_is_refused_and_nothing_is_copied(stores: tuple[SqlStorage, SqlStorage]) -> None:
    source, target = stores
    before = whole(target, "other")
    with pytest.raises(StudyExistsError, match="there is already a study 'other'"):
        copy_study(source, eventful(source), target, "other")
    assert whole(target, "other") == before


def test_a_copy_is_there_whole_or_not_at_all(stores: tuple[SqlStorage, SqlStorage]) -> None:
    source, target = stores

    def interrupted(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_study(source, eventful(source), target, "nightly", interrupted)
    assert target.study_names() == ["other"]
    with pytest.raises(StorageError, match="study number 99"):
        copy_study(source, 99, target, "nightly")


def test_a_study_goes_to_a_server_and_back_unchanged(stores: tuple[SqlStorage, SqlStorage], postgres: str) -> None:
    source, target = stores
    study = eventful(source)
    server = open_storage(new_database(postgres))
    assert isinstance(server, SqlStorage)
    copy_study(source, study, server, "nightly")
    copy_study(server, server.load_study("nightly").id, target, "nightly")
    assert whole(server, "nightly") == whole(target, "nightly") == whole(source, "nightly")
    server.close()
