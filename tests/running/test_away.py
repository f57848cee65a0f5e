"""Workers that die: the draws that were lost are drawn again, encoded or the run ends, as asked for."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc import ArmError, SettingsError
from tests.running.live import Rows, normal, picklable_arms, run, same

FEW: dict[str, Any] = {"n_clusters": 2, "strategy": "anytime"}


def dies(n: int, rng: np.random.Generator, *, mean: float, marks: Path, deaths: int, from_round: int = 3) -> Rows:
    """A draw that kills its process, `deaths` times, from one of its rounds on."""
    calls = len(list(marks.glob("call-*")))
    (marks / f"call-{calls}").touch()
    if from_round <= calls < from_round + deaths:
        os._exit(1)
    return rng.normal(mean, 1.0, n)


@dataclass(frozen=True)
class WithFailures:
    """An arm with a value for failed samples; it kills its process in one of its rounds."""

    marks: Path
    deaths: int
    mean: float
    remaining = None

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        if not self.deaths:
            time.sleep(0.1)  # so that it is under way when another one dies
        rows = dies(n, rng, mean=self.mean, marks=self.marks, deaths=self.deaths)
        return np.column_stack([rows, np.zeros(n)])

    def failed(self, n: int) -> Rows:
        return np.tile([0.0, 1.0], (n, 1))


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        yield executor


def dying(marks: Path, deaths: int) -> dict[str, Any]:
    arms = {name: partial(normal, mean=mean) for name, mean in (("a", 0.0), ("b", 2.5), ("c", 2.5))}
    return arms | {"a": partial(dies, mean=0.0, marks=marks, deaths=deaths)}


def test_what_died_with_a_worker_is_drawn_again_and_the_answer_is_the_same(
    pool: ProcessPoolExecutor, tmp_path: Path
) -> None:
    usual = run(dying(tmp_path, 0) | {"a": partial(normal, mean=0.0)}, **FEW)
    result = run(dying(tmp_path, 1), **FEW, executor=pool)
    assert result.status == "decided"
    assert same(result, usual)
    note = next(note for note in result.notes if "lost with a worker" in note)
    assert "drawn again; values that kill a worker may be missing now" in note
    assert result.n_lost > 0 == usual.n_lost


def test_three_deaths_in_a_row_end_the_run_and_name_the_arm(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"^arm 'a': 3 workers in a row that drew from it died: ") as caught:
        run(dying(tmp_path, 99), **FEW, executor=pool, on_worker_loss="redraw")
    assert isinstance(caught.value.__cause__, BrokenExecutor)
    found = caught.value.result
    assert found.status == "failed" and len(found.rounds) == 3
    assert found.samples_per_arm["b"] > 0


def test_two_deaths_in_a_row_do_not_where_redraws_were_asked_for(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    assert run(dying(tmp_path, 2), **FEW, executor=pool, on_worker_loss="redraw").status == "decided"


def test_a_pool_that_is_dead_from_the_start_is_replaced(pool: ProcessPoolExecutor) -> None:
    with pytest.raises(BrokenProcessPool):
        pool.submit(os._exit, 1).result()
    result = run(picklable_arms(), executor=pool)
    assert same(result, run(picklable_arms()))


def test_raise_ends_the_run_with_what_was_paid_for(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"worker .*died.*on_worker_loss=") as caught:
        run(dying(tmp_path, 1), **FEW, executor=pool, on_worker_loss="raise")
    assert isinstance(caught.value.__cause__, BrokenProcessPool)
    assert caught.value.result.n_samples > 0


def test_a_draw_that_always_kills_is_encoded_and_no_other(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    marks = {name: tmp_path / name for name in "abc"}
    for folder in marks.values():
        folder.mkdir()
    arms = {name: WithFailures(marks[name], 99 * (name == "a"), 9.0 * (name == "b")) for name in "abc"}
    result = run(arms, n_clusters=3, strategy="anytime", executor=pool, on_worker_loss="encode", max_samples=60)
    assert result.samples["a"][:, 1].any()
    assert not result.samples["b"][:, 1].any() and not result.samples["c"][:, 1].any()
    assert any("encoded as failed samples" in note for note in result.notes)


def test_encode_without_a_value_for_failures_is_refused_before_a_sample(pool: ProcessPoolExecutor) -> None:
    with pytest.raises(SettingsError, match=r"arm 'a': .*on_worker_loss='encode'.*failed\(n\).*use 'redraw'") as caught:
        run(picklable_arms(), executor=pool, on_worker_loss="encode")
    assert caught.value.result is None
    assert run(picklable_arms(), workers=2, on_worker_loss="encode").status == "decided"  # threads do not die


def test_another_word_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"on_worker_loss.*'again'"):
        run(picklable_arms(), on_worker_loss="again")


class Broken(Executor):
    """An executor of another kind whose third task breaks it."""

    n_tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.n_tasks += 1
        future: Future[Any] = Future()
        if self.n_tasks > 2:
            future.set_exception(BrokenExecutor("the cluster is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_cannot_be_replaced_ends_the_run() -> None:
    with pytest.raises(ArmError, match="Broken cannot be made anew") as caught:
        run(picklable_arms(), executor=Broken())
    assert caught.value.result.n_samples > 0


def test_an_executor_that_is_closed_is_named() -> None:
    with ProcessPoolExecutor(1) as closed:
        pass
    with pytest.raises(ArmError, match="takes no more draws"):
        run(picklable_arms(), executor=closed)


def test_our_replacement_is_closed_and_the_pool_of_the_user_is_left_alone(
    pool: ProcessPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Any] = []
    usual = ProcessPoolExecutor.shutdown

    def shutdown(self: ProcessPoolExecutor, *args: Any, **kwargs: Any) -> None:
        closed.append(self)
        usual(self, *args, **kwargs)

    monkeypatch.setattr(ProcessPoolExecutor, "shutdown", shutdown)
    run(dying(tmp_path, 2), **FEW, executor=pool, on_worker_loss="redraw")
    assert len(closed) == 2
    assert pool not in closed
