"""Mutants of what studies promise: lost draws, leases, places in arms, effects of workers."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

MUTANTS = (
    Mutant(
        "study/policies.py",
        "MOST_DEATHS = 2",
        "MOST_DEATHS = 3",
        "a third worker may die of the same arm",
        "study/test_policies.py::test_each_policy_has_its_answer_to_a_first_and_a_second_death",
    ),
    Mutant(
        "study/policies.py",
        'return "fail" if on_loss == "raise" or deaths >= MOST_DEATHS else "draw"',
        'return "fail" if on_loss == "raise" or ticket.deaths >= MOST_DEATHS else "draw"',
        "deaths of one ticket instead of all of an arm",
        "study/test_policies.py::test_two_workers_that_died_with_different_draws_of_an_arm_are_a_pattern_too",
    ),
    Mutant(
        "study/effects.py",
        "now = np.concatenate([mine[begin:end], theirs[begin:end]])",
        "now = past",
        "bets on samples that the scores were learned from",
        "study/test_effects.py::test_evidence_of_equal_samples_is_rarely_large",
    ),
    Mutant(
        "study/effects.py",
        "rows.setdefault(ticket.arm, [])",
        "rows.setdefault(0, [])",
        "arms are mixed",
        "study/test_effects.py::test_arms_that_differ_are_no_effect_of_the_workers_that_drew_them",
    ),
    Mutant(
        "running/heartbeat.py",
        "_BEATS = 3",
        "_BEATS = 0.2",
        "a lease lapses before it is renewed",
        "running/test_heartbeat.py::test_a_slow_draw_keeps_its_lease_for_as_long_as_it_takes",
    ),
    Mutant(
        "arms/scans.py",
        "if start < self._oldest[arm]:",
        "if False:",
        "rows that were dropped are taken from what is there",
        "arms/test_seek.py::test_tickets_in_any_order_give_what_they_give_in_order",
    ),
)
