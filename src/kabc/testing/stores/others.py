"""What a store does with the step, notes, workers, snapshots and tokens, and how it waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kabc.testing.stores.base import EMPTY, LAPSED, LONG, StoreTests, drawn, tickets


class OtherTests(StoreTests):
    """The step, notes, workers, snapshots, tokens, the clock."""

    def test_one_worker_has_the_step(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.take_step(study, "ann", LONG)
        assert not self.again(store).take_step(study, "bob", LONG)
        assert store.take_step(study, "ann", LONG)  # it stays the one

    def test_the_step_is_free_when_it_was_dropped_lapsed_or_its_worker_died(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.take_step(study, "ann", LONG)
        store.drop_step(study, "bob")
        assert not store.take_step(study, "bob", LONG)
        store.drop_step(study, "ann")
        assert store.take_step(study, "bob", LAPSED)
        assert store.take_step(study, "cid", LONG)
        store.bury(study, "cid", counted=True)
        assert store.take_step(study, "ann", LONG)

    def test_notes_come_in_order_and_from_where_they_were_read_before(self) -> None:
        store = self.make_storage()
        study, other = self.study(store), self.study(store, "other")
        for number in range(3):
            store.add_note(study, "seen", {"number": number, "text": "\u00e4\x00\n<b>"})
            store.add_note(other, "else", EMPTY)
        found = self.again(store).notes(study)
        assert [note.body for note in found] == [{"number": n, "text": "\u00e4\x00\n<b>"} for n in range(3)]
        assert {note.kind for note in found} == {"seen"}
        assert [note.id for note in found] == sorted({note.id for note in found})
        assert store.notes(study, after=found[0].id) == found[1:]
        assert store.notes(study, after=found[-1].id) == []

    def test_workers_are_listed_in_the_order_in_which_they_came(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        self.lease(store, study, "unregistered")
        for name in ("bob", "ann"):
            store.register_worker(study, name, {"host": "here"})
        store.register_worker(study, "bob", {"host": "there"})
        found = self.again(store).workers(study)
        assert [(one.name, one.facts["host"]) for one in found] == [("bob", "there"), ("ann", "here")]
        assert all(one.first_seen <= one.last_seen <= store.now() + 1 for one in found)

    def test_a_worker_is_seen_when_it_renews_and_hands_in(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        store.register_worker(study, "ann", EMPTY)

        def seen() -> float:
            time.sleep(0.01)
            return store.workers(study)[0].last_seen

        first = seen()
        store.renew(study, "ann", {}, LONG)
        second = seen()
        (one,) = self.lease(store, study)
        self.hand_in(store, study, drawn(one))
        assert first < second < seen()

    def test_a_snapshot_replaces_the_one_before(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.load_snapshot(study) is None
        store.save_snapshot(study, 3, b"\x00old")
        store.save_snapshot(study, 5, b"\x00new\xff")
        assert self.again(store).load_snapshot(study) == (5, b"\x00new\xff")
        store.drop_snapshot(study)
        assert store.load_snapshot(study) is None

    def test_tokens_are_listed_until_they_are_removed(self) -> None:
        store = self.make_storage()
        first = store.add_token("ann", "tell", "a" * 64, None)
        second = store.add_token("ann", "admin", "b" * 64, LONG)
        assert store.add_token("ann", "tell", "a" * 64, None) == first  # the same digest again
        assert self.again(store).tokens() == [first, second]
        assert (first.label, first.scope, first.digest, first.expires) == ("ann", "tell", "a" * 64, None)
        assert second.expires == second.created + LONG
        assert store.remove_token(first.id)
        assert not store.remove_token(first.id)
        assert self.again(store).tokens() == [second]
        assert store.add_token("bob", "read", "c" * 64, None).id > second.id

    def test_the_clock_goes_forward_in_seconds(self) -> None:
        store = self.make_storage()
        first = store.now()
        time.sleep(0.05)
        assert 0.02 < self.again(store).now() - first < 30

    def test_the_revision_grows_with_every_change_and_with_nothing_else(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        held = self.lease(store, study, want=2)
        finished = [drawn(held[0])]
        changes: list[Callable[[], object]] = [
            lambda: store.exchange(study, "ann", finished),
            lambda: store.exchange(study, "bob", want=1),
            lambda: store.add_note(study, "seen", EMPTY),
            lambda: store.set_facts(study, EMPTY),
            lambda: store.set_limits(study, EMPTY, EMPTY),
            lambda: store.bury(study, "bob", counted=True),
            lambda: store.open_round(study, 1, tickets(start=4)),
            lambda: store.set_state(study, "paused", EMPTY),
            lambda: store.end(study, 1, EMPTY),
        ]
        no_changes: list[Callable[[], object]] = [
            lambda: store.exchange(study, "ann", finished),
            lambda: store.exchange(study, "ann", want=0),
            lambda: store.renew(study, "ann", {held[1].id: held[1].lease}, LONG),
            lambda: store.take_step(study, "ann", LONG),
            lambda: store.save_snapshot(study, 1, b""),
            lambda: store.open_round(study, 0, tickets()),
            lambda: store.set_facts(study, {"other": 1}),
        ]
        before = store.load_study("nightly").revision
        for change in changes:
            change()
            after = self.again(store).load_study("nightly").revision
            assert after > before
            before = after
        for call in no_changes:
            call()
        assert store.load_study("nightly").revision == before

    def test_waiting_ends_with_the_next_change(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        revision = store.load_study("nightly").revision
        assert store.wait(study, revision - 1, LONG) == revision
        assert store.wait(study, revision, 0.0) == revision
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.append(store.wait(study, revision, LONG)))
        waiting.start()
        time.sleep(0.05)
        self.again(store).add_note(study, "seen", EMPTY)
        waiting.join(LONG)
        assert found == [store.load_study("nightly").revision]
        assert found[0] > revision
