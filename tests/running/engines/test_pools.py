"""A pool of processes that draws for a study which is kept."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import kabc
from kabc import ArmError
from tests.running.engines.deadly import FEW, living, with_a_deadly_one
from tests.running.live import run, same


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        yield executor


def kept(tmp_path: Path, **settings: object) -> kabc.Study:
    question = FEW | {"seed": 5} | settings
    return kabc.create_study("nightly", list(living()), **question, storage=tmp_path / "kabc.db")


def test_a_study_that_is_kept_has_the_same_answer(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    result = kept(tmp_path).run(living(), executor=pool, progress=False)
    assert same(result, run(living(), **FEW))


def test_a_worker_killed_in_the_middle_changes_nothing(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    study = kept(tmp_path)
    result = study.run(with_a_deadly_one(tmp_path, 1), executor=pool, progress=False)
    assert same(result, run(living(), **FEW))
    assert any("lost with a worker and drawn again" in note for note in result.notes)
    assert study.status == "ended"


def test_what_was_drawn_before_an_arm_kills_for_good_is_kept(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    study = kept(tmp_path)
    with pytest.raises(ArmError, match="arm 'a': 2 workers that drew from it died"):
        study.run(with_a_deadly_one(tmp_path, 2), executor=pool, progress=False)
    assert study.status == "running" and study.result().n_samples > 0
    with ProcessPoolExecutor(1) as other:
        result = study.run(living(), executor=other, progress=False)
    assert same(result, run(living(), **FEW))


def test_samples_of_a_killed_worker_may_be_failures(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    study = kept(tmp_path, on_worker_loss="encode", n_clusters=3, max_samples=300)
    result = study.run(with_a_deadly_one(tmp_path, 99), executor=pool, progress=False)
    assert (result.samples["a"] == -99.0).any()
    assert not any((result.samples[name] == -99.0).any() for name in "bcdef")
