"""What a store does when many act at once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import numpy as np

from kabc.storage.contract import NewTicket
from kabc.storage.errors import StudyExistsError
from kabc.testing.stores.base import EMPTY, LAPSED, StoreTests, drawn, drawn_rows, tickets

_THREADS = 8


def at_once(work: Callable[[int], Any], number: int = _THREADS) -> list[Any]:
    """What each of so many threads found, or the error that it met."""
    found: list[Any] = [None] * number
    start = Barrier(number)

    def one(at: int) -> None:
        start.wait()
        try:
            found[at] = work(at)
        except Exception as error:  # it is looked at by the test
            found[at] = error

    threads = [Thread(target=one, args=(at,)) for at in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class RaceTests(StoreTests):
    """Nothing is lost and nothing counted twice, whoever acts at the same time."""

    def test_one_of_many_makes_the_study(self) -> None:
        store = self.make_storage()
        stores = [self.again(store) for _ in range(_THREADS)]
        found = at_once(lambda at: stores[at].create_study("nightly", EMPTY, EMPTY))
        assert sum(isinstance(one, StudyExistsError) for one in found) == _THREADS - 1
        assert store.study_names() == ["nightly"]

    def test_many_that_open_the_same_round_have_the_same_tickets(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        stores = [self.again(store) for _ in range(_THREADS)]
        found = at_once(lambda at: stores[at].open_round(study, 0, tickets(arms=at + 1)))
        assert all(one == found[0] for one in found)
        assert store.tickets(study, 0) == found[0]
        assert store.summary(study).n_rounds == 1

    def test_workers_draw_every_ticket_once(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.open_round(study, 0, [NewTicket(arm, piece, piece, 1) for arm in range(4) for piece in range(20)])
        stores = [self.again(store) for _ in range(_THREADS)]

        def work(at: int) -> int:
            name, done = f"worker-{at}", 0
            held = stores[at].exchange(study, name, want=3).leased
            while held:
                answer = stores[at].exchange(study, name, [drawn(one) for one in held], want=3)
                done += answer.outcomes.count("done")
                held = answer.leased
            return done

        found = at_once(work)
        assert sum(found) == 80
        figures = store.summary(study)
        assert (figures.n_samples, dict(store.samples_per_arm(study))) == (80, dict.fromkeys(range(4), 20))
        assert len(list(store.draws(study, 0, 0))) == 80
        assert store.notes(study) == []

    def test_of_many_first_draws_one_says_how_many_columns_there_are(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=_THREADS)
        held = self.lease(store, study, want=_THREADS)
        stores = [self.again(store) for _ in held]
        draws = [drawn_rows(np.zeros((4, at + 1)))(one) for at, one in enumerate(held)]
        found = at_once(lambda at: stores[at].exchange(study, "ann", [draws[at]]).outcomes)
        assert sorted(found) == [("done",)] + [("failed",)] * (_THREADS - 1)

    def test_of_many_results_for_a_ticket_the_latest_lease_counts(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        held = [store.exchange(study, f"w{n}", want=1, seconds=LAPSED).leased[0] for n in range(_THREADS)]
        stores = [self.again(store) for _ in range(_THREADS)]
        found = at_once(lambda at: stores[at].exchange(study, f"w{at}", [drawn(held[at], value=at)]).outcomes)
        assert found == [("superseded",)] * (_THREADS - 1) + [("done",)]
        ((ticket, draw),) = store.draws(study, 0, 0)
        assert (draw.worker, ticket.deaths) == (f"w{_THREADS - 1}", _THREADS - 1)
        assert len(list(store.late_draws(study))) == _THREADS - 1

    def test_a_lapsed_lease_is_finished_or_leased_anew_and_never_both(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.open_round(study, 0, [NewTicket(0, piece, piece, 1) for piece in range(25)])
        stores = [store, self.again(store)]
        for _ in range(25):
            (old,) = store.exchange(study, "slow", want=1, seconds=LAPSED).leased
            finished, leased = at_once(
                lambda at, old=old: (  # type: ignore[misc]
                    stores[at].exchange(study, "new", want=1).leased
                    if at
                    else stores[at].exchange(study, "slow", [drawn(old)]).outcomes
                ),
                2,
            )
            again = [one for one in leased if one.id == old.id]
            assert (finished, len(again)) in [(("done",), 0), (("superseded",), 1)]
            stores[1].exchange(study, "new", [drawn(one) for one in leased])
            if store.summary(study).tickets.get("done") == 25:
                return

    def test_every_note_is_kept(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        stores = [self.again(store) for _ in range(_THREADS)]
        revision = store.load_study("nightly").revision

        def work(at: int) -> None:
            for number in range(5):
                stores[at].add_note(study, "seen", {"number": number})

        assert at_once(work) == [None] * _THREADS
        assert len(store.notes(study)) == 5 * _THREADS
        assert store.load_study("nightly").revision == revision + 5 * _THREADS
