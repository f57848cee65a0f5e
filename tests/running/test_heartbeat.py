"""Signs of life: leases last as long as their worker lives, and it knows what it lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from kabc.running.heartbeat import Heartbeat
from kabc.storage.contract import NewTicket, Ticket
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage

LEASE = 0.9  # seconds: a busy machine must not miss three beats


class Study:
    """A study of one round with open tickets of arm 0."""

    def __init__(self, storage: MemoryStorage | None = None, tickets: int = 2) -> None:
        self.storage = MemoryStorage() if storage is None else storage
        self.id = self.storage.create_study("nightly", {}, {}).id
        self.storage.open_round(self.id, 1, [NewTicket(0, piece, piece, 1) for piece in range(tickets)])

    def lease(self, worker: str, want: int = 1, seconds: float = LEASE) -> tuple[Ticket, ...]:
        return self.storage.exchange(self.id, worker, want=want, seconds=seconds).leased

    def beating(self, say: Callable[[str], None] | None = None, seconds: float = LEASE) -> Heartbeat:
        return Heartbeat(self.storage, self.id, "slow", seconds, say)


class Torn(MemoryStorage):
    """A store that does not answer while `torn` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.torn = threading.Event()
        self.asked = 0

    def renew(self, study: int, worker: str, held: Mapping[int, int], seconds: float) -> set[int]:
        self.asked += 1
        if self.torn.is_set():
            raise StorageError("no route to the database")
        return super().renew(study, worker, held, seconds)


def until(true: Callable[[], object]) -> None:
    """Wait for something that will be; the time limit of the test ends what never comes."""
    while not true():
        time.sleep(0.01)


@contextmanager
def threads_end() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_a_slow_draw_keeps_its_lease_for_as_long_as_it_takes() -> None:
    study = Study()
    with threads_end(), study.beating() as heart:
        (mine,) = study.lease("slow")
        heart.hold([mine])
        began = study.storage.now()
        while study.storage.now() < began + 2 * LEASE:
            (other,) = study.lease("quick", want=2)[:1] or (None,)
            assert other is None or other.id != mine.id
            time.sleep(0.02)
        assert heart.lost == frozenset()


def test_what_is_not_renewed_any_more_goes_to_another_worker() -> None:
    study = Study(tickets=1)
    with study.beating() as heart:
        (mine,) = study.lease("slow")
        heart.hold([mine])
    until(lambda: study.lease("quick"))


def test_a_worker_hears_what_it_has_lost_and_forgets_it_when_it_lets_go() -> None:
    study = Study()
    mine = study.lease("slow", want=2, seconds=0.0)  # frozen: they lapse before the first beat
    (taken,) = study.lease("quick", seconds=60.0)
    with study.beating() as heart:
        heart.hold(mine)
        until(lambda: heart.lost)
        assert heart.lost == {taken.id}
        heart.release([taken.id])
        assert heart.lost == frozenset()
        heart.hold([taken])  # it comes back to this worker, with another lease
        assert heart.lost == frozenset()


def test_a_lease_that_lapsed_is_renewed_if_nobody_has_the_ticket() -> None:
    study = Study(tickets=1)
    (mine,) = study.lease("slow", seconds=0.0)
    with study.beating() as heart:
        heart.hold([mine])
        until(lambda: study.storage.leases(study.id)[0].expires > study.storage.now())
        assert heart.lost == frozenset()


def test_a_store_that_does_not_answer_is_asked_again_and_people_are_told_once() -> None:
    store, said = Torn(), list[str]()
    study = Study(store)
    with threads_end(), study.beating(said.append, seconds=60.0 / 1000) as heart:
        heart.hold(study.lease("slow", seconds=60.0))
        store.torn.set()
        asked = store.asked
        until(lambda: store.asked > asked + 5)
        store.torn.clear()
        until(lambda: len(said) > 1)
        assert heart.lost == frozenset()
    assert said[:2] == ["the store does not answer, trying again: no route to the database", "the store answers again"]


def test_the_step_is_renewed_and_lost_like_a_lease() -> None:
    study = Study()
    with study.beating() as heart:
        assert study.storage.take_step(study.id, "slow", LEASE)
        heart.has_step = True
        began = study.storage.now()
        while study.storage.now() < began + 2 * LEASE:
            assert not study.storage.take_step(study.id, "quick", LEASE)
            time.sleep(0.02)
        study.storage.drop_step(study.id, "slow")
        study.storage.take_step(study.id, "quick", 60.0)
        until(lambda: not heart.has_step)


def test_a_worker_without_tickets_is_seen_too() -> None:
    study = Study()
    study.storage.register_worker(study.id, "slow", {})
    (before,) = study.storage.workers(study.id)
    with study.beating():
        until(lambda: study.storage.workers(study.id)[0].last_seen > before.last_seen)


def test_an_error_leaves_no_thread_behind() -> None:
    study = Study()
    with threads_end(), pytest.raises(KeyError), study.beating():
        raise KeyError("of the one who draws")
