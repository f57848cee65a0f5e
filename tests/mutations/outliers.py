"""Mutants of odd ones out: how rare false ones are."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

_RULE, _ODD, _BETS = "core/evidence/ebh.py", "strategies/outliers.py", "core/evidence/sameness.py"
_TESTS, _LITERAL = (
    "strategies/test_outliers.py",
    "strategies/test_outliers.py::test_each_arm_is_compared_with_one_new_sample_of_all_others",
)
_MARGINS = f"{_TESTS}::test_margins_are_never_below_the_tolerance_and_only_of_odd_arms"

MUTANTS = (
    Mutant(
        _RULE,
        "math.log(n / fdr) - np.log",
        "math.log(1 / fdr) - np.log",
        "the number of statements does not count",
        "core/evidence/test_ebh.py::test_few_rejections_are_false_whatever_the_dependence",
    ),
    Mutant(
        _RULE,
        "math.log(n_statements / (fdr * n_rejected))",
        "math.log(n_statements / (fdr * n_statements))",
        "margins at the level of one statement",
        _MARGINS,
    ),
    Mutant(_ODD, "(total[:count] - mine * x)", "total[:count]", "an arm is part of its own rest", _LITERAL),
    Mutant(_ODD, "(len(first) - mine)", "len(first)", "the average of the others is too small", _LITERAL),
    Mutant(
        _ODD,
        "own = self._reference[arms]",
        "own = counts == counts.max()",
        "the rest changes with the round",
        f"{_TESTS}::test_the_rest_stays_the_same",
    ),
    Mutant(
        _BETS,
        "np.exp(logs - top[:, None]).mean(axis=1)",
        "np.exp(logs - top[:, None]).sum(axis=1)",
        "wealth is added, not averaged",
        _MARGINS,
    ),
)
