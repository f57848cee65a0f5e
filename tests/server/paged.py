"""Studies that the page is shown with."""

from __future__ import annotations

from pathlib import Path

import kabc
from kabc.storage.opening import open_storage
from tests.report.examples import fleet
from tests.running.crew import MEANS, arms

MARKED = "<img src=x onerror=boom()>"  # a name that must stay a text
N_FLEET = 3_000


def make_studies(folder: Path) -> str:
    """A store. 1: ended; 2: new; 3: 3,000 arms; 4: new, with a name that is no markup; 5: new;
    6: ended, the next run of number 1, with an arm that changed its group."""
    place = str(folder / "kabc.db")
    asked = {"arms": list(MEANS), "n_clusters": 2, "seed": 1, "check_k": False, "storage": place}
    kabc.create_study("ended", **asked).run(arms(), progress=False)  # type: ignore[arg-type]
    kabc.create_study("live", **asked)  # type: ignore[arg-type]
    answer = fleet(N_FLEET, n_rows=8)
    kabc.create_study("fleet", arms=list(answer.names), n_clusters=6, seed=1, storage=place)
    storage = open_storage(place)
    storage.end(storage.load_study("fleet").id, 0, answer.to_dict(full=True))
    storage.close()
    for name in (MARKED, "steered"):
        kabc.create_study(name, **asked)  # type: ignore[arg-type]
    moved = arms() | {"b": arms()["c"]}
    kabc.create_study("ended 2", **asked).run(moved, progress=False)  # type: ignore[arg-type]
    return place
