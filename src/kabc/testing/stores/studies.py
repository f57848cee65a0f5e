"""What a store does with studies as a whole."""

from __future__ import annotations

from collections import Counter
from functools import partial

from kabc.storage.errors import NoStudyError, StudyExistsError
from kabc.testing.stores.base import EMPTY, LAPSED, LONG, StoreTests, drawn, failed, refused, tickets


class StudyTests(StoreTests):
    """Studies, their facts, limits, states and figures."""

    def test_a_study_comes_back_as_it_was_made(self) -> None:
        store = self.make_storage()
        spec = {"arms": ["a", "b\u00e4", '<script>alert("x")</script>'], "delta": 0.05, "seed": None, "n": [1, 2]}
        made = store.create_study("nightly", spec, {"max_samples": 10**12})
        loaded = self.again(store).load_study("nightly")
        assert loaded == made
        assert (loaded.spec, loaded.limits, loaded.state) == (spec, {"max_samples": 10**12}, "running")
        assert (loaded.facts, loaded.answer) == (None, None)
        assert abs(loaded.created - store.now()) < 60

    def test_a_spec_is_copied(self) -> None:
        store, spec = self.make_storage(), {"arms": ["a"]}
        study = store.create_study("nightly", spec, EMPTY)
        spec["arms"].append("b")
        assert study.spec == store.load_study("nightly").spec == {"arms": ["a"]}

    def test_names_are_listed_from_the_oldest_on(self) -> None:
        store = self.make_storage()
        assert store.study_names() == []
        for name in ("c", "a", "b"):
            self.study(store, name)
        assert self.again(store).study_names() == ["c", "a", "b"]

    def test_a_name_is_taken_once(self) -> None:
        store = self.make_storage()
        self.study(store)
        second = self.again(store)
        assert "'nightly'" in refused(lambda: second.create_study("nightly", EMPTY, EMPTY), StudyExistsError)

    def test_a_misspelt_name_is_refused_with_the_one_that_is_like_it(self) -> None:
        store = self.make_storage()
        self.study(store)
        assert "did you mean 'nightly'?" in refused(lambda: store.load_study("nigthly"), NoStudyError)

    def test_names_that_cannot_be_shown_are_refused(self) -> None:
        store = self.make_storage()
        for name in ("", " ", "a\nb", "a\x00b", "\x1b[31m", "\ud800", "x" * 201):
            assert "visible characters" in refused(partial(store.create_study, name, EMPTY, EMPTY))
            refused(partial(store.load_study, name), NoStudyError)
        assert store.study_names() == []

    def test_what_is_not_json_is_refused(self) -> None:
        store = self.make_storage()
        assert "JSON" in refused(lambda: store.create_study("x", {"arms": object()}, EMPTY))
        assert store.study_names() == []

    def test_a_deleted_study_is_gone_with_all_that_belongs_to_it(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        other = self.study(store, "other")
        (ticket,) = self.lease(store, study)
        self.hand_in(store, study, drawn(ticket))
        store.add_note(study, "seen", EMPTY)
        store.delete_study(study)
        store.delete_study(study)  # twice is once
        assert store.study_names() == ["other"]
        for call in (partial(store.exchange, study, "ann", want=1), partial(store.summary, study)):
            assert "deleted" in refused(call, NoStudyError)
        assert store.create_study("nightly", EMPTY, EMPTY).id not in (study, other)  # ids are never used again

    def test_the_first_facts_count(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.set_facts(study, {"size": [500]}).facts == {"size": [500]}
        assert self.again(store).set_facts(study, {"size": [480]}).facts == {"size": [500]}
        assert store.load_study("nightly").facts == {"size": [500]}

    def test_limits_are_replaced_with_a_note(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.set_limits(study, {"max_samples": 200}, {"by": "ann"}).limits == {"max_samples": 200}
        assert self.again(store).load_study("nightly").limits == {"max_samples": 200}
        assert self.note(store, study, "limits").body == {"by": "ann"}

    def test_a_state_is_replaced_with_a_note_of_its_name(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        assert store.set_state(study, "paused", {"why": "lunch"}).state == "paused"
        assert self.again(store).load_study("nightly").state == "paused"
        assert self.note(store, study, "paused").body == {"why": "lunch"}

    def test_a_study_ends_with_its_answer_and_runs_again_with_new_limits(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        ended = store.end(study, 0, {"labels": [0, 1, 0]})
        assert (ended.state, ended.answer) == ("ended", {"labels": [0, 1, 0]})
        assert self.again(store).load_study("nightly") == ended
        store.open_round(study, 1, tickets(start=4)) if store.set_limits(
            study, EMPTY, EMPTY
        ).state == "running" else None
        assert len(self.lease(store, study, want=9)) == 3

    def test_limits_of_a_paused_study_leave_it_paused(self) -> None:
        store = self.make_storage()
        study = self.study(store)
        store.set_state(study, "paused", EMPTY)
        assert store.set_limits(study, EMPTY, EMPTY).state == "paused"

    def test_figures_count_what_counts(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store)
        for number in range(1, 4):
            leased = self.lease(store, study, want=3)
            self.hand_in(store, study, *[drawn(one, n_paid=5 if one.arm == 0 else 0) for one in leased])
            store.open_round(study, number, tickets(start=4 * number))
        (first, _) = self.lease(store, study, want=2)
        self.hand_in(store, study, drawn(first))
        figures = self.again(store).summary(study)
        assert (figures.n_rounds, figures.latest, figures.n_samples, figures.n_paid) == (4, 3, 40, 43)
        assert list(self.again(store).samples_per_arm(study).items()) == [(0, 16), (1, 12), (2, 12)]
        assert {state: n for state, n in figures.tickets.items() if n} == {"open": 1, "leased": 1, "done": 1}
        assert figures.study == store.load_study("nightly")
        assert figures.study.created <= figures.last_change <= store.now() + 1

    def test_figures_are_what_counting_gives_whatever_happens(self) -> None:
        store = self.make_storage()
        study, _ = self.one_round(store, arms=5)

        def same() -> None:
            other = self.again(store)
            seen = other.summary(study)
            there = other.tickets(study, seen.latest)
            assert {state: n for state, n in seen.tickets.items() if n} == Counter(one.state for one in there)
            left = other.unfinished(study)
            for state in ("open", "leased"):
                assert dict(left[state]) == Counter(one.arm for one in there if one.state == state)
            assert other.leases(study) == [one for one in there if one.state == "leased"]
            done = list(other.draws(study, 0, seen.latest))
            per_arm: Counter[int] = Counter()
            for ticket, _ in done:
                per_arm[ticket.arm] += ticket.count
            assert dict(other.samples_per_arm(study)) == per_arm
            paid = [draw.n_paid or ticket.count for ticket, draw in done]
            assert (seen.n_samples, seen.n_paid) == (per_arm.total(), sum(paid))

        for number in range(3):
            first, second = self.lease(store, study, "ann", 2, LAPSED)
            same()
            taken = self.lease(store, study, "bob", 3)  # two of them lapsed
            same()
            store.renew(study, "bob", {one.id: one.lease for one in taken}, LONG)
            self.hand_in(store, study, drawn(taken[0], n_paid=7))
            self.hand_in(store, study, drawn(taken[0], n_paid=9))  # twice is once
            self.hand_in(store, study, drawn(first, value=2.0), drawn(second, value=2.0))  # too late
            same()
            self.hand_in(store, study, failed(taken[1]), failed(taken[2], final=False))
            same()
            store.reopen(study, EMPTY)
            same()
            store.exchange(study, "bob", want=1)
            store.bury(study, "bob", counted=True)
            same()
            held = self.lease(store, study, "ann", 2)
            self.hand_in(store, study, drawn(held[0]), failed(held[1]))
            same()
            store.open_round(study, number + 1, tickets(5, start=4 * number + 4))  # what is left never will be drawn
            same()
        store.exchange(study, "ann", [drawn(one) for one in self.lease(store, study, "ann", 2)], want=1)
        same()
        store.end(study, 3, EMPTY)
        same()

    def test_figures_of_a_new_study_are_zero(self) -> None:
        store = self.make_storage()
        figures = store.summary(self.study(store))
        assert (figures.n_rounds, figures.latest, figures.n_samples, figures.n_paid) == (0, -1, 0, 0)
        assert not any(figures.tickets.values())
        assert dict(store.samples_per_arm(figures.study.id)) == {}
