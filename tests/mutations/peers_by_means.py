"""Mutants of the thresholds of strategies that group by means."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

BOC = (
    Mutant(
        "strategies/peers/boc/thresholds.py",
        "2 * d * float(np.log(4 + np.log(counts)).sum())",
        "d * float(np.log(4 + np.log(counts)).sum())",
        "half of the price of looking at all times",
        "strategies/peers/boc/test_thresholds.py::test_thresholds_are_those_of_the_paper",
    ),
    Mutant(
        "strategies/peers/boc/thresholds.py",
        "+ size * psi(",
        "+ psi(",
        "the price of one coordinate only",
        "strategies/peers/boc/test_thresholds.py::test_thresholds_are_those_of_the_paper",
    ),
    Mutant(
        "strategies/peers/boc/thresholds.py",
        "return float(2 - 2 * math.log(4 * h)",
        "return float(-2 * math.log(4 * h)",
        "a constant of Psi",
        "strategies/peers/boc/test_thresholds.py::test_psi_is_that_of_the_paper",
    ),
    Mutant(
        "strategies/peers/boc/solver.py",
        "or (sizes[a] == 1 and sizes[b] == 1 and spare)",
        "or False",
        "two single arms are never joined: the fault of the paper",
        "strategies/peers/boc/test_strategy.py::test_two_groups_of_one_arm_that_look_alike_are_not_taken_for_two",
    ),
    Mutant(
        "strategies/peers/boc/estimate.py",
        "- math.sqrt(z_1)) ** 2 / 2",
        "- math.sqrt(z_1)) ** 2",
        "twice the statistic",
        "strategies/peers/boc/test_strategy.py::test_it_stops_when_the_statistic_reaches_the_proven_threshold_and_not_before",
    ),
    Mutant(
        "strategies/peers/boc/estimate.py",
        "math.sqrt(z_2) - math.sqrt(z_1)",
        "math.sqrt(z_2)",
        "the misfit of the estimate is left out",
        "strategies/peers/boc/test_strategy.py::test_arms_are_drawn_in_the_order_of_the_pseudocode",
    ),
    Mutant(
        "strategies/peers/boc/strategy.py",
        'if self.threshold == "heuristic":',
        "if self.threshold:",
        "the heuristic threshold is taken for the proven one",
        "strategies/peers/boc/test_strategy.py::test_it_stops_when_the_statistic_reaches_the_proven_threshold_and_not_before",
    ),
    Mutant(
        "strategies/peers/boc/strategy.py",
        "self._statistic >= self._beta()",
        "self._statistic >= self._beta() / 2",
        "half of the threshold",
        "strategies/peers/boc/test_strategy.py::test_it_stops_when_the_statistic_reaches_the_proven_threshold_and_not_before",
    ),
    Mutant(
        "strategies/peers/boc/strategy.py",
        'certified=self.stopped and self.threshold == "proven"',
        "certified=self.stopped",
        "the heuristic is certified",
        "strategies/peers/boc/test_strategy.py::test_the_proven_threshold_certifies_and_the_heuristic_one_does_not",
    ),
)

ACB = (
    Mutant(
        "strategies/peers/acb/rules.py",
        "max(32.0**2, 8 * c)",
        "max(32.0, 8 * c)",
        "the constant of the stages",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/rules.py",
        "max(64.0, 4 * math.sqrt(2) * c)",
        "max(8.0, 4 * math.sqrt(2) * c)",
        "the constant of classification",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/rules.py",
        "max(2048.0, 64 * c, 92 * math.sqrt(c))",
        "max(64 * c, 92 * math.sqrt(c))",
        "the constant of measuring",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/rules.py",
        "math.log2(math.log(4 * most / delta))",
        "math.log2(math.log(4 / delta))",
        "no union over candidates",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/rules.py",
        "math.log(6 * n_arms * n_groups / delta)",
        "math.log(6 / delta)",
        "no union over arms and groups",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/rules.py",
        "math.log(3 * n_groups**2 / delta)",
        "math.log(3 / delta)",
        "no union over pairs of groups",
        "strategies/peers/acb/test_rules.py::test_proven_numbers_are_those_of_the_theorem",
    ),
    Mutant(
        "strategies/peers/acb/strategies.py",
        "self.delta / (6 * (level + 1) ** 3)",
        "self.delta / 6",
        "no union over searches",
        "strategies/peers/acb/test_strategies.py::test_searches_of_acb_star_run_through_all_levels",
    ),
    Mutant(
        "strategies/peers/acb/strategies.py",
        "self._classify(self.delta / 3, math.sqrt(square / 2))",
        "self._classify(self.delta / 3, math.sqrt(2 * square))",
        "a gap that the estimate does not bear out",
        "strategies/peers/acb/test_strategies.py::test_acb_star_classifies_with_a_third_of_delta_and_the_measured_gap_over_the_root_of_two",
    ),
    Mutant(
        "strategies/peers/acb/strategies.py",
        "1 if published else 2 ** (number + 1)",
        "1",
        "every search has all of delta",
        "strategies/peers/acb/test_strategies.py::test_every_search_of_acb_has_half_the_error_probability_of_the_one_before",
    ),
    Mutant(
        "strategies/peers/acb/strategies.py",
        'self._classify(self.delta / (1 if self.constants == "published" else 2), self._gap)',
        "self._classify(self.delta, self._gap)",
        "search and classification have all of delta each",
        "strategies/peers/acb/test_strategies.py::test_proven_acb_classifies_with_half_of_delta",
    ),
    Mutant(
        "strategies/peers/acb/algorithm.py",
        "if nearest <= self._search.gap**2 / 2:",
        "if nearest <= self._search.gap**2 / 8:",
        "too near to be new",
        "strategies/peers/acb/test_strategies.py::test_the_search_goes_as_the_pseudocode_says",
    ),
)

SINGLE_LINKAGE = (
    Mutant(
        "strategies/peers/single_linkage/strategy.py",
        "self.delta / self.n_arms)",
        "self.delta)",
        "no union over arms",
        "strategies/peers/single_linkage/test_strategies.py::test_lucbboc_stops_when_radii_at_delta_over_n_part_the_groups",
    ),
    Mutant(
        "strategies/peers/single_linkage/strategy.py",
        "math.sqrt(2 * beta / self._counts[arm])",
        "math.sqrt(beta / self._counts[arm])",
        "a radius too small",
        "strategies/peers/single_linkage/test_strategies.py::test_lucbboc_stops_when_radii_at_delta_over_n_part_the_groups",
    ),
    Mutant(
        "strategies/peers/single_linkage/linkage.py",
        "return 1 / (2 * value) if",
        "return 1 / value if",
        "twice the cost of the alternative",
        "strategies/peers/single_linkage/test_strategies.py::test_atboc_stops_when_the_nearest_alternative_costs_more_than_beta",
    ),
    Mutant(
        "strategies/peers/single_linkage/linkage.py",
        "total += 2 * y[a]",
        "total += 0 * y[a]",
        "an arm of both pairs moves for nothing",
        "strategies/peers/single_linkage/test_strategies.py::test_atboc_stops_when_the_nearest_alternative_costs_more_than_beta",
    ),
    Mutant(
        "strategies/peers/single_linkage/linkage.py",
        "reach = radii[arm] + radii[other]",
        "reach = radii[arm]",
        "the radius of one arm only",
        "strategies/peers/single_linkage/test_strategies.py::test_lucbboc_stops_when_radii_at_delta_over_n_part_the_groups",
    ),
    Mutant(
        "strategies/peers/single_linkage/elimination.py",
        "within.max() < between.min()",
        "within.max() < between.max()",
        "one gap stands for all",
        "strategies/peers/single_linkage/test_strategies.py::test_an_arm_beside_a_gap_that_is_known_to_be_large_is_left_alone",
    ),
    Mutant(
        "strategies/peers/single_linkage/elimination.py",
        "mean - radius)",
        "mean - radius / 2)",
        "half of the interval",
        "strategies/peers/single_linkage/test_strategies.py::test_boc_elim_stops_when_the_gap_exceeds_every_gap_within",
    ),
)

BANDIT_CLUSTERING = (
    Mutant(
        "strategies/peers/bandit_clustering/search.py",
        "math.sqrt(4 * q * math.log",
        "math.sqrt(2 * q * math.log",
        "noise of one arm only",
        "strategies/peers/bandit_clustering/test_search.py::test_queries_and_answers_are_those_of_the_slow_transcription",
    ),
    Mutant(
        "strategies/peers/bandit_clustering/search.py",
        "n * k**3 / (0.15 * delta)",
        "k**3 / (0.15 * delta)",
        "no union over arms",
        "strategies/peers/bandit_clustering/test_search.py::test_queries_and_answers_are_those_of_the_slow_transcription",
    ),
    Mutant(
        "strategies/peers/bandit_clustering/search.py",
        "n * k**3 / (0.15 * delta)",
        "n / (0.15 * delta)",
        "no union over attempts",
        "strategies/peers/bandit_clustering/test_search.py::test_queries_and_answers_are_those_of_the_slow_transcription",
    ),
    Mutant(
        "strategies/peers/bandit_clustering/search.py",
        "self.k, self.delta / 2, 1 if self.found",
        "self.k, self.delta, 1 if self.found",
        "both phases have all of delta",
        "strategies/peers/bandit_clustering/test_search.py::test_queries_and_answers_are_those_of_the_slow_transcription",
    ),
    Mutant(
        "strategies/peers/bandit_clustering/search.py",
        "gap > 3 * self._threshold",
        "gap > self._threshold",
        "a column that is not clear",
        "strategies/peers/bandit_clustering/test_search.py::test_queries_and_answers_are_those_of_the_slow_transcription",
    ),
)

MUTANTS = (*BOC, *ACB, *SINGLE_LINKAGE, *BANDIT_CLUSTERING)
