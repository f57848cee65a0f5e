"""What a store does with leases: who may draw, whose result counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kabc.storage.contract import Answered, Draw, NewTicket, Ticket
from kabc.testing.stores.base import LAPSED, LONG, StoreTests, drawn, drawn_rows, failed, ids, refused, tickets


class LeaseTests(StoreTests):
    """A lease has a number. Which result counts is decided by it alone."""

    # ------------------------------------------------------------ dealing

    def test_tickets_are_dealt_by_place_and_each_to_one_worker(self) -> None:
        store = self.make_storage()
        study, opened = self.one_round(store, arms=5)
        ann, bob = self.lease(store, study, "ann", 2), self.lease(self.again(store), study, "bob", 9)
        assert ids(ann) + ids(bob) == ids(opened)
        assert {(one.state, one.lease, one.worker) for one in ann} == {("leased", 1, "ann")}
        assert {one.worker for one in bob} == {"bob"}
        assert all(0 < one.expires - store.now() <= LONG for one in ann)
        assert self.lease(store, study, "cid") == []
        assert store.leases(study) == store.tickets(study, 0) == [*ann, *bob]

    def test_none_are_dealt_unless_wanted(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        assert store.exchange(study, "ann").leased == ()
        assert store.leases(study) == []

    def test_a_worker_gets_only_arms_that_it_can_serve(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=4)
        assert [one.arm for one in store.exchange(study, "ann", want=9, arms={3, 1}).leased] == [1, 3]
        assert store.exchange(study, "bob", want=9, arms={1, 3}).leased == ()
        assert store.exchange(study, "bob", want=9, arms=set()).leased == ()
        assert [one.arm for one in store.exchange(study, "bob", want=9).leased] == [0, 2]

    def test_a_study_that_does_not_run_deals_nothing_but_takes_what_was_drawn(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (held,) = self.lease(store, study)
        store.set_state(study, "paused", {})
        assert store.exchange(study, "ann", [drawn(held)], want=1) == Answered(("done",), ())
        store.set_state(study, "running", {})
        assert len(self.lease(store, study, want=9)) == 2

    def test_handing_in_and_leasing_are_one_call(self) -> None:
        store = self.make_storage()
        study, opened = self.one_round(store)
        (first,) = self.lease(store, study)
        answer = store.exchange(study, "ann", [drawn(first)], want=1, seconds=LONG)
        assert answer.outcomes == ("done",)
        assert ids(answer.leased) == [opened[1].id]

    # ------------------------------------------------------------ handing in

    def test_the_same_draw_handed_in_again_is_done_again_and_changes_nothing(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (one,) = self.lease(store, study)
        assert self.hand_in(store, study, drawn(one)) == ("done",)
        before = store.summary(study)
        assert self.hand_in(self.again(store), study, drawn(one)) == ("done",)
        assert store.summary(study) == before
        ((_, kept),) = store.draws(study, 0, 0)
        assert np.array_equal(kept.rows, drawn(one).rows)
        assert store.notes(study) == []

    def test_other_rows_for_a_ticket_that_is_done_are_late_ones_each_once(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (one,) = self.lease(store, study)
        assert self.hand_in(store, study, drawn(one), drawn(one, value=2.0)) == ("done", "superseded")
        for value in (3.0, 2.0, 3.0):
            assert self.hand_in(self.again(store), study, drawn(one, value=value)) == ("superseded",)
        late = [draw.rows.tolist() for _, draw in store.late_draws(study)]
        assert late == [drawn(one, value=value).rows.tolist() for value in (2.0, 3.0)]
        assert (store.summary(study).n_samples, self.kinds(store, study)) == (4, ["superseded"] * 2)

    def test_a_lease_of_another_worker_brings_and_ends_nothing(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (one,) = self.lease(store, study)
        theirs = replace(drawn(one, value=2.0), worker="bob")
        assert self.hand_in(store, study, theirs, replace(failed(one), worker="bob")) == ("superseded",) * 2
        assert self.hand_in(store, study, drawn(one)) == ("done",)
        assert self.hand_in(store, study, replace(drawn(one), worker="bob")) == ("superseded",)
        ((_, kept),) = store.draws(study, 0, 0)
        assert (kept.worker, kept.rows.tolist()) == ("ann", drawn(one).rows.tolist())
        assert [draw.worker for _, draw in store.late_draws(study)] == ["bob", "bob"]

    # ------------------------------------------------------------ draws that cannot count

    def test_a_draw_that_cannot_count_has_failed(self) -> None:
        good = np.arange(4.0)
        bad: dict[str, Callable[[Ticket], Draw]] = {
            "an array of shape (3,)": drawn_rows(good[:3]),
            "not finite": drawn_rows(np.array([0.0, np.nan, np.inf, 1.0])),
            "2 columns": drawn_rows(np.zeros((4, 2))),
            "texts in column 1": drawn_rows(np.array(["timeout"] * 4)),
            "objects": drawn_rows(np.array([1.0, None, 2.0, 3.0], dtype=object)),
            "no seconds since 1970": lambda one: replace(drawn(one), started=1e308),
        }
        store = self.make_storage()
        study, opened = self.one_round(store, arms=len(bad) + 1)
        first, *others = self.lease(store, study, want=len(bad) + 1)
        self.hand_in(store, study, drawn(first))
        for one, (words, make) in zip(others, bad.items(), strict=True):
            assert self.hand_in(store, study, make(one)) == ("failed",)
            assert self.hand_in(self.again(store), study, make(one)) == ("failed",)
            note = store.notes(study)[-1]
            assert (note.kind, note.body["ticket"], note.body["arm"]) == ("failed", one.id, one.arm)
            assert words in note.body["message"]
        assert self.kinds(store, study) == ["failed"] * len(bad)
        assert (store.summary(study).n_samples, list(store.late_draws(study))) == (4, [])
        store.reopen(study, {})
        again = self.lease(store, study, want=9)
        assert ids(again) == ids(opened[1:])
        assert set(self.hand_in(store, study, *map(drawn, again))) == {"done"}

    def test_what_cannot_count_and_is_not_the_latest_lease_is_not_kept(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (old,) = self.lease(store, study, seconds=LAPSED)
        self.lease(store, study, "bob")
        assert self.hand_in(store, study, drawn_rows(np.full(4, np.nan))(old)) == ("superseded",)
        assert list(store.late_draws(study)) == []

    def test_a_draw_that_is_discarded_is_late_and_drawn_again(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        wide, second, _ = self.lease(store, study, want=3)
        self.hand_in(store, study, drawn_rows(np.zeros((4, 2)))(wide))
        assert self.hand_in(store, study, drawn(second)) == ("failed",)
        assert store.discard(study, wide.id, {"by": "bob"}).id == wide.id
        refused(lambda: store.discard(study, wide.id, {}))
        refused(lambda: store.discard(study, 12345, {}))
        body = self.note(store, study, "discarded").body
        assert (body["ticket"], body["arm"], body["worker"], body["by"]) == (wide.id, 0, "ann", "bob")
        assert [(draw.lease, draw.rows.shape) for _, draw in self.again(store).late_draws(study)] == [(1, (4, 2))]
        figures = store.summary(study)
        assert (figures.n_samples, figures.n_paid, dict(store.samples_per_arm(study))) == (0, 0, {})
        assert self.hand_in(store, study, drawn(wide)) == ("superseded",)
        (new,) = self.lease(store, study, "bob")
        assert (new.id, new.lease, new.deaths) == (wide.id, 2, 0)
        assert self.hand_in(store, study, drawn(new)) == ("done",)
        store.open_round(study, 1, tickets(start=4))
        assert "latest round" in refused(lambda: store.discard(study, new.id, {}))
        assert (store.summary(study).n_samples, dict(store.samples_per_arm(study))) == (4, {0: 4})

    def test_the_same_draw_twice_in_one_call_counts_once(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (one,) = self.lease(store, study)
        assert self.hand_in(store, study, drawn(one), drawn(one)) == ("done", "done")
        assert store.summary(study).n_samples == 4

    def test_a_ticket_of_another_study_is_refused(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        other = self.study(store, "other")
        (one,) = self.lease(store, study)
        assert f"ticket {one.id} is not one of study" in refused(lambda: self.hand_in(store, other, drawn(one)))
        unknown = replace(drawn(one), ticket=12345)
        assert "ticket 12345 is not one" in refused(lambda: self.hand_in(store, study, drawn(one), unknown))
        assert [ticket.state for ticket in store.tickets(study, 0)] == [
            "leased",
            "open",
            "open",
        ]  # nothing is handed in

    def test_outcomes_come_in_the_order_of_what_was_handed_in(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (old,) = self.lease(store, study, "ann", seconds=LAPSED)
        new, second = self.lease(store, study, "bob", 2)
        finished = [drawn(second, "bob"), drawn(old, "bob"), drawn(new, "bob")]
        assert store.exchange(study, "bob", finished).outcomes == ("done", "superseded", "done")

    # ------------------------------------------------------------ lapses

    def test_a_lapsed_lease_goes_to_the_next_worker_with_a_higher_number(self) -> None:
        store = self.make_storage()
        study, opened = self.one_round(store)
        (old,) = self.lease(store, study, "ann", seconds=LAPSED)
        assert store.leases(study) == [old]
        (new,) = self.lease(self.again(store), study, "bob")
        assert (new.id, new.lease, new.worker, new.deaths) == (opened[0].id, 2, "bob", 1)
        assert store.deaths(study) == {0: 1}
        body = self.note(store, study, "lapsed").body
        assert (body["worker"], body["arm"], body["lease"], body["counted"]) == ("ann", 0, 1, True)

    def test_the_latest_lease_counts_even_if_the_older_one_comes_first(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (old,) = self.lease(store, study, "ann", seconds=LAPSED)
        (new,) = self.lease(store, study, "bob")
        assert self.hand_in(store, study, drawn(old, value=1.0)) == ("superseded",)
        assert self.hand_in(store, study, drawn(new, value=2.0)) == ("done",)
        ((_, kept),) = store.draws(study, 0, 0)
        assert np.array_equal(kept.rows, drawn(new, value=2.0).rows)

    def test_an_older_lease_that_comes_last_changes_nothing(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (old,) = self.lease(store, study, "ann", seconds=LAPSED)
        (new,) = self.lease(store, study, "bob")
        assert self.hand_in(store, study, drawn(new, value=2.0)) == ("done",)
        assert self.hand_in(store, study, drawn(old, value=1.0)) == ("superseded",)
        assert self.hand_in(store, study, drawn(old, value=1.0)) == ("superseded",)
        ((ticket, late),) = self.again(store).late_draws(study)
        assert (late.ticket, late.lease, late.worker, late.late) == (ticket.id, 1, "ann", True)
        assert np.array_equal(late.rows, drawn(old, value=1.0).rows)
        assert self.kinds(store, study).count("superseded") == 1
        assert store.summary(study).n_samples == 4

    def test_slowness_costs_nothing_while_nobody_else_has_the_ticket(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (slow,) = self.lease(store, study, seconds=LAPSED)
        assert self.hand_in(store, study, drawn(slow)) == ("done",)
        assert store.deaths(study) == {}

    def test_a_lease_is_renewed_while_nobody_else_has_the_ticket(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        (one,) = self.lease(store, study, seconds=LAPSED)
        assert store.renew(study, "ann", {one.id: one.lease}, LONG) == {one.id}
        assert self.lease(store, study, "bob") == []
        assert store.renew(study, "bob", {one.id: one.lease}, LONG) == set()
        assert store.renew(study, "ann", {one.id: 0, one.id + 99: 1}, LONG) == set()
        assert store.renew(study, "ann", {}, LONG) == set()

    def test_a_lease_that_another_worker_has_is_not_renewed(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (old,) = self.lease(store, study, "ann", seconds=LAPSED)
        (new,) = self.lease(store, study, "bob")
        assert store.renew(study, "ann", {old.id: old.lease}, LONG) == set()
        assert store.renew(study, "bob", {new.id: new.lease}, LONG) == {new.id}

    def test_a_lease_that_is_done_is_not_renewed(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        (one,) = self.lease(store, study)
        self.hand_in(store, study, drawn(one))
        assert store.renew(study, "ann", {one.id: one.lease}, LONG) == set()
        assert [ticket.state for ticket in store.tickets(study, 0)] == ["done", "open", "open"]

    # ------------------------------------------------------------ failures

    def test_a_final_failure_is_the_end_of_its_ticket(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        (one,) = self.lease(store, study)
        assert self.hand_in(store, study, failed(one)) == ("done",)
        assert self.hand_in(store, study, failed(one)) == ("done",)
        assert [ticket.state for ticket in self.again(store).tickets(study, 0)] == ["failed"]
        assert self.note(store, study, "failed").body["message"] == "the line is dead"
        assert self.lease(store, study, "bob") == []
        assert self.hand_in(store, study, drawn(one)) == ("superseded",)

    def test_a_ticket_that_is_given_back_is_open_for_others_and_the_lease_is_over(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        (one,) = self.lease(store, study)
        assert self.hand_in(store, study, failed(one, "stopped", final=False)) == ("done",)
        assert store.renew(study, "ann", {one.id: one.lease}, LONG) == set()
        assert self.note(store, study, "returned").body["message"] == "stopped"
        assert self.hand_in(store, study, drawn(one)) == ("superseded",)
        (new,) = self.lease(store, study, "bob")
        assert (new.lease, new.deaths) == (2, 0)

    def test_a_failure_of_a_lost_lease_changes_nothing(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        (old,) = self.lease(store, study, seconds=LAPSED)
        (new,) = self.lease(store, study, "bob")
        assert self.hand_in(store, study, failed(old)) == ("superseded",)
        assert self.hand_in(store, study, drawn(new)) == ("done",)

    def test_failed_tickets_are_opened_again_with_a_note(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=2)
        one, _ = self.lease(store, study, want=2)
        self.hand_in(store, study, failed(one))
        assert self.again(store).reopen(study, {"by": "bob"}) == 1
        assert store.reopen(study, {"by": "bob"}) == 0
        assert self.note(store, study, "reopened").body == {"by": "bob"}
        (new,) = self.lease(store, study, "bob", 9)
        assert (new.id, new.lease) == (one.id, 2)

    # ------------------------------------------------------------ the dead

    def test_leases_of_a_buried_worker_lapse_at_once_and_are_counted_once(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        first, second = self.lease(store, study, "ann", 2)
        self.lease(store, study, "bob", 1)
        assert self.again(store).bury(study, "ann", counted=True) == 2
        assert store.bury(study, "ann", counted=True) == 0
        assert store.deaths(study) == {0: 1, 1: 1}
        again = self.lease(store, study, "cid", 9)
        assert ids(again) == [first.id, second.id]
        assert [(one.lease, one.deaths) for one in again] == [(2, 1), (2, 1)]
        assert self.kinds(store, study) == ["lapsed", "lapsed"]

    def test_leases_of_a_worker_that_people_stopped_are_no_deaths(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        self.lease(store, study, "ann")
        assert store.bury(study, "ann", counted=False) == 1
        (new,) = self.lease(store, study, "bob")
        assert (new.lease, new.deaths) == (2, 0)
        assert store.deaths(study) == {}
        assert self.note(store, study, "lapsed").body["counted"] is False

    def test_burying_somebody_who_has_nothing_is_harmless(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        assert store.bury(study, "nobody", counted=True) == 0
        assert store.notes(study) == []

    def test_a_buried_worker_that_lives_goes_on_while_nobody_else_has_its_ticket(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=2)
        one, two = self.lease(store, study, "ann", 2)
        store.bury(study, "ann", counted=True)
        assert store.renew(study, "ann", {one.id: one.lease}, LONG) == {one.id}
        assert ids(self.lease(store, study, "bob", 9)) == [two.id]
        assert self.hand_in(store, study, drawn(one), drawn(two)) == ("done", "superseded")

    def test_deaths_are_kept_over_rounds(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        self.lease(store, study, "ann", 1, LAPSED)
        leased = self.lease(store, study, "bob", 3)
        self.hand_in(store, study, *[drawn(one) for one in leased])
        store.open_round(study, 1, tickets(start=4))
        self.lease(store, study, "cid", 1, LAPSED)
        self.lease(store, study, "bob", 1)
        assert store.deaths(study) == {0: 2}

    def test_who_dies_with_several_tickets_of_an_arm_dies_once(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.open_round(study, 0, [NewTicket(0, piece, piece, 1) for piece in range(3)])
        self.lease(store, study, "ann", 3)
        store.bury(study, "ann", counted=True)
        assert self.again(store).deaths(study) == {0: 1}
        self.lease(store, study, "bob", 2, LAPSED)
        assert [one.deaths for one in self.lease(store, study, "cid", 3)] == [2, 2, 1]
        assert store.deaths(study) == {0: 2}

    def test_deaths_of_a_ticket_that_people_open_again_are_forgotten(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=1)
        self.lease(store, study, "ann", 1, LAPSED)
        (again,) = self.lease(store, study, "bob")
        self.hand_in(store, study, failed(again))
        assert store.deaths(study) == {0: 1}
        store.reopen(study, {})
        assert store.deaths(study) == {}
        self.lease(store, study, "cid", 1, LAPSED)
        (new,) = self.lease(store, study, "bob")
        assert (new.deaths, store.deaths(study)) == (1, {0: 1})
