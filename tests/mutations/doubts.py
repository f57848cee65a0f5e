"""Mutants of the doubts about K: what counts as evidence that a group is two."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

MUTANTS = (
    Mutant(
        "strategies/anytime/doubts.py",
        "LIMIT = 20.0",
        "LIMIT = 5.0",
        "a right K is doubted more often than said",
        "strategies/anytime/test_doubts.py::test_the_limit_is_that_of_the_theory",
    ),
    Mutant(
        "strategies/anytime/doubts.py",
        "share = (a / np.maximum(both, 1))[groups]",
        "share = np.full(scores.shape, 0.5)",
        "a bet on unequal parts is not fair",
        "strategies/anytime/test_doubts.py::test_over_all_outcomes_the_factor_of_equal_arms_has_mean_at_most_1",
    ),
    Mutant(
        "strategies/anytime/check.py",
        "BETS, LOOKS = 0.5, 0.5",
        "BETS, LOOKS = 1.0, 1.0",
        "bets and looks each spend all of the 5 %",
        "strategies/anytime/test_check.py::test_the_shares_of_bets_and_looks_add_up_to_1",
    ),
    Mutant(
        "strategies/anytime/shuffles.py",
        "if p <= level) / len(LEVELS)",
        "if p <= level)",
        "each level of p spends all of the share of a look",
        "strategies/anytime/test_shuffles.py::test_over_all_ranks_the_grade_of_p_has_mean_1",
    ),
    Mutant(
        "strategies/anytime/shuffles.py",
        "for p in self.p_values) / len(LOOKS)",
        "for p in self.p_values)",
        "each look spends all of the share of the looks",
        "strategies/anytime/test_shuffles.py::test_evidence_grows_look_by_look",
    ),
    Mutant(
        "strategies/anytime/shuffles.py",
        "np.mean(total >= total[0] * (1 - _ROUNDING))",
        "np.mean(total > total[0] * (1 + _ROUNDING))",
        "the samples do not count as a shuffle, so p may be 0",
        "strategies/anytime/test_shuffles.py::test_the_samples_themselves_count_as_a_shuffle",
    ),
    Mutant(
        "strategies/anytime/shuffles.py",
        "if p > small:",
        "if p <= small:",
        "a look ends early just where its p is small, and counts with few shuffles",
        "strategies/anytime/test_shuffles.py::test_more_shuffles_are_made_only_while_p_is_small",
    ),
    Mutant(
        "strategies/anytime/shuffles.py",
        "np.searchsorted(owners[order], arms)",
        'np.searchsorted(owners[order], arms, "right") - n',
        "which samples a look sees depends on when the run was settled",
        "strategies/anytime/test_shuffles.py::test_only_the_first_samples_of_each_arm_matter",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "told[self.claimed] = 0",
        "pass",
        "pairs of a refuted claim stay certified",
        "strategies/anytime/test_check.py::test_a_refuted_claim_proves_one_more_group_and_no_pair",
    ),
)
