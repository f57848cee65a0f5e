"""Mutants of the bets on sameness and of the features that they use."""

from __future__ import annotations

from tests.mutations.mutants import Mutant

_BETS = "core/evidence/sameness.py"
_VALID = "core/evidence/test_sameness_validity.py"
_EVERY_DIRECTION = f"{_VALID}::test_the_factor_of_every_direction_has_a_mean_of_at_most_one"
_EDGE = f"{_VALID}::test_a_rare_outcome_at_the_edge_leaves_no_room"
_CLOSER = f"{_VALID}::test_the_factor_against_closer_has_a_mean_of_at_most_one"
_MARGIN = (
    "core/evidence/test_sameness.py::test_a_margin_is_the_smallest_eps_for_which_some_share_has_beaten_every_direction"
)
_LOWER = "core/evidence/test_sameness.py::test_a_lower_margin_is_where_the_average_wealth_reaches_the_level"
_FORM = "core/evidence/test_sameness.py::test_the_quadratic_form_is_just_below_the_product_of_the_bets"

MUTANTS = (
    Mutant(
        "core/evidence/sameness_tuning.py",
        "np.asarray(-np.log1p(-x) - x)",
        "np.asarray(np.square(x) / 2)",
        "psi of a Gaussian law",
        "core/evidence/test_sameness_tuning.py::test_the_inequality_of_the_proof_holds_from_minus_x_on_and_touches",
    ),
    Mutant(
        _BETS,
        "RATIOS = np.array([1.0, 0.5, 0.25])",
        "RATIOS = np.array([1.0, 0.5, 2.0])",
        "a larger bet needs a larger C",
        "core/evidence/test_sameness_tuning.py::test_a_smaller_bet_may_use_the_same_quadratic_form",
    ),
    Mutant(
        _BETS,
        "SHARES = np.array([0.9, 0.05, 0.05])",
        "SHARES = np.array([0.9, 0.9, 0.9])",
        "shares above 1",
        _MARGIN,
    ),
    Mutant(
        _BETS,
        "(1 + _ROUNDING) + np.sqrt(np.square(centre).sum(axis=1))",
        "(1 + _ROUNDING)",
        "differences around a centre can be longer than the bound",
        _FORM,
    ),
    Mutant(
        _BETS,
        "np.square(eta)[:, None] * steepness(",
        "0.9 * np.square(eta)[:, None] * steepness(",
        "the square counts too little",
        _EDGE,
    ),
    Mutant(
        _BETS,
        "eta = self._lambda[which] / c",
        "eta = self._lambda[which] / (0.9 * c)",
        "a bound of |z| that is not kept",
        _EDGE,
    ),
    Mutant(
        _BETS,
        "eta[:, None] * np.sqrt(squares)",
        "eta[:, None] * np.sqrt(squares).mean(axis=1, keepdims=True)",
        "long differences pay like those of mean length",
        _FORM,
    ),
    Mutant(
        _BETS,
        'squares = np.einsum("abd,abd->ab", around, around)',
        'squares = np.einsum("abd,abd->ab", z, z)',
        "the length without the centre",
        _FORM,
    ),
    Mutant(
        "core/evidence/sameness_tuning.py",
        "series = 0.5 + x / 3 + np.square(x) / 4",
        "series = 0.45 + x / 3 + np.square(x) / 4",
        "short differences pay too little",
        "core/evidence/test_sameness_tuning.py::test_the_steepness_has_no_jump_and_grows_from_one_half",
    ),
    Mutant(
        _BETS,
        "around = z - centre[:, None]",
        "around = z - z.mean(axis=1, keepdims=True)",
        "a centre that is not predictable",
        _EVERY_DIRECTION,
    ),
    Mutant(
        _BETS,
        "levels = (log_inverse_alpha - np.log(SHARES)) / RATIOS",
        "levels = log_inverse_alpha / RATIOS",
        "every share is the whole",
        _MARGIN,
    ),
    Mutant(
        _BETS,
        "levels = (log_inverse_alpha - np.log(SHARES)) / RATIOS",
        "levels = log_inverse_alpha - np.log(SHARES)",
        "a small bet is paid like a large one",
        _MARGIN,
    ),
    Mutant(
        _BETS,
        "RATIOS[:, None] * eigenvalues[:, None]",
        "RATIOS[:, None] ** 2 * eigenvalues[:, None]",
        "the quadratic form of a smaller bet",
        _MARGIN,
    ),
    Mutant(
        _BETS,
        "np.log1p(eta[:, :, None] * around[:, None]).sum(axis=2)",
        "(eta[:, :, None] * around[:, None]).sum(axis=2)",
        "a gain without its logarithm",
        _CLOSER,
    ),
    Mutant(
        _BETS,
        "+ eta * middle[:, None] * z.shape[1]",
        "+ eta * np.abs(along).sum(axis=1)[:, None]",
        "what the centre gives back is not predictable",
        _CLOSER,
    ),
    Mutant(
        _BETS,
        "self._sum[which[going]] / length[going, None]",
        "(self._sum[which[going]] + 9 * z[going].sum(axis=1)) / length[going, None]",
        "a direction that knows the differences",
        _CLOSER,
    ),
    Mutant(
        _BETS,
        "log_inverse_alpha + math.log(len(APART_LAMBDAS))",
        "log_inverse_alpha",
        "wealth is added, not averaged",
        _LOWER,
    ),
    Mutant(
        "core/evidence/trust_region.py",
        "* beta).sum(axis=-1) / 2)",
        "* beta).sum(axis=-1) / 4)",
        "half of the linear part",
        "core/evidence/test_trust_region.py::test_the_hard_case_in_closed_form",
    ),
    Mutant(
        "core/embeddings/pilots.py",
        "math.sqrt(2 * (features.supremum - features.infimum))",
        "math.sqrt(2 * features.supremum)",
        "as if no kernel were negative",
        "core/embeddings/test_pilots.py::test_every_sample_has_features_of_length_at_most_one",
    ),
    Mutant(
        "core/embeddings/grid.py",
        "max(-1.0, -(1 - self._kept) / self._kept)",
        "max(-1.0, self._kept - 1)",
        "the weights were divided by the part that is kept",
        "core/embeddings/test_grid.py::test_no_value_is_below_the_infimum",
    ),
)
