"""Mutants of tolerances and of intervals of quantiles: what "the same within" may say."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

_BETS = "core/evidence/quantiles.py"
_TESTS = "core/evidence/test_quantiles.py"

QUANTILES = (
    Mutant(
        _BETS,
        "each - math.log(len(_CONCENTRATIONS))",
        "each",
        "bets are added, not averaged",
        f"{_TESTS}::test_the_evidence_is_a_martingale_at_p",
    ),
    Mutant(
        _BETS,
        "before = betaln(a, b) + np.log(betainc(a, b, p))",
        "before = betaln(a, b) + np.log(betainc(a, b, p / 2))",
        "weights of the chances sum to more than 1",
        f"{_TESTS}::test_the_evidence_is_a_martingale_at_p",
    ),
    Mutant(
        _BETS,
        "np.log(betainc(a + k, b + misses, p))",
        "np.log(betainc(a + k, b + misses, 1.0))",
        "chances above p bet too",
        f"{_TESTS}::test_above_p_the_evidence_falls_on_average",
    ),
    Mutant(
        _BETS,
        "- misses * math.log1p(-p)",
        "- misses * math.log(p)",
        "misses are paid for as ones",
        f"{_TESTS}::test_the_evidence_is_a_martingale_at_p",
    ),
    Mutant(
        _BETS,
        "log_wealth(np.maximum(middle, 0), n, p) >= log_inverse_alpha)",
        "log_wealth(np.maximum(middle, 0), n, p) >= log_inverse_alpha / 2)",
        "rejects at the root of the threshold",
        f"{_TESTS}::test_the_fewest_ones_are_found",
    ),
    Mutant(
        _BETS,
        "values[r - 1] if r",
        "values[min(r, len(values) - 1)] if r",
        "the lower end is one sample too high",
        f"{_TESTS}::test_an_interval_holds_what_no_side_rejects",
    ),
    Mutant(
        _BETS,
        "values[len(values) - s] if s",
        "values[max(len(values) - s - 1, 0)] if s",
        "the upper end is one sample too low",
        f"{_TESTS}::test_an_interval_holds_what_no_side_rejects",
    ),
    Mutant(
        _BETS,
        "for one in (p, 1 - p)",
        "for one in (p, p)",
        "both sides use p",
        f"{_TESTS}::test_an_interval_holds_what_no_side_rejects",
    ),
    Mutant(
        _BETS,
        "if strictness >= log_inverse_alpha:",
        "if strictness <= log_inverse_alpha:",
        "narrow intervals of a larger alpha are kept",
        f"{_TESTS}::test_ends_only_move_inwards_and_a_looser_look_never_helps_a_stricter_one",
    ),
    Mutant(
        _BETS,
        "SIDES = 2",
        "SIDES = 1",
        "one share of the error for both sides",
        f"{_TESTS}::test_an_interval_has_as_many_sides_as_are_counted",
    ),
    Mutant(
        _BETS,
        "np.where(both, np.maximum(np.maximum(most, most.T), 0.0), math.inf)",
        "np.where(both, np.maximum(np.minimum(most, most.T), 0.0), math.inf)",
        "the smaller of both ratios",
        f"{_TESTS}::test_margins_of_every_pair_are_the_extremes_of_both_intervals",
    ),
    Mutant(
        _BETS,
        "np.maximum(np.maximum(most, most.swapaxes(1, 2)), 0.0)",
        "np.maximum(np.minimum(most, most.swapaxes(1, 2)), 0.0)",
        "the smaller of both differences",
        f"{_TESTS}::test_margins_of_every_pair_are_the_extremes_of_both_intervals",
    ),
    Mutant(
        _BETS,
        "known = low > 0",
        "known = high > 0",
        "ratios of quantiles that may be negative",
        f"{_TESTS}::test_a_ratio_is_not_known_while_a_quantile_may_be_zero_or_less",
    ),
    Mutant(
        _BETS,
        "(self.same_within <= limits[:, None, None]).all(axis=0)",
        "(self.same_within <= limits[:, None, None]).any(axis=0)",
        "one quantile is enough to be the same",
        f"{_TESTS}::test_the_same_and_the_different_are_found",
    ),
)

BY_EXAMPLE = (
    Mutant(
        "core/tolerances/tolerance.py",
        "return min(one.share",
        "return max(one.share",
        "the largest of the changes counts",
        "core/tolerances/test_tolerance.py::test_the_smaller_of_both_directions_counts",
    ),
    Mutant(
        "core/tolerances/units.py",
        "count = math.floor(moved.share * total)",
        "count = math.floor(moved.share * total) + 1",
        "more outliers than were said",
        "core/tolerances/test_tolerance.py::test_changed_rows_are_never_more_than_the_share",
    ),
    Mutant(
        "core/tolerances/translating.py",
        "return self._said(margin, math.ceil)",
        "return self._said(margin, math.floor)",
        "same within less than was shown",
        "core/tolerances/test_translating.py::test_words_never_say_more_than_the_margin",
    ),
    Mutant(
        "core/tolerances/translating.py",
        "return np.where(margins > highest[-1], math.inf, sizes)",
        "return sizes",
        "a margin beyond the table is the end of the table",
        "core/tolerances/test_translating.py::test_nothing_is_nothing_and_what_no_change_makes_is_infinite",
    ),
)

_STRATEGY = "strategies/tolerance/quantiles.py"
_PAIRS = "strategies/tolerance/quantile_pairs.py"
_OF_STRATEGY = "strategies/tolerance/test_quantiles.py"

BY_QUANTILES = (
    Mutant(
        _STRATEGY,
        "len(self.tolerance.names) * SIDES / self.delta",
        "len(self.tolerance.names) / self.delta",
        "both sides of an interval share one error probability",
        f"{_OF_STRATEGY}::test_every_side_of_every_interval_has_its_share_of_delta",
    ),
    Mutant(
        _STRATEGY,
        "math.log(self.n_arms * len(",
        "math.log(len(",
        "no union over arms",
        f"{_OF_STRATEGY}::test_every_side_of_every_interval_has_its_share_of_delta",
    ),
    Mutant(
        _PAIRS,
        "over = (low[:, None] > high)",
        "over = (low[:, None] >= high)",
        "intervals that touch are different",
        f"{_OF_STRATEGY}::test_different_are_those_of_which_one_quantile_is_certainly_not_equal",
    ),
    Mutant(
        _PAIRS,
        ".same(self.tolerance.limits)",
        ".same(2 * self.tolerance.limits)",
        "the same within twice the tolerance",
        f"{_OF_STRATEGY}::test_the_same_are_those_of_which_every_quantile_is_within_its_tolerance",
    ),
    Mutant(
        _STRATEGY,
        "if not self._open().any():",
        "if not len(self._wanted()):",
        "decides although pairs of arms that ran dry are open",
        f"{_OF_STRATEGY}::test_arms_that_run_dry_keep_what_is_proven_and_say_how_much_is_missing",
    ),
    Mutant(
        _STRATEGY,
        "(self._same & (labels[:, None] != labels) & placed",
        "(self._same & (labels[:, None] != labels) & ~placed",
        "says that arms of different groups differ where some are the same",
        f"{_OF_STRATEGY}::test_sameness_is_no_chain_and_arms_in_between_are_named",
    ),
)

_SHARES = "strategies/tolerance/shares.py"
_SUMS = "strategies/tolerance/test_claim.py::test_the_parts_of_delta_sum_to_one"
_CLAIM = "strategies/tolerance/claim.py"
_OF_CLAIM = "strategies/tolerance/test_claim.py"
_POOLS = "strategies/tolerance/test_pools.py"

STRATEGY = (
    Mutant(_SHARES, "DIFFERENT = 0.5", "DIFFERENT = 0.6", "the parts sum to more than delta", _SUMS),
    Mutant(_SHARES, "CLAIMS = 0.4", "CLAIMS = 0.5", "the parts sum to more than delta", _SUMS),
    Mutant(_SHARES, "(number * (number + 1))", "number**2", "weights of claims sum to more than 1", _SUMS),
    Mutant(_SHARES, "self.n_pairs / (SAME_WITHIN", "1 / (SAME_WITHIN", "no union over pairs", _SUMS),
    Mutant(_SHARES, "self.n_pairs / (APART", "1 / (APART", "no union over pairs", _SUMS),
    Mutant(
        _CLAIM,
        "/ (len(pool) - inside))",
        "/ len(pool))",
        "the pool is divided by one arm too many, so that differences shrink",
        "strategies/tolerance/test_claim.py::test_an_arm_is_bet_against_the_mean_of_the_others_of_its_pool",
    ),
    Mutant(
        _CLAIM,
        "if len(pool) < 2 or (place[pool] < 0).any():",
        "if len(pool) < 2:",
        "a pool that was not drawn whole is bet on",
        "strategies/tolerance/test_claim.py::test_without_a_whole_pool_nothing_is_bet",
    ),
    Mutant(
        "strategies/tolerance/strategy.py",
        "        if self._ruler is None:\n            self._begin(ruler, units, lesson.batch)\n        else:",
        "        if self._ruler is None:\n            self._begin(ruler, units, lesson.batch)\n        if True:",
        "the pilot is tested",
        "strategies/tolerance/test_strategy.py::test_the_pilot_is_the_first_round_and_is_not_tested",
    ),
    Mutant(
        "core/evidence/betting.py",
        "np.log(m + 1) - np.logaddexp(_scores(y), np.log(m))",
        "np.log(m + 1) - np.logaddexp(_scores(y), np.log(m) - 0.1)",
        "a bet against a pool wins on average",
        f"{_POOLS}::test_the_mean_of_a_bet_is_at_most_one_for_any_score_if_the_arm_is_the_average",
    ),
    Mutant(
        "core/evidence/betting.py",
        "np.asarray(_scores(x) + log_of_pool(x, m))",
        "np.asarray(1.1 * _scores(x) + log_of_pool(x, m))",
        "the sample of the arm counts too much",
        f"{_POOLS}::test_the_mean_of_a_bet_is_at_most_one_for_any_score_if_the_arm_is_the_average",
    ),
    Mutant(
        "strategies/tolerance/pools.py",
        "or (place[pool] < 0).any()",
        "or (place[pool] < -1).any()",
        "a pool that was not drawn whole is bet on",
        f"{_POOLS}::test_without_a_whole_pool_nothing_is_bet",
    ),
    Mutant(
        "strategies/tolerance/pools.py",
        "m, cap = len(pool) - inside.astype(np.float64),",
        "m, cap = len(pool) - 0 * inside.astype(np.float64),",
        "an arm counts as one of its own pool",
        f"{_POOLS}::test_an_arm_inside_the_pool_is_compared_with_the_others_only",
    ),
    Mutant(
        "strategies/tolerance/differences.py",
        "n_pairs = math.comb(len(self.compared), 2)",
        "n_pairs = len(self.compared)",
        "no union over the pairs that are compared",
        "strategies/tolerance/test_suspicion.py::test_of_many_arms_only_some_pairs_are_compared_and_counted",
    ),
    Mutant(
        _CLAIM,
        "return self.same and bool(self.differ.all())",
        "return self.same",
        "groups need not be shown to differ",
        f"{_OF_CLAIM}::test_a_claim_is_not_proven_before_its_groups_are_shown_to_differ",
    ),
    Mutant(
        _CLAIM,
        "self._differ.best >= self.limit",
        "self._differ.best >= self.limit / 2",
        "groups are shown to differ at the root of the level",
        f"{_OF_CLAIM}::test_a_claim_is_not_proven_before_its_groups_are_shown_to_differ",
    ),
    Mutant(
        "strategies/tolerance/either.py",
        "EXACT * self.delta, check_k",
        "self.delta, check_k",
        "both answers have more than delta together",
        "strategies/tolerance/test_strategy.py::test_each_part_has_half_of_delta",
    ),
)

MUTANTS = (*QUANTILES, *BY_EXAMPLE, *STRATEGY, *BY_QUANTILES)
