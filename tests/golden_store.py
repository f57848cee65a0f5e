"""Makes the store that later versions must be able to open: `python -m tests.golden_store`.

Run it once for each version of the schema. A file that is there is never made again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kabc.storage.contract import Draw, Failure, NewTicket, Storage
from kabc.storage.opening import open_storage
from kabc.storage.sql.schema import VERSION

FOLDER = Path(__file__).parent / "golden" / "stores"
# a store does not take these into one study any more: the next version of the schema needs others
ROWS: list[Any] = [
    np.array([[1.5, np.nan], [-0.0, 21.35]]),
    np.array([[0.1, 0.25], [3.0, 4.0]]),
    np.array([2**40, -3]),
    np.array([True, False]),
    np.array(["", "\u00e4\u20ac"]),
    np.array([["red", None], [1.5, True]], dtype=object),
]


def write(store: Storage) -> None:
    """One study with something in every table."""
    study = store.create_study("nightly", {"arms": list("abcdef"), "seed": 7}, {"max_samples": 100}).id
    store.set_facts(study, {"size": [None] * 6})
    store.register_worker(study, "ann", {"host": "here"})
    for number in range(2):
        store.open_round(study, number, [NewTicket(arm, 0, 2 * number, 2) for arm in range(6)])
        old = store.exchange(study, "bob", want=1, seconds=0.0).leased
        held = store.exchange(study, "ann", want=6, seconds=0.0).leased
        draws = [Draw(one.id, one.lease, "ann", ROWS[one.arm], 10.0, 11.5, n_paid=3 * number) for one in held]
        store.exchange(study, "ann", draws[: 6 - 3 * number])
        store.exchange(study, "bob", [Draw(old[0].id, old[0].lease, "bob", ROWS[1], 10.0, 12.0)])
    store.exchange(study, "ann", [Failure(held[5].id, held[5].lease, "ann", "the line is dead")])
    store.add_token("ann", "tell", "0" * 64, None)
    store.save_snapshot(study, 0, b"\x00state\xff")
    store.add_note(study, "block", {"length": 3})
    store.set_state(study, "paused", {"why": "golden"})


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"schema-{VERSION}.db"
    if path.exists():
        raise SystemExit(f"{path} is there: it is never made again")
    store = open_storage(path)
    write(store)
    store.close()
