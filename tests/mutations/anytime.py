"""Mutants of the accounts of the anytime strategy: where its delta goes, and what counts as evidence."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

SHARES = (
    Mutant(
        "strategies/anytime/shares.py",
        "share if self.n_clusters is None else share * (1 - CLAIMS)",
        "share",
        "pairs spend what the claims need",
        "strategies/anytime/test_shares.py::test_all_arms_compared_pairs_and_claims_share_delta",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "CLAIMS * self.core(n_core)",
        "self.core(n_core)",
        "claims spend what the pairs need",
        "strategies/anytime/test_shares.py::test_all_arms_compared_pairs_and_claims_share_delta",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "CLAIMS = 0.92",
        "CLAIMS = 0.5",
        "another share for claims than the documented one",
        "strategies/anytime/test_shares.py::test_limits_are_those_of_the_theory",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "CORE = 0.5",
        "CORE = 0.9",
        "another share for the core than the documented one",
        "strategies/anytime/test_shares.py::test_limits_are_those_of_the_theory",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "return self.delta if n_core == self.n_arms else self.delta * CORE",
        "return self.delta",
        "claims of the core spend what the arms outside need",
        "strategies/anytime/test_errors.py::test_claims_of_a_core_have_92_percent_of_the_half_that_the_core_has",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "self.delta * CORE / 2**stage",
        "self.delta / 2**stage",
        "pairs of the core spend what the arms outside need",
        "strategies/anytime/test_errors.py::test_pairs_of_a_core_share_8_percent_of_the_half_that_the_core_has",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "self.delta * CORE / 2**stage",
        "self.delta * CORE / 2",
        "every stage has the share of the first",
        "strategies/anytime/test_shares.py::test_a_core_that_grows_for_ever_leaves_half_of_delta_to_the_arms_outside",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "only_stage = n_core == self.n_arms and stage == 1",
        "only_stage = n_core == self.n_arms",
        "the last stage has all of delta once more",
        "strategies/anytime/test_shares.py::test_a_core_that_grows_until_it_has_all_arms_spends_no_more_than_delta",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "self.delta * (1 - CORE)",
        "self.delta",
        "the arms outside spend what the core needs",
        "strategies/anytime/test_errors.py::test_arms_outside_share_the_other_half_one_event_for_each_arm",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "math.log(math.comb(n_core, 2) / self.pairs(n_core, stage))",
        "math.log(1 / self.pairs(n_core, stage))",
        "no union over pairs",
        "strategies/anytime/test_errors.py::test_pairs_of_few_arms_share_8_percent_of_delta",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "math.log(math.comb(n_core, 2) / self.pairs(n_core, stage))",
        "math.log(n_core / self.pairs(n_core, stage))",
        "a union over arms only",
        "strategies/anytime/test_errors.py::test_pairs_of_few_arms_share_8_percent_of_delta",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "math.log(1 / (STAKE * held * self.claims(n_core)))",
        "math.log(1 / (STAKE * self.claims(n_core)))",
        "every claim has the weight of the first",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "math.log(1 / (STAKE * held * self.claims(n_core)))",
        "math.log(1 / (held * self.claims(n_core)))",
        "what is kept is bet once more",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "STAKE * min(worth, 1.0)",
        "STAKE * worth",
        "a right claim wins where nothing was bet",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "held * (1 - STAKE + STAKE * min(worth, 1.0))",
        "held",
        "a claim that is given up has lost nothing",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "STAKE = 2 / 3",
        "STAKE = 0.5",
        "another stake than the documented one",
        "strategies/anytime/test_shares.py::test_limits_are_those_of_the_theory",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "least = joins.min(initial=self.limit)",
        "least = joins.mean()",
        "the bets on arms that have lost most do not count",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "np.partition(pairs, 1)[:2].sum()",
        "pairs.min()",
        "one pair of the two is not counted",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/claims.py",
        "np.where(self._best_joined < self.limit, self._joined, self.limit)[self._foreign]",
        "self._best_joined[self._foreign]",
        "what was lost after the best time is not counted",
        "strategies/anytime/test_claims.py::"
        "test_a_bettor_never_has_less_than_is_held_and_has_1_over_delta_once_a_wrong_claim_is_proven",
    ),
    Mutant(
        "strategies/anytime/shares.py",
        "math.log((self.n_arms - n_core) / self.outside(n_core))",
        "math.log(1 / self.outside(n_core))",
        "no union over the arms outside the core",
        "strategies/anytime/test_errors.py::test_arms_outside_share_the_other_half_one_event_for_each_arm",
    ),
)

LIMITS = (
    Mutant(
        "strategies/anytime/state.py",
        "self.shares.pair_limit(self.core.size, self.core.stage)",
        "self.shares.pair_limit(self.core.size, 1)",
        "every wider core has the share of the first",
        "strategies/anytime/test_errors.py::test_pairs_of_a_wider_core_have_half_of_the_share_of_the_one_before",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "limits[newcomers] = np.maximum(limits[newcomers], limit)",
        "pass",
        "arms of a later stage keep the limit of an earlier one",
        "strategies/anytime/test_wealth.py::test_new_arms_get_the_new_limit_and_earlier_pairs_keep_theirs",
    ),
    Mutant(
        "strategies/anytime/review.py",
        "self._shares.claim_limit(self._held, n_core or len(core))",
        "self._shares.claim_limit(self._held, self._shares.n_arms)",
        "claims of a core have the share of a core of all arms",
        "strategies/anytime/test_review.py::test_a_claim_in_a_core_with_arms_outside_has_half_the_error_share",
    ),
    Mutant(
        "strategies/anytime/review.py",
        "self._held = self._shares.held_after(self._held, self.claim.worth)",
        "pass",
        "every claim is the first one",
        "strategies/anytime/test_errors.py::test_a_claim_needs_evidence_of_one_over_its_weight_and_92_percent_of_delta",
    ),
    Mutant(
        "strategies/anytime/review.py",
        "self._give_up()\n        self.guess = None",
        "self.guess = self.claim = None",
        "what was lost before the core was widened is forgotten",
        "strategies/anytime/test_review.py::test_after_the_core_was_widened_claims_go_on_counting",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "self.limits[outside] = np.inf",
        "pass",
        "arms outside are compared with the whole core",
        "strategies/anytime/test_errors.py::test_arms_outside_share_the_other_half_one_event_for_each_arm",
    ),
    Mutant(
        "strategies/anytime/inference.py",
        "self.wealth.limit_outside(found.representatives, self.shares.outside_limit(self.core.size))",
        "pass",
        "arms outside keep the limit of pairs of the core",
        "strategies/anytime/test_errors.py::test_arms_outside_share_the_other_half_one_event_for_each_arm",
    ),
)

BETS = (
    Mutant(
        "strategies/anytime/wealth.py",
        "self.best[at] = self.best[back] = np.maximum(self.best[at], log)",
        "self.best[at] = self.best[back] = self.best[at] + np.maximum(factors, 0.0)",
        "only bets that were won count",
        "strategies/anytime/test_errors.py::test_evidence_is_the_largest_product_of_all_factors_so_far",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "self.log[at] = self.log[back] = log = self.log[at] + factors",
        "self.log[at] = self.log[back] = log = np.maximum(self.log[at] + factors, 0.0)",
        "lost bets are forgotten",
        "strategies/anytime/test_wealth.py::test_over_all_outcomes_of_a_round_the_evidence_of_equal_arms_does_not_grow",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "factors = mixed(log_factors, gains + common)",
        "factors = mixed(log_factors, gains + log_factors + common)",
        "weights of experts see the round that they weigh",
        "strategies/anytime/test_wealth.py::test_over_all_outcomes_of_a_round_the_evidence_of_equal_arms_does_not_grow",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "return mixed(log_factors, gains + common)",
        "return mixed(log_factors, gains + log_factors + common)",
        "weights of experts see the round that they weigh, for arms outside",
        "strategies/anytime/test_wealth.py::test_over_all_outcomes_one_sample_against_many_does_not_grow_the_evidence",
    ),
    Mutant(
        "strategies/anytime/review.py",
        "mixed(log_factors, self._won_by[rows] + common)",
        "mixed(log_factors, self._won_by[rows] + log_factors + common)",
        "weights of experts see the round that they weigh, in claims",
        "strategies/anytime/test_errors.py::"
        "test_over_all_outcomes_of_a_round_no_claim_gains_on_average_from_equal_arms",
    ),
    Mutant(
        "strategies/anytime/strategy.py",
        "            found.bet(lesson, self.compute or computed_here)\n",
        (
            "            for learner, features in zip(learning.learners, lesson.features, strict=True):\n"
            "                learner.absorb(features, lesson.batch.owners)\n"
            "            found.rescore()\n"
            "            found.bet(lesson, self.compute or computed_here)\n"
        ),
        "scores see the samples that they are bet on",
        "strategies/anytime/test_errors.py::"
        "test_over_all_outcomes_of_a_round_no_claim_gains_on_average_from_equal_arms",
    ),
    Mutant(
        "strategies/anytime/teaching.py",
        "LEARNT_GROWTH = 1.05",
        "LEARNT_GROWTH = 1.1",
        "scores stay twice as long",
        "strategies/anytime/test_literally.py::test_evidence_of_a_seeded_run_is_that_of_plain_loops",
    ),
    Mutant(
        "strategies/anytime/learning.py",
        "return np.array_equal(core, self._asked[0]) and np.array_equal(known, self._asked[1])",
        "return np.array_equal(core, self._asked[0])",
        "scores stay although other groups are known",
        "strategies/anytime/test_learning.py::"
        "test_scores_stay_until_there_are_enough_new_samples_or_other_groups_are_known",
    ),
)

DECISIONS = (
    Mutant(
        "strategies/anytime/wealth.py",
        "reached = self.best >= self.limits",
        "reached = self.best >= self.limits / 2",
        "half of the evidence tells a pair apart",
        "strategies/anytime/test_wealth.py::test_a_pair_is_told_apart_at_its_limit_and_keeps_the_number_of_that_round",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "reached[core, np.arange(len(core))] = False",
        "pass",
        "an arm is told apart from itself",
        "strategies/anytime/test_wealth.py::test_an_arm_is_not_told_apart_from_itself_even_at_the_limit_of_1",
    ),
    Mutant(
        "strategies/anytime/inference.py",
        "proven = claim if claim is not None and claim.proven(self._apart(claim)) else None",
        "proven = claim",
        "a claim is accepted without a proof",
        "strategies/anytime/test_errors.py::test_a_claim_is_accepted_when_each_arm_is_refuted_for_each_other_group",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "new[core] = (labels[core, None] != labels[core]) & placed[:, None] & placed & (self.told[core] == 0)",
        "new[core] = self.told[core] == 0",
        "a proven claim tells arms of one group apart",
        "strategies/anytime/test_wealth.py::test_a_proven_claim_tells_its_groups_apart_at_its_own_limit",
    ),
    Mutant(
        "strategies/anytime/assignment.py",
        "labels=np.where(may_belong.sum(axis=1) == 1,",
        "labels=np.where(may_belong.sum(axis=1) >= 1,",
        "an arm with two groups open is put into one",
        "strategies/anytime/test_assignment.py::test_groups_follow_from_true_differences_only_and_are_never_mixed_up",
    ),
    Mutant(
        "strategies/anytime/assignment.py",
        "not len(self.undecided)",
        "len(self.undecided) < len(self.labels)",
        "decided with open arms",
        "strategies/anytime/test_errors.py::test_arms_outside_share_the_other_half_one_event_for_each_arm",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "block[outside, new] = block[outside, old]",
        "pass",
        "a new representative starts without the evidence against its group",
        "strategies/anytime/test_set_aside.py::test_another_arm_of_the_group_goes_on_where_the_representative_was",
    ),
    Mutant(
        "strategies/anytime/wealth.py",
        "placed = labels[core] >= 0",
        "placed = labels[core] >= -1",
        "a proven claim tells apart arms that it leaves out",
        "strategies/anytime/test_wealth.py::test_a_proven_claim_says_nothing_of_arms_of_the_core_that_it_leaves_out",
    ),
    Mutant(
        "strategies/anytime/review.py",
        "self.claim.needs(dry, told_apart)",
        "False",
        "a claim goes on although an arm that it needs ran dry",
        "strategies/anytime/test_set_aside.py::"
        "test_a_claim_that_still_needs_the_arm_is_given_up_and_the_next_one_pays_for_its_number",
    ),
)

PAIRED = (
    Mutant(
        "core/evidence/blocks.py",
        "self.base, self.paired  # often",
        "self.base, False  # often",
        "bets on matched samples as if they were independent",
        "strategies/anytime/test_paired.py::test_over_all_orders_of_a_match_a_bet_is_fair",
    ),
    Mutant(
        "strategies/anytime/doubts.py",
        "-by_arm[its_sides[:, kind] < 0, :, kind]",
        "by_arm[its_sides[:, kind] < 0, :, kind]",
        "the two parts of a split have different scores",
        "strategies/anytime/test_paired.py::test_over_all_orders_a_bet_on_a_split_is_fair",
    ),
    Mutant(
        "strategies/anytime/state.py",
        "dict.fromkeys(wanted, min(wanted.values())) if self.learning.paired else wanted",
        "wanted",
        "samples of a representative that are in no match",
        "strategies/anytime/test_paired.py::test_all_arms_of_a_round_are_asked_for_as_many_samples",
    ),
    Mutant(
        "running/watch.py",
        "0.0 if self._paired else max(0.0",
        "max(0.0",
        "arms that share prompts are watched as if they were independent",
        "running/test_paired.py::test_arms_that_share_inputs_are_not_watched_as_if_they_were_independent",
    ),
)

MUTANTS = (*SHARES, *LIMITS, *BETS, *DECISIONS, *PAIRED)
