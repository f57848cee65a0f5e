"""Mutants of the thresholds of strategies that test pairs or classes."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

ALPHABETS = (
    Mutant(
        "strategies/peers/tas_fw/judges.py",
        "math.log(math.comb(n_arms, 2) / delta)",
        "-math.log(delta)",
        "no union over pairs",
        "strategies/peers/tas_fw/test_strategy.py::test_a_class_is_judged_at_one_over_delta_and_pairs_at_their_number_over_delta",
    ),
    Mutant(
        "strategies/peers/tas_fw/judges.py",
        "        self.log_threshold = -math.log(delta)",
        "        self.log_threshold = -math.log(2 * delta)",
        "delta twice",
        "strategies/peers/tas_fw/test_strategy.py::test_a_class_is_judged_at_one_over_delta_and_pairs_at_their_number_over_delta",
    ),
    Mutant(
        "strategies/peers/tas_fw/judges.py",
        "np.maximum(mean / 2, 1e-300)",
        "np.maximum(mean, 1e-300)",
        "two kinds of evidence are added",
        "strategies/peers/tas_fw/test_judges.py::test_evidence_against_a_partition_is_its_formula",
    ),
    Mutant(
        "strategies/peers/tas_fw/likelihoods.py",
        "np.logaddexp(*self._ways.T) - math.log(2)",
        "np.logaddexp(*self._ways.T)",
        "two predictions are added",
        "strategies/peers/tas_fw/test_judges.py::test_evidence_against_a_partition_is_its_formula",
    ),
    Mutant(
        "strategies/peers/tas_fw/likelihoods.py",
        "log_q - log_likelihood(counts[arms, None] + counts)",
        "log_q - log_mixture(counts[arms, None] + counts)",
        "the truth may be likelier than the mixture",
        "strategies/peers/tas_fw/test_judges.py::test_evidence_against_a_pair_is_its_formula",
    ),
    Mutant(
        "strategies/peers/tas_fw/strategy.py",
        (
            "                self.judge.predictions.predict(arm, symbol, self._counts)\n"
            "                self._counts[arm, symbol] += 1\n"
        ),
        (
            "                self._counts[arm, symbol] += 1\n"
            "                self.judge.predictions.predict(arm, symbol, self._counts)\n"
        ),
        "samples are predicted after they were seen",
        "strategies/peers/tas_fw/test_judges.py::test_evidence_against_a_partition_is_its_formula",
    ),
    Mutant(
        "strategies/peers/tas_fw/judges.py",
        "if len(open_ones) == 1 else None",
        "if len(open_ones) >= 1 else None",
        "other partitions are left",
        "strategies/peers/tas_fw/test_strategy.py::test_every_task_finds_the_truth",
    ),
)

PAIRS = (
    Mutant(
        "strategies/peers/pair_tests/by_test.py",
        "if n_groups == self.n_clusters:",
        "if n_groups <= self.n_clusters:",
        "stops before K groups are there",
        "strategies/peers/pair_tests/test_by_test.py::test_a_guess_respects_the_pairs_told_apart",
    ),
    Mutant(
        "strategies/peers/pair_tests/witness.py",
        "limits = np.full_like(sums, log_threshold(self.n_arms, self.delta))",
        "limits = np.full_like(sums, log_threshold(2, self.delta))",
        "no union over pairs",
        "strategies/peers/pair_tests/test_witness.py::test_wealth_is_that_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/witness.py",
        "factors = 1 + bets * payoffs[:, :, t]",
        "factors = 1 + np.abs(bets * payoffs[:, :, t])",
        "no bet is lost",
        "strategies/peers/pair_tests/test_witness.py::test_wealth_is_that_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/manole_ramdas.py",
        "alpha = self.delta / self.n_pairs",
        "alpha = self.delta",
        "no union over pairs",
        "strategies/peers/pair_tests/test_manole_ramdas.py::test_the_constants_of_the_proof_are_the_default_and_the_printed_ones_an_option",
    ),
    Mutant(
        "strategies/peers/pair_tests/manole_ramdas.py",
        "4 * math.sqrt(2 * supremum / t)",
        "4 * math.sqrt(supremum / t)",
        "a constant of the bound",
        "strategies/peers/pair_tests/test_manole_ramdas.py::test_thresholds_are_those_of_the_formulas",
    ),
    Mutant(
        "strategies/peers/pair_tests/manole_ramdas.py",
        "2 * math.sqrt(g_range / t)",
        "math.sqrt(g_range / t)",
        "a constant of the bound",
        "strategies/peers/pair_tests/test_manole_ramdas.py::test_thresholds_are_those_of_the_formulas",
    ),
    Mutant(
        "strategies/peers/pair_tests/manole_ramdas.py",
        "max(1.0, a) ** 2 * math.pi**2 / 6",
        "math.pi**2 / 6",
        "no union over epochs",
        "strategies/peers/pair_tests/test_manole_ramdas.py::test_thresholds_are_those_of_the_formulas",
    ),
    Mutant(
        "strategies/peers/pair_tests/bernstein.py",
        "math.log(2 * self.n_arms / self.delta)",
        "math.log(2 / self.delta)",
        "no union over arms",
        "strategies/peers/pair_tests/test_bernstein.py::test_balls_are_those_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/bernstein.py",
        "_LARGEST = 0.8",
        "_LARGEST = 0.99",
        "beyond the condition of the theorem",
        "strategies/peers/pair_tests/test_by_test.py::test_fewer_samples_than_the_first_round_tell_nothing_apart",
    ),
    Mutant(
        "strategies/peers/pair_tests/bernstein.py",
        "+ 4 * self.bound * self.log_term)",
        "+ 2 * self.bound * self.log_term)",
        "a constant of the bound",
        "strategies/peers/pair_tests/test_bernstein.py::test_balls_are_those_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/bernstein.py",
        "seen.penalty / (4 * self.bound)",
        "seen.penalty / (8 * self.bound)",
        "a constant of the bound",
        "strategies/peers/pair_tests/test_bernstein.py::test_balls_are_those_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/bernstein.py",
        "np.cumsum(deviations, axis=1) - deviations",
        "np.cumsum(deviations, axis=1)",
        "a weight sees the sample that it weighs",
        "strategies/peers/pair_tests/test_bernstein.py::test_balls_are_those_of_the_definition_whatever_the_rounds",
    ),
    Mutant(
        "strategies/peers/pair_tests/permutation.py",
        "6 * self.delta / (math.pi * number) ** 2",
        "self.delta",
        "no union over rounds",
        "strategies/peers/pair_tests/test_permutation.py::test_levels_of_all_pairs_and_rounds_sum_to_delta",
    ),
    Mutant(
        "strategies/peers/pair_tests/permutation.py",
        "self._share(number) / self.n_pairs",
        "self._share(number)",
        "no union over pairs",
        "strategies/peers/pair_tests/test_permutation.py::test_levels_of_all_pairs_and_rounds_sum_to_delta",
    ),
    Mutant(
        "strategies/peers/pair_tests/permutation.py",
        "math.ceil(1 / self.alpha(number)) - 1",
        "math.ceil(1 / self.alpha(number)) // 2",
        "half of the relabellings",
        "strategies/peers/pair_tests/test_permutation.py::test_pairs_told_apart_are_not_tested_again_and_keep_their_evidence",
    ),
    Mutant(
        "strategies/peers/pair_tests/permutation.py",
        ">= observed * (1 - _TIE)",
        "> observed * (1 + _TIE)",
        "equal distances tell arms apart",
        "strategies/peers/pair_tests/test_permutation.py::test_identical_samples_are_never_told_apart",
    ),
)

MUTANTS = (*ALPHABETS, *PAIRS)
