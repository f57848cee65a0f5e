"""Resumed = uninterrupted, whatever the moment of the crash; a study = a run without one; memory = SQLite."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from tests.postgres import new_database
from tests.running.studied import CASES, Breaking, Crash, dead, log, same, study_of, uninterrupted

# `make soak` sets it to 100: then all calls of all cases
PART = int(os.environ.get("KABC_FUZZ", "4"))


@pytest.mark.parametrize("case", CASES)
def test_a_study_finds_what_a_run_without_one_finds(case: str) -> None:
    arms, settings = CASES[case]
    plain = kabc.cluster(arms(), seed=4, progress=False, **settings)
    assert same(study_of(case, MemoryStorage()), plain)


@pytest.mark.parametrize("case", CASES)
def test_resumed_is_uninterrupted_wherever_the_process_died(case: str) -> None:
    """Crashes before and after single calls of the store: between rounds, between tickets, and before the answer."""
    whole, asked, n_calls = uninterrupted(case)
    first = 8  # calls until the study is made
    moments = np.unique(np.linspace(first, n_calls - 1, max(4, PART * (n_calls - first) // 100), dtype=int))
    n_crashed = 0
    for place, moment in enumerate(moments.tolist()):
        storage = MemoryStorage()
        n_crashed += _crashed(case, _breaking(storage, moment, after=place % 2 == 1))
        if not storage.study_names():
            continue
        dead(storage)
        assert same(study_of(case, storage), whole), f"died at call {moment} of {n_calls}"
        assert log(storage) == asked
    # a slow machine makes more calls for the same draws, so the last moments may come after the end
    assert n_crashed >= len(moments) // 2 or case == "threads"


def _crashed(case: str, storage: Any) -> bool:
    try:
        study_of(case, storage)
    except Crash:
        return True
    return False


def _breaking(storage: MemoryStorage, calls: int, *, after: bool) -> Any:
    return Breaking(storage, calls, after=after)


def test_it_may_die_again_and_again() -> None:
    whole, asked, _ = uninterrupted("anytime")
    storage = MemoryStorage()
    for _ in range(300):
        try:
            result = study_of("anytime", _breaking(storage, 29, after=True))
            break
        except Crash:
            if storage.study_names():
                dead(storage)
    else:
        raise AssertionError("it does not come to an end")
    assert same(result, whole)
    assert log(storage) == asked
    assert any("resumed" in note for note in result.notes)


@pytest.mark.parametrize("case", ["anytime", "table", "texts", "one at a time"])
def test_sqlite_is_memory(case: str, tmp_path: Path) -> None:
    _expect_memory(case, str(tmp_path / "kabc.db"))


@pytest.mark.parametrize("case", ["anytime", "texts"])
def test_postgresql_is_memory(case: str, postgres: str) -> None:
    _expect_memory(case, new_database(postgres))


def _expect_memory(case: str, where: str) -> None:
    whole, asked, _ = uninterrupted(case)
    storage = open_storage(where)
    try:
        stopped = study_of(case, storage, on_round=_stop_after(2))
        assert stopped.status == "interrupted"
        assert same(study_of(case, storage), whole)
        assert log(storage) == asked
    finally:
        storage.close()


@pytest.mark.parametrize("case", ["anytime", "pools", "one at a time"])
def test_four_runs_at_the_same_time_are_one(case: str) -> None:
    whole, asked, _ = uninterrupted(case)
    storage = MemoryStorage()
    study_of(case, storage, on_round=_stop_after(1))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: study_of(case, storage), range(4)))
    assert all(same(one, whole) for one in results)
    assert log(storage) == asked


def test_a_study_in_a_file_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    whole, asked, _ = uninterrupted("anytime")
    storage = open_storage(tmp_path / "kabc.db")
    try:
        stopped = study_of("anytime", storage, on_round=_stop_after(3))
        assert stopped.status == "interrupted" and len(stopped.rounds) == 3
        assert storage.load_study("nightly").state == "running"
        assert same(study_of("anytime", storage), whole)
        assert log(storage) == asked
    finally:
        storage.close()


def _stop_after(number: int) -> Any:
    def listen(seen: Any) -> None:
        if seen.number == number:
            raise KeyboardInterrupt

    return listen


def test_of_the_rounds_in_the_log_only_the_one_in_which_it_stopped_is_heard_again() -> None:
    heard: list[int] = []
    storage = MemoryStorage()
    study_of("anytime", storage, on_round=_stop_after(3))
    result = study_of("anytime", storage, on_round=lambda seen: heard.append(seen.number))
    assert heard == list(range(3, len(result.rounds) + 1))
