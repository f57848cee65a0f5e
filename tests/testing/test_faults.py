"""Every test of the contract of `Strategy` catches a strategy with a fault."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from kabc import Gaussian, KabcError
from kabc.strategies import Strategy
from kabc.strategies.peers.pair_tests.manole_ramdas import ManoleRamdasKABC
from kabc.testing import StrategyConformance
from tests.testing import faulty


class TestASoundStrategy(StrategyConformance):
    def make_strategy(self) -> Strategy:
        return faulty.Sound()


FAULTS: dict[str, list[type[faulty.Sound]]] = {
    "asking_twice_gives_the_same_request_and_changes_nothing": [faulty.AsksForMoreEachTime],
    "looking_changes_nothing": [faulty.IsChangedByLooking],
    "what_was_looked_at_does_not_change_later": [faulty.ShowsItsOwnArrays],
    "requests_are_positive_whole_numbers_of_the_arms": [
        faulty.CountsArmsFromTheEnd,
        faulty.AsksInNumpy,
        faulty.AsksForNoneOfAnArm,
    ],
    "a_request_belongs_to_its_asker": [faulty.LendsItsRequest],
    "a_tell_without_an_ask_is_refused": [faulty.AsksItself],
    "a_second_tell_needs_a_second_ask": [faulty.AsksItself, faulty.IsToldAgain],
    "a_tell_with_an_arm_missing_is_refused": [faulty.FillsInMissingArms, faulty.TakesInBeforeItRefuses],
    "a_tell_of_an_arm_that_was_not_asked_for_is_refused": [
        faulty.DropsOtherArms,
        faulty.ForgetsItsRequestWhenItRefuses,
    ],
    "too_few_samples_are_refused": [faulty.DrawsUp, faulty.TakesInBeforeItRefuses],
    "too_many_samples_are_refused": [faulty.CutsOff, faulty.ForgetsItsRequestWhenItRefuses],
    "samples_that_are_no_finite_numbers_are_refused": [faulty.TakesNothingForZero, faulty.TakesInBeforeItRefuses],
    "another_number_of_columns_is_refused": [faulty.CutsColumns, faulty.ForgetsItsRequestWhenItRefuses],
    "what_is_no_mapping_is_refused": [faulty.NumbersTheRows, faulty.TakesInBeforeItRefuses],
    "told_arrays_are_not_changed_and_may_be_overwritten_afterwards": [
        faulty.KeepsTheCallersArrays,
        faulty.CentresTheCallersArrays,
    ],
    "the_same_samples_give_the_same_requests_and_the_same_answer": [faulty.SharesItsState, faulty.RollsDice],
    "a_log_of_samples_leads_back_to_where_it_was_written": [faulty.SharesItsState, faulty.RollsDice],
    "it_stops_and_then_asks_for_nothing_and_takes_nothing": [
        faulty.NeverStops,
        faulty.AsksForNothing,
        faulty.AsksOnAfterItsEnd,
        faulty.TakesMoreAfterItsEnd,
    ],
    "labels_are_numbered_by_first_appearance_and_are_k_groups_when_decided": [
        faulty.FindsTooManyGroups,
        faulty.ForgetsAnArm,
    ],
    "the_books_add_up": [faulty.CountsRounds, faulty.RemembersItsLastRound],
    "evidence_is_of_pairs_and_what_is_told_apart_stays_told_apart": [
        faulty.TellsOneWay,
        faulty.TellsAnArmFromItself,
        faulty.TakesBack,
        faulty.NamesARoundThatWasNot,
        faulty.CountsTwice,
    ],
    "the_least_number_of_groups_never_goes_down_and_fits_the_answer": [
        faulty.LosesAGroup,
        faulty.CertifiesTooManyGroups,
    ],
    "it_is_wrong_in_no_more_runs_than_delta_allows": [
        faulty.PartsEqualArms,
        faulty.CertifiesWhatIsCloseToo,
        faulty.CountsTooManyGroups,
    ],
    "a_status_comes_with_the_end_and_only_what_is_decided_is_certified": [
        faulty.HasAWordOfItsOwn,
        faulty.HasAStatusTooSoon,
        faulty.CertifiesAGuess,
    ],
}


@pytest.fixture(autouse=True)
def _nothing_shared() -> Iterator[None]:
    yield
    faulty.SharesItsState.tells.clear()


def test_every_test_of_the_contract_has_a_fault_that_it_catches() -> None:
    assert {f"test_{truth}" for truth in FAULTS} == {name for name in dir(StrategyConformance) if "test_" in name}


@pytest.mark.parametrize(("truth", "fault"), [(truth, fault) for truth in FAULTS for fault in FAULTS[truth]])
def test_a_fault_is_caught(truth: str, fault: type[faulty.Sound]) -> None:
    class Faulty(StrategyConformance):
        most_samples = 1_000_000 if fault is not faulty.NeverStops else 1_000

        def make_strategy(self) -> Strategy:
            return fault()

    with pytest.raises((AssertionError, KabcError)):
        getattr(Faulty(), f"test_{truth}")()


# ---------------------------------------------------------------- a threshold that is too small


class Scaled(ManoleRamdasKABC):
    """A proven threshold, times a factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        super().__init__(4, 2, 0.1, Gaussian(1.0), tight=True)

    def threshold(self, t: int) -> float:
        return self.factor * super().threshold(t)


class Law(StrategyConformance):
    law_samples = 200

    def __init__(self, factor: float) -> None:
        self.make = partial(Scaled, factor)

    def make_strategy(self) -> Strategy:
        return self.make()


def test_a_proven_threshold_passes_and_one_that_is_too_small_is_caught() -> None:
    Law(1.0).test_it_is_wrong_in_no_more_runs_than_delta_allows()
    with pytest.raises(AssertionError, match=r"wrong in \d+ of 60 runs, 14 are allowed; run \d+: it told arms"):
        Law(0.15).test_it_is_wrong_in_no_more_runs_than_delta_allows()
