"""Whether the samples of one worker look different from those of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from kabc.storage.contract import Draw, NewTicket, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.study.effects import ALPHA, WorkerEffect, difference, effect_line, effects_of, note_effects, worker_effects
from kabc.testing.error_law import most_errors

Law = Callable[[int, str, int, np.random.Generator], Any]  # arm, worker, n, rng -> rows


def normal(arm: int, worker: str, n: int, rng: np.random.Generator) -> Any:
    return rng.normal(5.0 * arm, 1.0, n)


def drawn(
    law: Law, rounds: int = 10, arms: int = 2, workers: str = "abc", seed: int = 0, count: int = 4
) -> list[tuple[Ticket, Draw]]:
    """In each round, each arm is drawn by a worker that chance chooses."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Ticket, Draw]] = []
    for number in range(rounds):
        for arm in range(arms):
            worker = workers[rng.integers(len(workers))]
            ticket = Ticket(len(found), number, arm, arm, 0, 0, count)
            found.append((ticket, Draw(ticket.id, 1, worker, law(arm, worker, count, rng), 0.0, 1.0)))
    return found


def test_a_worker_that_measures_otherwise_is_found_in_the_arm_where_it_does() -> None:
    def slower(arm: int, worker: str, n: int, rng: np.random.Generator) -> Any:
        return rng.normal(2.0 * (worker == "b" and arm == 1), 1.0, n)

    found = effects_of(drawn(slower, rounds=60), {})
    assert [(one.arm, one.worker) for one in found][:1] == [(1, "b")]
    assert {one.arm for one in found} == {1}
    assert found[0].evidence > 1000


def test_of_two_workers_one_is_named() -> None:
    def slower(arm: int, worker: str, n: int, rng: np.random.Generator) -> Any:
        return rng.normal(2.0 * (worker == "b"), 1.0, (n, 3))

    assert len(effects_of(drawn(slower, rounds=40, arms=1, workers="aab"), {})) == 1


def test_arms_that_differ_are_no_effect_of_the_workers_that_drew_them() -> None:
    by_arm = [(ticket, draw) for ticket, draw in drawn(normal, rounds=60) if draw.worker == "ab"[ticket.arm]]
    assert by_arm
    assert effects_of(by_arm, {}) == []


def test_texts_are_compared_too() -> None:
    def words(arm: int, worker: str, n: int, rng: np.random.Generator) -> Any:
        return rng.choice(["yes", "no", "perhaps"], n, p=[0.8, 0.1, 0.1] if worker == "a" else [0.1, 0.1, 0.8])

    assert effects_of(drawn(words, rounds=40, arms=1, workers="ab"), {})


def test_few_samples_say_nothing() -> None:
    def far(arm: int, worker: str, n: int, rng: np.random.Generator) -> Any:
        return rng.normal(100.0 * (worker == "a"), 1.0, n)

    assert effects_of(drawn(far, rounds=4, arms=1), {}) == []
    assert effects_of([], {}) == []


@pytest.mark.parametrize("law", [normal, lambda arm, worker, n, rng: rng.geometric(0.4, n)])
def test_where_workers_make_no_difference_something_is_said_with_probability_alpha_at_most(law: Law) -> None:
    runs = 60
    wrong = sum(bool(effects_of(drawn(law, rounds=30, seed=seed), {})) for seed in range(runs))
    assert wrong <= most_errors(runs, ALPHA)


def test_evidence_of_equal_samples_is_rarely_large() -> None:
    runs, level = 150, 0.1
    rng = np.random.default_rng(1)
    pairs = (rng.standard_t(2, (2, 40, 1)) for _ in range(runs))
    wrong = sum(difference(x, y) >= -np.log(level) for x, y in pairs)
    assert wrong <= most_errors(runs, level)


def test_samples_of_one_value_and_of_enormous_values_are_no_trouble() -> None:
    same, huge = np.zeros((50, 1)), np.full((50, 1), 1e300)
    assert difference(same, same) == 0.0
    assert 5 < difference(same, huge) < np.inf


def stored(facts: Mapping[str, Mapping[str, Any]], shift: Mapping[str, float]) -> tuple[MemoryStorage, int]:
    store = MemoryStorage()
    study = store.create_study("nightly", {}, {}).id
    rng = np.random.default_rng(0)
    for name, about in facts.items():
        store.register_worker(study, name, about)
    for number in range(20):
        store.open_round(study, number, [NewTicket(0, piece, piece, 3) for piece in range(len(facts))])
        for name in facts:
            (one,) = store.exchange(study, name, want=1).leased
            rows = rng.normal(shift.get(name, 0.0), 1.0, 3)
            store.exchange(study, name, [Draw(one.id, one.lease, name, rows, 0.0, 1.0)])
    return store, study


def test_workers_of_one_host_stand_together_where_there_are_several_hosts() -> None:
    hosts = {"a1": {"host": "a"}, "a2": {"host": "a"}, "b1": {"host": "b"}, "c1": {"host": "c"}}
    found = worker_effects(*stored(hosts, {"a1": 2.0, "a2": 2.0}))
    assert found[0].worker == "a"
    store, study = stored(hosts, {"b1": 3.0})
    lines = note_effects(store, study, ["v1"])
    assert lines[0].startswith("samples drawn by b look different from those of other workers (arm v1; evidence")
    assert [note.body["line"] for note in store.notes(study) if note.kind == "worker-effect"] == lines
    here = {name: {"host": "a"} for name in ("a1", "a2")}
    assert [one.worker for one in worker_effects(*stored(here, {"a1": 2.0}))] in (["a1"], ["a2"])
    assert worker_effects(*stored({"a1": {"host": "a"}}, {})) == []


def test_an_effect_is_said_in_one_line_and_called_informational() -> None:
    said = effect_line(WorkerEffect(1, "host-a", 5000.0), ["b9", "b10"])
    assert said == (
        "samples drawn by host-a look different from those of other workers (arm b10; evidence 5,000 : 1): "
        "informational"
    )
