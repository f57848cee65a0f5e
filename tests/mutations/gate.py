"""Mutants of the gate: what "same" and "different" may say of one arm and its reference."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

_SHARES, _TESTS = "strategies/gate/shares.py", "strategies/gate/test_gate.py"
_QUANTILES, _QUANTILE_TESTS = "strategies/gate/quantiles.py", "strategies/gate/test_quantile_gate.py"

MUTANTS = (
    Mutant(
        _SHARES,
        "return (1 - APART) * self.delta",
        "return self.delta",
        "bounds from below come on top of delta",
        f"{_TESTS}::test_the_parts_of_delta_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        _SHARES,
        "-math.log(part * self.same_alpha)",
        "-math.log(self.same_alpha)",
        "two bets on sameness at the level of one",
        f"{_TESTS}::test_the_parts_of_delta_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        _SHARES,
        "-math.log(APART * self.delta)",
        "-math.log(self.delta)",
        "bounds from below at the full level",
        f"{_TESTS}::test_the_parts_of_delta_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        "strategies/gate/strategy.py",
        "DIFFERENT if above and self.differ else OPEN",
        "DIFFERENT if above else OPEN",
        "an estimate is taken for a difference",
        f"{_TESTS}::test_an_estimate_above_the_tolerance_is_no_difference_by_itself",
    ),
    Mutant(
        "strategies/gate/strategy.py",
        "return verdict == SAME",
        "return verdict == SAME or self.differ",
        "a difference below the tolerance ends it",
        f"{_TESTS}::test_a_difference_alone_ends_nothing",
    ),
    Mutant(
        "arms/pooled.py",
        "self._free[chosen[-1]] -= 1",
        "self._free[chosen[-1]] -= 0",
        "an arm is asked for rows that it has given",
        "arms/test_pooled.py::test_an_arm_with_more_rows_counts_for_more_and_every_place_is_as_likely",
    ),
    Mutant(
        _SHARES,
        "math.log(2 / GateShares(self.delta).same_alpha)",
        "math.log(1 / GateShares(self.delta).same_alpha)",
        "two sides that can be wrong at the level of one",
        f"{_QUANTILE_TESTS}::test_the_sides_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        _SHARES,
        "return 2 * self.n_quantiles * SIDES",
        "return 2 * SIDES",
        "all quantiles at the level of one",
        f"{_QUANTILE_TESTS}::test_the_sides_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        _SHARES,
        "math.log(self._n_sides / (APART * self.delta))",
        "math.log(self._n_sides / self.delta)",
        "margins of quantiles at the full level",
        f"{_QUANTILE_TESTS}::test_the_sides_that_can_be_wrong_together_sum_to_delta",
    ),
    Mutant(
        _QUANTILES,
        "(self._beyond() | (self._differing() & seem)).any()",
        "(self._beyond() | (self.differ & seem)).any()",
        "one quantile differs, and another one seems to be too far",
        f"{_QUANTILE_TESTS}::test_the_quantile_that_seems_too_far_must_itself_be_certified_to_differ",
    ),
    Mutant(
        "strategies/tolerance/quantile_pairs.py",
        "limits * (margins / limits).max(axis=0)",
        "margins",
        "each quantile has a margin of its own at the level of the worst one",
        f"{_QUANTILE_TESTS}::test_one_interval_for_all_quantiles_and_one_for_each_are_both_used",
    ),
)
