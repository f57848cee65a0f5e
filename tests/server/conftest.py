from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kabc
from tests.running.crew import MEANS, arms
from tests.server.served import Served, quick_folder, serving


@pytest.fixture
def folder() -> Iterator[Path]:
    """A quick folder."""
    with quick_folder() as found:
        yield found


@pytest.fixture(scope="package")
def served() -> Iterator[Served]:
    """A server with two studies: number 1 has ended, number 2 was stopped after its third round and goes on.

    Tests change neither of them.
    """
    with quick_folder() as folder:
        place = str(folder / "kabc.db")
        asked: dict[str, Any] = {"arms": list(MEANS), "n_clusters": 2, "seed": 1, "check_k": False, "storage": place}
        kabc.create_study("ended", **asked).run(arms(), progress=False)
        study = kabc.create_study("goes on", **asked)
        study.run(arms(), on_round=lambda seen: study.pause() if seen.number == 3 else None, progress=False)
        study.resume()
        with serving(folder, place=place) as found:
            yield found
