"""Studies are made or resumed, also by several processes at once."""

from __future__ import annotations

import pytest

import kabc
from kabc.storage.contract import StudyRecord
from kabc.storage.errors import NoStudyError, StudyExistsError
from kabc.storage.memory import MemoryStorage

ARMS = {"a": lambda n, rng: rng.normal(0, 1, n), "b": lambda n, rng: rng.normal(9, 1, n)}


class Race(MemoryStorage):
    """Another process makes the study after this one has looked for it."""

    def load_study(self, name: str) -> StudyRecord:
        if not self.study_names():
            other = kabc.create_study(name, arms=list(ARMS), n_clusters=2, seed=5, storage=MemoryStorage())
            self.create_study(name, other.record.spec, other.record.limits)
            raise NoStudyError("not yet")
        return super().load_study(name)


@pytest.mark.fresh_seed
def test_a_study_that_another_process_makes_at_the_same_moment_is_resumed_with_its_seed() -> None:
    store = Race()
    study = kabc.create_study("nightly", arms=list(ARMS), n_clusters=2, storage=store, if_exists="resume")
    assert (study.seed, store.study_names()) == (5, ["nightly"])


@pytest.mark.fresh_seed
def test_so_does_a_run() -> None:
    store = Race()
    result = kabc.cluster(ARMS, n_clusters=2, storage=store, study="nightly", progress=False)
    assert (result.seed, result.groups) == (5, (("a",), ("b",)))


def test_who_does_not_resume_is_refused() -> None:
    store = MemoryStorage()
    kabc.create_study("nightly", arms=list(ARMS), n_clusters=2, seed=0, storage=store)
    with pytest.raises(StudyExistsError, match="already a study 'nightly'"):
        kabc.create_study("nightly", arms=list(ARMS), n_clusters=2, seed=0, storage=store)
