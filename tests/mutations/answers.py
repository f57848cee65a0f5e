"""Mutants of what follows from pairs told apart: groups, claims, rounds."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

GROUPS = (
    Mutant(
        "core/partitions/forced.py",
        "decided = np.flatnonzero((n_open == 1) & (labels < 0))",
        "decided = np.flatnonzero((n_open <= 2) & (labels < 0))",
        "an arm with two groups open is put into one",
        "core/partitions/test_forced.py::test_a_label_holds_in_every_consistent_partition",
    ),
    Mutant(
        "core/partitions/forced.py",
        "if len(clique) == n_groups else unspread",
        "if n_groups is not None else unspread",
        "labels spread although a group has no representative",
        "core/partitions/test_forced.py::test_a_label_holds_in_every_consistent_partition",
    ),
    Mutant(
        "core/partitions/forced.py",
        "complete=len(clique) == n_groups and bool((labels >= 0).all())",
        "complete=len(clique) == n_groups",
        "complete although arms have no group",
        "core/partitions/test_forced.py::test_complete_means_that_exactly_one_partition_is_consistent",
    ),
    Mutant(
        "core/partitions/forced.py",
        "n_groups_at_least=max(len(clique), refuted + 1)",
        "n_groups_at_least=max(len(clique), refuted + 2)",
        "one group more than is proven",
        "core/partitions/test_forced.py::test_no_consistent_partition_has_fewer_groups_than_the_bound",
    ),
    Mutant(
        "core/partitions/forced.py",
        "joinable = told_apart[grown].all(axis=0)",
        "joinable = told_apart[grown].any(axis=0)",
        "representatives that are not pairwise told apart",
        "core/partitions/test_forced.py::test_an_arm_that_is_told_apart_from_one_earlier_representative_only_does_not_join_them",
    ),
    Mutant(
        "core/partitions/leaders.py",
        "approach = outer - self.radii[:, others]",
        "approach = outer - np.zeros_like(self.radii[:, others])",
        "arms within the threshold are never compared",
        "core/partitions/test_leaders.py::test_leaders_find_the_components_of_the_full_graph",
    ),
    Mutant(
        "core/partitions/leaders.py",
        "reach = inner + self.radii[:, members]",
        "reach = inner + np.zeros_like(self.radii[:, members])",
        "arms within the threshold are never compared",
        "core/partitions/test_leaders.py::test_leaders_find_the_components_of_the_full_graph",
    ),
    Mutant(
        "core/partitions/leaders.py",
        "(nearest <= star.reach + self.slack)",
        "(nearest <= star.reach - self.slack)",
        "rounding decides between stars",
        "core/partitions/test_leaders.py::test_slack_covers_the_rounding_of_distances_near_zero",
    ),
    Mutant(
        "core/partitions/leaders.py",
        "edges = values <= self._thresholds(rows, cols)",
        "edges = values < self._thresholds(rows, cols)",
        "a distance equal to its threshold parts two arms",
        "core/partitions/test_leaders.py::test_a_distance_equal_to_the_threshold_is_an_edge",
    ),
)

CLAIMS = (
    Mutant(
        "strategies/anytime/claims.py",
        "(self._best_joined < self.limit)",
        "(self._best_joined < self.limit / 2)",
        "half of the evidence",
        "strategies/anytime/test_claims.py::test_a_claim_is_proven_at_its_limit_and_not_before",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "(self._best_paired >= self.limit / 2)",
        "(self._best_paired >= 0)",
        "pairs are not asked for",
        "strategies/anytime/test_claims.py::test_a_claim_is_proven_at_its_limit_and_not_before",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "several = np.bincount(self._groups)[self._groups] > 1",
        "several = np.bincount(self._groups)[self._groups] > 2",
        "pairs of groups of two are left out",
        "strategies/anytime/test_claims.py::test_a_claim_is_proven_at_its_limit_and_not_before",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "not (self.open_joins(told_apart).any() or self.open_pairs(told_apart).any())",
        "not self.open_joins(told_apart).any()",
        "two pairs may still be joined",
        "strategies/anytime/test_claims.py::test_a_claim_is_proven_at_its_limit_and_not_before",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "not (self.open_joins(told_apart).any() or self.open_pairs(told_apart).any())",
        "not self.open_pairs(told_apart).any()",
        "an arm may still belong to another group",
        "strategies/anytime/test_claims.py::test_a_claim_is_proven_at_its_limit_and_not_before",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "self._joined[rows] += joins",
        "self._joined[rows] = np.maximum(self._joined[rows] + joins, 0.0)",
        "lost bets are forgotten",
        "strategies/anytime/test_claims.py::test_what_was_lost_must_be_won_back",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "self._paired[rows[:, None], rows] += pairs",
        "self._paired[rows[:, None], rows] += np.maximum(pairs, 0.0)",
        "lost bets are forgotten",
        "strategies/anytime/test_claims.py::test_what_was_lost_must_be_won_back",
    ),
)

ROUNDS = (
    Mutant(
        "strategies/kabc.py",
        "self.total / (4 * k * k)",
        "self.total / (k * k)",
        "rounds spend 1.6 delta",
        "strategies/test_kabc.py::test_the_schedule_is_that_of_algorithm_2",
    ),
    Mutant(
        "strategies/kabc.py",
        "self.total / (k * k * _inverse_squares_from(self.first))",
        "self.total / (k * k)",
        "rounds spend 1.6 delta",
        "strategies/test_kabc.py::test_error_shares_never_sum_to_more_than_delta",
    ),
    Mutant(
        "strategies/kabc.py",
        "delta_k = self._round, self.schedule.delta(self._round)",
        "delta_k = self._round, self.delta",
        "no union over rounds",
        "strategies/test_kabc.py::test_round_k_has_the_threshold_of_the_paper_at_delta_k",
    ),
    Mutant(
        "strategies/kabc.py",
        "if n_groups == self.n_clusters:",
        "if n_groups <= self.n_clusters:",
        "stops before K groups are there",
        "strategies/test_kabc.py::test_before_the_end_the_groups_are_the_components_of_the_last_round_and_a_guess",
    ),
    Mutant(
        "strategies/cluster.py",
        "math.ceil(128 / s**2 * log_term)",
        "math.ceil(64 / s**2 * log_term)",
        "half of the budget",
        "strategies/test_cluster.py::test_with_a_separation_the_budget_is_that_of_the_discussion_and_the_partition_certified",
    ),
    Mutant(
        "strategies/cluster.py",
        "n = int(embedding.counts.min())",
        "n = int(embedding.counts.sum())",
        "samples of all arms",
        "strategies/test_cluster.py::test_a_pair_is_told_apart_when_its_distance_exceeds_the_threshold_of_the_paper",
    ),
    Mutant(
        "strategies/cluster.py",
        "told_apart = distances > pair_thresholds(radii)",
        "told_apart = distances > pair_thresholds(radii) / 2",
        "half of the threshold",
        "strategies/test_cluster.py::test_a_pair_is_told_apart_when_its_distance_exceeds_the_threshold_of_the_paper",
    ),
    Mutant(
        "strategies/cluster.py",
        'self._status = "budget" if self.separation is None else "decided"',
        'self._status = "decided"',
        "a guess is certified",
        "strategies/test_cluster.py::test_without_a_separation_the_partition_is_a_guess",
    ),
)

MUTANTS = (*GROUPS, *CLAIMS, *ROUNDS)
