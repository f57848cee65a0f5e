"""Which study is the run before another one."""

from __future__ import annotations

import pytest

from kabc.storage.contract import Storage
from kabc.storage.memory import MemoryStorage
from kabc.study.earlier import earlier_run, stem_of
from kabc.study.spec import Reused, Spec


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("nightly", "nightly"),
        ("nightly-2", "nightly"),
        ("nightly 2026-11-17", "nightly"),
        ("nightly_20261117", "nightly"),
        ("nightly-2026-11-17T18:40", "nightly"),
        ("nightly 2026-11-17 18:40:05Z", "nightly"),
        ("nightly #12", "nightly"),
        ("model-v3", "model"),
        ("2026-11-17", ""),
        ("web 7 hosts", "web 7 hosts"),
        ("a-2-3", "a-2"),
    ],
)
def test_a_name_is_known_without_the_date_or_number_at_its_end(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def made(store: Storage, name: str, arms: str = "abc", *, ended: bool = True, reuse: Reused | None = None) -> int:
    spec = Spec(tuple(arms), "anytime", 7, n_clusters=2, reuse=reuse)
    study = store.create_study(name, spec.to_json(), {})
    if ended:
        store.end(study.id, 0, {"status": "decided"})
    return study.id


def before(store: Storage, name: str) -> str | None:
    found = earlier_run(store, store.load_study(name))
    return None if found is None else found.name


def test_it_is_the_latest_one_made_before_that_has_ended_and_shares_an_arm() -> None:
    store = MemoryStorage()
    made(store, "nightly-1")
    made(store, "nightly-2")
    made(store, "other-3")
    made(store, "nightly-4", arms="xyz")
    made(store, "nightly-5", ended=False)
    made(store, "nightly-6", arms="cde")
    made(store, "nightly-7")
    assert before(store, "nightly-6") == "nightly-2"
    assert before(store, "nightly-2") == "nightly-1"
    assert before(store, "nightly-1") is None  # later ones do not count
    assert before(store, "other-3") is None
    store.delete_study(store.load_study("nightly-2").id)
    assert before(store, "nightly-6") == "nightly-1"


def test_a_study_that_reads_the_samples_of_another_is_compared_with_that_one() -> None:
    store = MemoryStorage()
    first = made(store, "monday")
    made(store, "tuesday-1")
    made(store, "tuesday-2", reuse=Reused("monday", first, 3, 2))
    assert before(store, "tuesday-2") == "monday"
    store.delete_study(first)
    assert before(store, "tuesday-2") == "tuesday-1"


def test_another_study_under_the_name_of_the_one_that_is_read_is_not_meant() -> None:
    store = MemoryStorage()
    first = made(store, "monday")
    store.delete_study(first)
    made(store, "monday")
    made(store, "tuesday", reuse=Reused("monday", first, 3, 2))
    assert before(store, "tuesday") is None
