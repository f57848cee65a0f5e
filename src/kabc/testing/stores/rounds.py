"""What a store does with rounds, tickets and draws."""

from __future__ import annotations

import numpy as np

from kabc.storage.contract import Draw, NewTicket
from kabc.testing.stores.base import StoreTests, drawn, ids, refused, tickets


class RoundTests(StoreTests):
    """Rounds are written once; draws are read in ticket order."""

    def test_tickets_come_back_in_the_order_in_which_they_were_asked_for(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        asked = [NewTicket(2, 0, 8, 4), NewTicket(0, 1, 3, 1), NewTicket(0, 0, 2, 1), NewTicket(1, 0, 0, 7)]
        opened = store.open_round(study, 5, asked)
        assert [(one.arm, one.piece, one.start, one.count) for one in opened] == [
            (2, 0, 8, 4), (0, 1, 3, 1), (0, 0, 2, 1), (1, 0, 0, 7)
        ]  # fmt: skip
        assert [one.place for one in opened] == [0, 1, 2, 3]
        assert {(one.round, one.state, one.lease, one.worker, one.deaths) for one in opened} == {(5, "open", 0, "", 0)}
        assert self.again(store).tickets(study, 5) == opened
        assert store.tickets(study, 6) == []

    def test_a_round_that_is_there_rules_over_a_different_one(self) -> None:
        store = self.make_storage()
        study, opened = self.one_round(store)
        revision = store.load_study("nightly").revision
        assert self.again(store).open_round(study, 0, tickets(arms=2, count=9)) == opened
        assert store.load_study("nightly").revision == revision

    def test_a_round_may_be_empty(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.open_round(study, 0, []) == []
        assert store.summary(study).n_rounds == 1

    def test_a_round_before_the_latest_one_is_refused(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.open_round(study, 3, tickets())
        assert "round 2 cannot be opened" in refused(lambda: store.open_round(study, 2, tickets()))

    def test_tickets_without_samples_or_twice_the_same_are_refused(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        refused(lambda: store.open_round(study, 0, [NewTicket(0, 0, 0, 0)]))
        refused(lambda: store.open_round(study, 0, [NewTicket(0, 0, 0, 1), NewTicket(0, 0, 1, 1)]))
        assert store.summary(study).n_rounds == 0

    def test_draws_are_read_in_ticket_order_whatever_came_first(self) -> None:
        store = self.make_storage()
        study, opened = self.one_round(store, arms=6)
        leased = self.lease(store, study, want=6)
        for one in reversed(leased):
            self.hand_in(store, study, drawn(one))
        store.open_round(study, 1, tickets(arms=2, start=4))
        for one in self.lease(store, study, want=2):
            self.hand_in(store, study, drawn(one))
        pairs = list(self.again(store).draws(study, 0, 1))
        assert [(ticket.round, ticket.place) for ticket, _ in pairs] == [(0, n) for n in range(6)] + [(1, 0), (1, 1)]
        assert ids([ticket for ticket, _ in pairs[:6]]) == ids(opened)
        for ticket, draw in pairs:
            assert np.array_equal(draw.rows, drawn(ticket).rows)
            assert (draw.ticket, draw.lease, draw.worker, draw.late) == (ticket.id, ticket.lease, "ann", False)
            assert (draw.started, draw.ended, draw.n_paid) == (1.0, 2.0, 0)
        assert [ticket.round for ticket, _ in store.draws(study, 1, 1)] == [1, 1]
        assert list(store.draws(study, 2, 9)) == []

    def test_many_draws_are_all_read_once(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.open_round(study, 0, [NewTicket(0, piece, piece, 1) for piece in range(300)])
        leased = self.lease(store, study, want=300)
        self.hand_in(store, study, *[drawn(one) for one in leased])
        assert [ticket.piece for ticket, _ in store.draws(study, 0, 0)] == list(range(300))

    def test_rows_keep_their_type_and_shape(self) -> None:
        store = self.make_storage()
        alike = {
            "numbers": [
                np.array([1.5, -0.0]),
                np.array([True, False]),
                np.array([1, 2**63], dtype=np.uint64),
                np.array([1, -2], dtype=np.int8),
            ],
            "columns": [np.array([[1.5, 0.1], [-0.0, 1e300]]), np.array([[1, 2], [3, 4]])],
            "texts": [np.array(["", "\u00e4\ud800"]), np.array(["x", "y" * 100]), np.array(["x", ""], dtype=object)],
            "text columns": [np.array([["a", "b"], ["c", "d" * 100]])],
            "mixed columns": [np.array([["red", 1.5], ["", True]], dtype=object)],
        }
        for name, kinds in alike.items():
            study = self.study(store, name)
            store.open_round(study, 0, [NewTicket(arm, 0, 0, 2) for arm in range(len(kinds))])
            for one in self.lease(store, study, want=len(kinds)):
                draw = Draw(one.id, one.lease, "ann", kinds[one.arm], 1.0, 2.0)
                assert self.hand_in(store, study, draw) == ("done",)
            for given, (_, kept) in zip(kinds, self.again(store).draws(study, 0, 0), strict=True):
                assert (kept.rows.dtype, kept.rows.shape) == (given.dtype, given.shape)
                assert repr(kept.rows.tolist()) == repr(given.tolist())

    def test_tickets_of_a_told_round_cannot_be_finished_any_more(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        done, left = self.lease(store, study, want=2)
        self.hand_in(store, study, drawn(done))
        store.open_round(study, 1, tickets(start=4))
        assert [one.state for one in store.tickets(study, 0)] == ["done", "failed", "failed"]
        assert self.hand_in(store, study, drawn(left)) == ("superseded",)
        assert store.renew(study, "ann", {left.id: left.lease}, 60.0) == set()
        assert {one.round for one in self.lease(store, study, want=9)} == {1}
        assert store.summary(study).n_samples == 4

    def test_the_end_tells_the_last_round(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (left,) = self.lease(store, study)
        store.end(study, 0, {})
        assert self.hand_in(store, study, drawn(left)) == ("superseded",)
