"""Groups and forecast for lists: written by the process that does the step, or read from an answer."""

from __future__ import annotations

from typing import Any

import pytest

import kabc
from kabc.running import so_far
from kabc.running.status import Figures
from kabc.storage.contract import Storage
from kabc.storage.memory import MemoryStorage
from tests.running.crew import MEANS, arms, normal

ASKED: dict[str, Any] = {"arms": list(MEANS), "n_clusters": 2, "seed": 1, "check_k": False}


def figures(store: Storage, name: str) -> Figures:
    return Figures.of(store, store.load_study(name))


def test_an_answer_says_how_many_groups_there_are() -> None:
    store = MemoryStorage()
    study = kabc.create_study("ended", storage=store, **ASKED)
    result = study.run(arms(), progress=False)
    found = figures(store, "ended").so_far
    assert found == {
        "n_samples": result.n_samples, "n_groups": 2, "n_groups_at_least": result.n_groups_at_least,
        "certified": True, "forecast": None,
    }  # fmt: skip
    assert found == so_far.of_result(result)


def test_a_study_that_goes_on_has_what_its_process_wrote_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(so_far, "_FIRST", 0.0)
    monkeypatch.setattr(so_far, "_SECONDS", 0.0)
    monkeypatch.setattr(so_far, "_SHARE", 1e9)
    store = MemoryStorage()
    study = kabc.create_study("goes on", storage=store, **ASKED)
    close = {name: normal(0.3 * mean) for name, mean in MEANS.items()}
    study.run(close, on_round=lambda seen: study.pause() if seen.forecast is not None else None, progress=False)
    (worker,) = store.workers(study.record.id)
    assert worker.facts["arms"] == list(MEANS)  # what was there stays
    found, result = figures(store, "goes on").so_far, study.result()
    assert found is not None and found == so_far.of_result(result) | {"n_samples": found["n_samples"]}
    assert 0 < found["n_samples"] <= result.n_samples
    assert found["forecast"] is not None and not found["certified"]


def test_a_short_study_writes_nothing_and_nothing_is_known() -> None:
    store = MemoryStorage()
    study = kabc.create_study("short", storage=store, **ASKED)
    study.run(arms(), on_round=lambda seen: study.pause() if seen.number == 2 else None, progress=False)
    if so_far.KEY not in store.workers(study.record.id)[0].facts:  # a busy machine may take more than a second
        assert figures(store, "short").so_far is None


@pytest.mark.parametrize("answer", [{}, {"groups": 3, "needs": [1]}, {"n_samples": "x", "needs": {"a": "b"}}])
def test_an_answer_that_kabc_did_not_write_breaks_no_list(answer: dict[str, Any]) -> None:
    store = MemoryStorage()
    study = kabc.create_study("odd", storage=store, **ASKED)
    store.end(study.record.id, 0, answer)
    found = figures(store, "odd").so_far
    assert found is not None and found["n_groups"] is None and found["forecast"] is None
