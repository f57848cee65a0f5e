"""Every test of the contract of `Storage` catches a store with a fault."""

from __future__ import annotations

import pytest

from kabc.storage.contract import Storage
from kabc.storage.errors import StorageError
from kabc.testing import StorageConformance
from tests.testing import faulty_leases as leases
from tests.testing import faulty_stores as faulty

FAULTS: dict[str, list[type[Storage]]] = {
    "a_study_comes_back_as_it_was_made": [faulty.LosesLimits],
    "a_spec_is_copied": [faulty.KeepsTheCallersSpec],
    "names_are_listed_from_the_oldest_on": [faulty.SortsNames],
    "a_name_is_taken_once": [faulty.MakesTwins],
    "a_misspelt_name_is_refused_with_the_one_that_is_like_it": [faulty.GivesNoHint],
    "names_that_cannot_be_shown_are_refused": [faulty.RenamesStudies],
    "what_is_not_json_is_refused": [faulty.WritesObjectsAsText],
    "a_deleted_study_is_gone_with_all_that_belongs_to_it": [faulty.OnlyHidesWhatIsDeleted],
    "the_first_facts_count": [faulty.LastFactsCount],
    "limits_are_replaced_with_a_note": [faulty.WritesNoNotes],
    "a_state_is_replaced_with_a_note_of_its_name": [faulty.WritesNoNotes],
    "a_study_ends_with_its_answer_and_runs_again_with_new_limits": [faulty.StaysEnded, faulty.LosesAnswers],
    "limits_of_a_paused_study_leave_it_paused": [faulty.WakesThePaused],
    "figures_count_what_counts": [faulty.CountsOpenTickets, faulty.CountsOneRoundMore],
    "figures_are_what_counting_gives_whatever_happens": [faulty.CountsFailedAsOpen, faulty.ForgetsLapsedLeases],
    "figures_of_a_new_study_are_zero": [faulty.CountsOneRoundMore],
    "tickets_come_back_in_the_order_in_which_they_were_asked_for": [faulty.SortsByArm],
    "a_round_that_is_there_rules_over_a_different_one": [faulty.OpensAgain],
    "a_round_may_be_empty": [faulty.RefusesEmptyRounds],
    "a_round_before_the_latest_one_is_refused": [faulty.OpensAnything],
    "tickets_without_samples_or_twice_the_same_are_refused": [faulty.OpensAnything],
    "draws_are_read_in_ticket_order_whatever_came_first": [faulty.ReadsAsTheyCame],
    "many_draws_are_all_read_once": [faulty.ReadsAPage],
    "rows_keep_their_type_and_shape": [faulty.KeepsFloats],
    "tickets_of_a_told_round_cannot_be_finished_any_more": [faulty.LeavesToldRoundsOpen],
    "the_end_tells_the_last_round": [faulty.LosesAnswers],
    "tickets_are_dealt_by_place_and_each_to_one_worker": [leases.LendsToTwo],
    "none_are_dealt_unless_wanted": [leases.AlwaysLends],
    "a_worker_gets_only_arms_that_it_can_serve": [leases.LendsAnyArm],
    "a_study_that_does_not_run_deals_nothing_but_takes_what_was_drawn": [leases.NeverPauses],
    "handing_in_and_leasing_are_one_call": [leases.LendsBeforeItTakes],
    "the_same_draw_handed_in_again_is_done_again_and_changes_nothing": [leases.RefusesRepeats, leases.CountsRepeats],
    "the_same_draw_twice_in_one_call_counts_once": [leases.CountsRepeats],
    "other_rows_for_a_ticket_that_is_done_are_late_ones_each_once": [leases.LastToComeCounts],
    "a_lease_of_another_worker_brings_and_ends_nothing": [leases.LendsToAnybody],
    "a_draw_that_cannot_count_has_failed": [leases.TakesAnyColumns],
    "what_cannot_count_and_is_not_the_latest_lease_is_not_kept": [leases.KeepsAllThatIsLate],
    "a_draw_that_is_discarded_is_late_and_drawn_again": [leases.NeverDiscards],
    "of_many_first_draws_one_says_how_many_columns_there_are": [leases.TakesAnyColumns],
    "a_ticket_of_another_study_is_refused": [leases.TakesForeignTickets, faulty.HandsInOneByOne],
    "outcomes_come_in_the_order_of_what_was_handed_in": [leases.SortsOutcomes],
    "a_lapsed_lease_goes_to_the_next_worker_with_a_higher_number": [leases.NeverLapses, faulty.WritesNoNotes],
    "the_latest_lease_counts_even_if_the_older_one_comes_first": [leases.FirstToComeCounts],
    "an_older_lease_that_comes_last_changes_nothing": [leases.LastToComeCounts, faulty.WritesNoNotes],
    "slowness_costs_nothing_while_nobody_else_has_the_ticket": [leases.PunishesSlowness],
    "a_lease_is_renewed_while_nobody_else_has_the_ticket": [leases.NeverRenews, leases.RenewsForAnybody],
    "a_lease_that_another_worker_has_is_not_renewed": [leases.RenewsForAnybody],
    "a_lease_that_is_done_is_not_renewed": [leases.RenewsForAnybody],
    "a_final_failure_is_the_end_of_its_ticket": [leases.RetriesFailures],
    "a_ticket_that_is_given_back_is_open_for_others_and_the_lease_is_over": [leases.KeepsWhatIsGivenBack],
    "a_failure_of_a_lost_lease_changes_nothing": [leases.AnyFailureCounts],
    "failed_tickets_are_opened_again_with_a_note": [leases.NeverReopens, faulty.WritesNoNotes],
    "leases_of_a_buried_worker_lapse_at_once_and_are_counted_once": [leases.BuriesNobody],
    "leases_of_a_worker_that_people_stopped_are_no_deaths": [leases.CountsEveryDeath],
    "burying_somebody_who_has_nothing_is_harmless": [leases.NotesEveryBurial],
    "a_buried_worker_that_lives_goes_on_while_nobody_else_has_its_ticket": [leases.EndsLeasesOfTheBuried],
    "deaths_are_kept_over_rounds": [leases.ForgetsOldDeaths],
    "who_dies_with_several_tickets_of_an_arm_dies_once": [leases.CountsTicketsOfTheDead],
    "deaths_of_a_ticket_that_people_open_again_are_forgotten": [leases.NeverForgetsDeaths],
    "one_worker_has_the_step": [faulty.EverybodySteps],
    "the_step_is_free_when_it_was_dropped_lapsed_or_its_worker_died": [faulty.FirstStepsForEver, leases.BuriesNobody],
    "notes_come_in_order_and_from_where_they_were_read_before": [faulty.NewestNotesFirst],
    "workers_are_listed_in_the_order_in_which_they_came": [faulty.SortsWorkers],
    "a_worker_is_seen_when_it_renews_and_hands_in": [faulty.SeesNobody],
    "a_snapshot_replaces_the_one_before": [faulty.KeepsTheFirstSnapshot],
    "tokens_are_listed_until_they_are_removed": [faulty.OnlyHidesTokens, faulty.TokensLastForEver],
    "the_clock_goes_forward_in_seconds": [faulty.HasAFixedClock],
    "the_revision_grows_with_every_change_and_with_nothing_else": [faulty.WakesForSignsOfLife],
    "waiting_ends_with_the_next_change": [faulty.NeverSeesAChange],
    "one_of_many_makes_the_study": [faulty.MakesTwins],
    "many_that_open_the_same_round_have_the_same_tickets": [faulty.OpensAgain],
    "workers_draw_every_ticket_once": [faulty.DropsADraw],
    "of_many_results_for_a_ticket_the_latest_lease_counts": [leases.SaysDoneToAll],
    "a_lapsed_lease_is_finished_or_leased_anew_and_never_both": [leases.LosesTheSlow],
    "every_note_is_kept": [faulty.LosesNotes],
}


def test_every_test_of_the_contract_has_a_fault_that_it_catches() -> None:
    assert {f"test_{truth}" for truth in FAULTS} == {name for name in dir(StorageConformance) if "test_" in name}


@pytest.mark.parametrize(("truth", "fault"), [(truth, fault) for truth in FAULTS for fault in FAULTS[truth]])
def test_a_fault_is_caught(truth: str, fault: type[Storage]) -> None:
    class Faulty(StorageConformance):
        def make_storage(self) -> Storage:
            return fault()

    with pytest.raises((AssertionError, StorageError, ValueError)):
        getattr(Faulty(), f"test_{truth}")()
