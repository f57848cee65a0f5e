"""`work`: a process that draws for a study, with all of its arms or a part of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError, SettingsError
from kabc.running.watch import NO_LOOK
from kabc.running.work import Worked, work
from kabc.storage.errors import NoStudyError, StorageError
from kabc.study.spec import Spec

MEANS = {"a": 0.0, "b": 0.0, "c": 3.0, "d": 3.0}


def normal(mean: float) -> Callable[[int, np.random.Generator], Any]:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def arms(names: str = "abcd") -> dict[str, Any]:
    return {name: normal(MEANS[name]) for name in names}


def pools(dependence: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = {}
    for name, mean in MEANS.items():
        noise = rng.normal(0.0, 1.0, 600)
        for place in range(1, 600):
            noise[place] += dependence * noise[place - 1]
        found[name] = mean + noise
    return found


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "kabc.db")


def create(store: str, **settings: Any) -> Any:
    given: dict[str, Any] = {"n_clusters": 2, "seed": 1, "check_k": False}
    return kabc.create_study("nightly", arms=list(MEANS), storage=store, **given | settings)


def together(store: str, *given: Any) -> list[Worked]:
    """Workers at the same time."""
    with ThreadPoolExecutor(len(given)) as pool:
        running = [pool.submit(work, store, "nightly", one, progress=False) for one in given]
        return [one.result() for one in running]


def same(one: Any, other: Any) -> bool:
    """Whether two answers have the same groups, figures, evidence and samples."""
    samples = all(np.array_equal(one.samples[name], other.samples[name]) for name in MEANS)
    evidence = np.array_equal(one.evidence.log_evidence, other.evidence.log_evidence)
    return samples and evidence and (one.groups, one.samples_per_arm) == (other.groups, other.samples_per_arm)


def alone(given: Any, **settings: Any) -> Any:
    return kabc.cluster(given, 2, seed=1, check_k=False, progress=False, **settings)


def test_one_worker_or_several_with_a_part_of_the_arms_give_the_answer_of_a_run(store: str) -> None:
    expected, study = alone(arms()), create(store)
    done = together(store, arms("ab"), arms("cd"))
    assert same(study.result(), expected)
    assert study.status == "ended"
    assert [one.state for one in done] == ["ended", "ended"]
    assert sum(one.n_samples for one in done) == expected.n_samples
    assert work(store, "nightly", arms(), progress=False).n_draws == 0


@pytest.mark.parametrize(("block", "dependence"), [(None, 0.0), (5, 0.0), ("auto", 0.5)])
def test_rows_of_arrays_are_dealt_out_once_whoever_draws_them(store: str, block: Any, dependence: float) -> None:
    given = pools(dependence)
    study = create(store, block=block)
    together(store, given, given, given)
    assert same(study.result(), alone(given, block=block))


def test_a_table_is_opened_with_the_seed_of_the_study(store: str) -> None:
    table = pl.DataFrame(
        {"host": [name for name in MEANS for _ in range(300)], "seconds": np.concatenate(list(pools().values()))[:1200]}
    )

    def opened(spec: Spec) -> Any:
        return table_arms(table, arm="host", seed=spec.seed)

    study = create(store)
    together(store, opened, opened)
    assert same(study.result(), kabc.cluster(table, 2, arm="host", seed=1, check_k=False, progress=False))


def test_other_arms_than_those_of_the_study_are_refused_by_name(store: str) -> None:
    create(store)
    with pytest.raises(SettingsError, match="study 'nightly' has no arm 'x'"):
        work(store, "nightly", {"x": normal(0.0)}, progress=False)
    with pytest.raises(NoStudyError, match="there is no study 'daily'"):
        work(store, "daily", arms(), progress=False)
    with pytest.raises(StorageError, match="there is no store"):
        work(f"{store}.not", "nightly", arms(), progress=False)
    with pytest.raises(SettingsError, match="lease_seconds must be a finite number greater than 0"):
        work(store, "nightly", arms(), lease_seconds=0, progress=False)


def test_rows_that_are_not_those_of_the_study_are_refused(store: str) -> None:
    study = create(store, max_samples=24)
    work(store, "nightly", pools(), progress=False)
    study.raise_budget(4000)
    changed = pools()
    changed["c"][7] += 1.0
    with pytest.raises(ArmError, match="arm 'c': its rows are not those that the study began with"):
        work(store, "nightly", changed, progress=False)


def test_where_lost_draws_are_values_arms_must_have_one(store: str) -> None:
    create(store, on_worker_loss="encode")
    with pytest.raises(SettingsError, match=r"arm 'a': the study has on_worker_loss='encode'.*failed\(n\)"):
        work(store, "nightly", arms(), progress=False)


def test_a_worker_that_stays_goes_on_when_there_is_more_to_draw(store: str) -> None:
    study = create(store, max_samples=24)
    with ThreadPoolExecutor(1) as pool:
        staying = pool.submit(work, store, "nightly", arms(), stay=True, progress=False)
        until(lambda: study.status == "ended")
        assert study.result().status == "budget"
        study.raise_budget(4000)
        until(lambda: study.status == "ended")
        assert same(study.result(), alone(arms()))
        assert not staying.done()
        study.storage.delete_study(study.record.id)
        with pytest.raises(NoStudyError):
            staying.result()


def until(true: Callable[[], object]) -> None:
    """Wait for something that will be; the time limit of the test ends what never comes."""
    while not true():
        time.sleep(0.02)


def test_arms_of_which_nobody_knows_anything_are_waited_for(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    study, said = create(store), list[str]()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(work, store, "nightly", arms("ab"), progress=said.append)
        until(lambda: said)
        assert said[0] == "arms c, d wait for a worker that can serve them"
        work(store, "nightly", arms("cd"), progress=False)
        first.result()
    assert same(study.result(), alone(arms()))


def test_who_does_not_have_all_tables_leaves_the_step_to_another(store: str) -> None:
    given = pools()
    study = create(store)
    done = together(store, {"a": given["a"]}, given)
    assert same(study.result(), alone(given))
    assert all(one.state == "ended" for one in done)


def test_an_answer_without_the_tables_does_not_claim_that_their_order_was_watched(store: str) -> None:
    study = create(store, max_samples=24)
    work(store, "nightly", pools(), progress=False)
    assert NO_LOOK not in study.result().certificate()
    study.raise_budget(4000)  # not ended any more: the answer is read from the log, and there are no tables here
    assert f"{NO_LOOK} a, b, c, d, which" in study.result().certificate()
    assert "watched: samples of an arm come in no particular order" not in study.result().certificate()


def test_samples_of_a_worker_that_measures_otherwise_are_noted(store: str) -> None:
    study = create(store, n_clusters=None, max_samples=800)
    given = arms()

    def at_first(n: int, rng: np.random.Generator) -> Any:
        if study.storage.summary(1).n_samples > 100:
            study.pause()
        return rng.normal(MEANS["a"], 1.0, n)

    assert work(store, "nightly", given | {"a": at_first}, progress=False).state == "paused"
    study.resume()
    biased = {name: normal(mean + 4.0) for name, mean in MEANS.items()}
    assert work(store, "nightly", biased, progress=False).state == "ended"
    notes = [note.body["line"] for note in study.storage.notes(1) if note.kind == "worker-effect"]
    assert notes
    assert all("look different from those of other workers" in line for line in notes)
