"""Real processes that write to one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kabc.storage.contract import NewTicket
from kabc.storage.opening import open_storage
from tests.processes import running

WRITERS = 32
TICKETS = 2 * int(os.environ.get("KABC_FUZZ", "4"))  # for each writer; `make soak` writes more

CODE = """
import sys, numpy as np
from kabc.storage.contract import Draw
from kabc.storage.opening import open_storage

store = open_storage(sys.argv[1])
name, done = sys.argv[2], 0
store.register_worker(1, name, {})
held = store.exchange(1, name, want=2).leased
while held:
    draws = [Draw(one.id, one.lease, name, np.full(one.count, one.piece), 0.0, 1.0) for one in held]
    answer = store.exchange(1, name, draws, want=2)
    done += answer.outcomes.count("done")
    store.add_note(1, "seen", {"worker": name})
    held = answer.leased
print(done)
store.close()
"""


@pytest.mark.slow
def test_32_writers_lose_nothing_count_nothing_twice_and_meet_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "kabc.db"
    store = open_storage(path)
    study = store.create_study("nightly", {}, {}).id
    asked = [NewTicket(arm, piece, piece, 3) for arm in range(4) for piece in range(TICKETS * WRITERS // 4)]
    store.open_round(study, 0, asked)
    outputs = [(tmp_path / f"out-{n}", tmp_path / f"err-{n}") for n in range(WRITERS)]
    with_all = []
    try:
        for number, (out, err) in enumerate(outputs):
            with out.open("w") as stdout, err.open("w") as stderr:
                process = running([sys.executable, "-c", CODE, path, f"w{number}"], stdout=stdout, stderr=stderr)
                with_all.append((process, process.__enter__()))
        codes = [one.wait() for _, one in with_all]
    finally:
        for process, _ in with_all:
            process.__exit__(None, None, None)
    assert [err.read_text() for _, err in outputs] == [""] * WRITERS
    assert codes == [0] * WRITERS
    assert sum(int(out.read_text()) for out, _ in outputs) == len(asked)
    drawn = [(ticket.arm, ticket.piece, draw.rows.tolist()) for ticket, draw in store.draws(study, 0, 0)]
    assert drawn == [(one.arm, one.piece, [one.piece] * 3) for one in asked]
    assert store.summary(study).n_samples == 3 * len(asked)
    assert {note.kind for note in store.notes(study)} == {"seen"}
    assert len(store.workers(study)) == WRITERS
    store.close()
