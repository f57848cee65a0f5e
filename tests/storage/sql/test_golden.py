"""Stores of every released version open, and give what they held."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kabc.storage.opening import open_storage
from kabc.storage.sql.schema import VERSION
from tests.golden_store import FOLDER, ROWS

FILES = sorted(FOLDER.glob("schema-*.db"))


def test_there_is_a_store_of_this_version() -> None:
    assert f"schema-{VERSION}.db" in [path.name for path in FILES]


@pytest.mark.parametrize("golden", FILES, ids=lambda path: path.stem)
def test_an_old_store_opens_and_goes_on(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / "kabc.db"
    shutil.copyfile(golden, path)
    store = open_storage(path)
    study = store.load_study("nightly")
    assert (study.spec, study.limits) == ({"arms": list("abcdef"), "seed": 7}, {"max_samples": 100})
    assert (study.state, study.facts, study.answer) == ("paused", {"size": [None] * 6}, None)
    figures = store.summary(study.id)
    assert (figures.n_rounds, figures.n_samples, figures.n_paid) == (2, 18, 21)
    assert store.samples_per_arm(study.id) == {0: 4, 1: 4, 2: 4, 3: 2, 4: 2, 5: 2}
    assert {state: n for state, n in figures.tickets.items() if n} == {"done": 3, "leased": 2, "failed": 1}
    pairs = list(store.draws(study.id, 0, 1))
    assert [(ticket.round, ticket.arm) for ticket, _ in pairs] == [(0, n) for n in range(6)] + [
        (1, n) for n in range(3)
    ]
    for ticket, draw in pairs:
        rows = ROWS[ticket.arm]
        assert (draw.rows.dtype, repr(draw.rows.tolist())) == (rows.dtype, repr(rows.tolist()))
        assert (draw.worker, draw.started, draw.ended, draw.n_paid) == ("ann", 10.0, 11.5, 3 * ticket.round)
    assert [(draw.worker, draw.lease, draw.late) for _, draw in store.late_draws(study.id)] == [("bob", 1, True)] * 2
    assert store.deaths(study.id) == {0: 1}  # one worker, twice
    assert [note.kind for note in store.notes(study.id)] == [
        "lapsed", "superseded", "lapsed", "superseded", "failed", "block", "paused"
    ]  # fmt: skip
    assert [(one.name, one.facts) for one in store.workers(study.id)] == [("ann", {"host": "here"})]
    assert store.load_snapshot(study.id) == (0, b"\x00state\xff")
    has_tokens = golden.stem != "schema-1"  # they came with the second version
    assert [(one.label, one.scope, one.digest) for one in store.tokens()] == [("ann", "tell", "0" * 64)] * has_tokens
    store.set_state(study.id, "running", {})
    assert len(store.exchange(study.id, "cid", want=9).leased) == 2
    store.close()
