"""Betting: every factor has mean at most 1 between equal arms, for every score, every past and every time to stop.

Most tests here are exact: alphabets are finite, so that every sample, or every history, can be listed with its
probability, and an expectation is a sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from kabc.core.evidence.betting import (
    fixed_share,
    log_one_vs_many,
    log_product,
    mixed_factor,
    mixture,
    told_apart,
)

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
Form = Callable[[Array, Array], Array]  # scores of arm i (...,), of arm j (..., m) -> (...,)

INF, NAN = math.inf, math.nan
TOLERANCE = 1e-12
SILLY = [-INF, -1e308, -1e6, -800.0, -2.0, -1e-3, 0.0, 0.7, 40.0, 1e6, 1e308, INF, NAN]
FEW = [-INF, -1e6, -0.5, 3.0, INF, NAN]


def product(x: Array, ys: Array) -> Array:
    return log_product(x, ys[..., 0])


def one_vs_one(x: Array, y: Array) -> Array:  # (...,), (...,) -> (...,)
    return log_one_vs_many(x, y[..., None])


FORMS: list[tuple[Form, int]] = [(product, 1), *((log_one_vs_many, m) for m in (1, 2, 3, 4))]
forms = pytest.mark.parametrize(("form", "m"), FORMS)


# ---------------------------------------------------------------- one round, every outcome


@cache
def outcomes(letters: int, samples: int) -> Ints:  # -> (letters^samples, samples)
    return np.array(list(itertools.product(range(letters), repeat=samples)), dtype=np.intp)


def grid_of_pmfs(letters: int, steps: int) -> Array:  # -> (P, letters)
    """All distributions with probabilities in multiples of 1/steps, zeros included."""
    return np.array([c for c in itertools.product(range(steps + 1), repeat=letters) if sum(c) == steps]) / steps


def all_scores(letters: int) -> Array:  # -> (S, letters)
    return np.array(list(itertools.product(SILLY if letters < 4 else FEW, repeat=letters)))


def log_factors(form: Form, scores: Array, drawn: Ints) -> Array:  # (S, letters), (O, 1 + m) -> (S, O)
    values = scores[:, drawn]
    return form(values[..., 0], values[..., 1:])


def expectations(log_values: Array, pmfs: Array, drawn: Ints) -> Array:  # (S, O), (P, letters), (O, 1 + m) -> (S, P)
    return np.asarray(np.exp(log_values) @ pmfs[:, drawn].prod(axis=-1).T)


@forms
@pytest.mark.parametrize(("letters", "steps"), [(2, 20), (3, 10), (4, 6)])
def test_between_equal_arms_no_factor_has_a_mean_above_one(form: Form, m: int, letters: int, steps: int) -> None:
    drawn = outcomes(letters, 1 + m)
    log_values = log_factors(form, all_scores(letters), drawn)
    assert np.isfinite(log_values).all()
    means = expectations(log_values, grid_of_pmfs(letters, steps), drawn)
    assert means.max() <= 1 + TOLERANCE
    if form is not product:
        assert means.min() >= 1 - TOLERANCE  # nothing is given away either
    assert np.exp(log_values).max() > 1.5  # bets were made


@st.composite
def pmf_and_scores(draw: st.DrawFn, experts: int = 1) -> tuple[Array, Array]:  # -> (letters,), (experts, letters)
    letters = draw(st.integers(2, 4))
    masses = np.array(draw(st.lists(st.floats(0, 1), min_size=letters, max_size=letters)))
    pmf = masses / masses.sum() if masses.sum() > 1e-6 else np.full(letters, 1 / letters)
    scores = st.lists(st.floats(), min_size=letters, max_size=letters)
    return pmf, np.array(draw(st.lists(scores, min_size=experts, max_size=experts)))


@forms
@settings(max_examples=60, deadline=None)
@given(drawn=pmf_and_scores())
def test_no_score_whatever_makes_a_mean_above_one(form: Form, m: int, drawn: tuple[Array, Array]) -> None:
    pmf, scores = drawn
    samples = outcomes(len(pmf), 1 + m)
    log_values = log_factors(form, scores, samples)
    assert np.isfinite(log_values).all()
    assert log_values.max() <= math.log(4 if form is product else m + 1) + TOLERANCE
    assert expectations(log_values, pmf[None], samples).max() <= 1 + TOLERANCE


@settings(max_examples=200, deadline=None)
@given(scores=st.lists(st.floats(), min_size=2, max_size=6))
def test_over_all_samples_that_could_be_arm_i_s_the_shares_add_up(scores: list[float]) -> None:
    each = [log_one_vs_many(np.array(s), np.array(scores[:k] + scores[k + 1 :])) for k, s in enumerate(scores)]
    assert np.exp(each).sum() == pytest.approx(len(scores), rel=TOLERANCE)


@settings(max_examples=60, deadline=None)
@given(drawn=pmf_and_scores(experts=3), weights=st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_a_mixed_factor_has_a_mean_of_at_most_one(drawn: tuple[Array, Array], weights: list[float]) -> None:
    pmf, scores = drawn
    samples = outcomes(len(pmf), 3)
    per_expert = [
        product(scores[0, samples[:, 0]], scores[0, samples[:, 1:]]),
        log_one_vs_many(scores[1, samples[:, 0]], scores[1, samples[:, 1:2]]),
        log_one_vs_many(scores[2, samples[:, 0]], scores[2, samples[:, 1:]]),
    ]
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.array(weights) / max(1.0, sum(weights)))
    mixed = mixed_factor(np.stack(per_expert, axis=-1), log_weights)
    assert np.isfinite(mixed).all()
    assert expectations(mixed[None], pmf[None], samples).max() <= 1 + TOLERANCE


# ---------------------------------------------------------------- what is not valid, and is seen to fail


def fair_coin_mean(log_values: Array, samples: Ints) -> float:
    return float(expectations(log_values[None], np.array([[0.5, 0.5]]), samples)[0, 0])


def test_two_samples_of_arm_i_against_one_of_arm_j_are_not_a_valid_product() -> None:
    samples = outcomes(2, 3)
    scores = np.array([[2 * math.atanh(h0), 2 * math.atanh(1 / 3)] for h0 in (1 / 3, -1 / 3)])  # h, constant or not
    x1, x2, y = np.moveaxis(scores[:, samples], -1, 0)
    unmatched = log_product(x1, y) + log_product(x2, np.zeros_like(x2))  # (1 + h(x1)) (1 + h(x2)) (1 - h(y))
    means = expectations(unmatched, grid_of_pmfs(2, 20), samples)
    assert (means.max(axis=-1) > 1.1).all()


def test_two_factors_with_a_common_sample_must_not_be_multiplied_but_may_be_averaged() -> None:
    samples = outcomes(2, 3)
    x1, x2, y = np.array([-INF, INF])[samples].T
    assert fair_coin_mean(one_vs_one(x1, y) + one_vs_one(x2, y), samples) == pytest.approx(1.25)
    average = mixed_factor(np.stack([one_vs_one(x1, y), one_vs_one(x2, y)], axis=-1), np.log([0.5, 0.5]))
    assert fair_coin_mean(average, samples) == pytest.approx(1)


def test_the_product_needs_independent_arms_and_one_vs_one_only_exchangeable_ones() -> None:
    x, y = np.array([-9.0, 9.0]), np.array([9.0, -9.0])  # always one of each letter, in either order
    assert np.exp(log_product(x, y)).mean() > 1.9
    assert np.exp(one_vs_one(x, y)).mean() == pytest.approx(1)


def test_weights_chosen_after_the_round_are_not_valid() -> None:
    samples = outcomes(2, 2)
    x, y = np.array([[0, 2.0], [2.0, 0]])[:, samples].T  # two experts with opposite scores, (2, 4) each
    per_expert = one_vs_one(x.T, y.T).T
    hindsight = fixed_share(per_expert, 0.1)
    assert fair_coin_mean(mixed_factor(per_expert, hindsight), samples) > 1.1
    assert fair_coin_mean(mixed_factor(per_expert, np.log([0.9, 0.1])), samples) == pytest.approx(1)


# ---------------------------------------------------------------- many rounds, every history

# A history is a row of outcomes, (H, t), each the number of one of the 2^(1 + m) things that a round on two letters can
# show. Histories are listed in lexicographic order, so that those of t + 1 rounds are (those of t) x (outcomes).

Strategy = Callable[[Ints], Array]  # histories, as letters (H, t, 1 + m) -> scores of the two letters (H, 2)
Rounds = list[Array]  # log wealth after t = 0, 1, ..., T rounds of all histories of t rounds, (B^t,)


@cache
def histories(t: int, m: int) -> Ints:  # -> (B^t, t, 1 + m)
    return outcomes(2, 1 + m)[outcomes(2 ** (1 + m), t)]


def play(form: Form, m: int, strategy: Strategy, rounds: int) -> Rounds:
    wealth = [np.zeros(1)]
    for t in range(rounds):
        gained = log_factors(form, strategy(histories(t, m)), outcomes(2, 1 + m))
        wealth.append((wealth[-1][:, None] + gained).reshape(-1))
    return wealth


@cache
def probabilities(p: float, m: int, t: int) -> Array:  # -> (B^t,)
    return np.asarray(np.array([1 - p, p])[histories(t, m)].prod(axis=(1, 2)))


def best_stop(wealth: Rounds, p: float, m: int) -> float:
    """Largest expected wealth over all stopping times, by going back from the end: stop or go on, what is better."""
    one_round = probabilities(p, m, 1)
    value = np.exp(wealth[-1])
    for now in reversed(wealth[:-1]):
        value = np.maximum(np.exp(now), value.reshape(len(now), -1) @ one_round)
    return float(value[0])


def along_paths(wealth: Rounds) -> Array:  # -> (B^T, T + 1)
    """Log wealth at each time, for all complete histories."""
    total = len(wealth[-1])
    return np.stack([np.repeat(w, total // len(w)) for w in wealth], axis=-1)


def assert_supermartingale(wealth: Rounds, m: int) -> None:
    paths = along_paths(wealth)
    assert np.isfinite(paths).all()
    for p in (0.0, 0.03, 0.3, 0.5, 0.8):
        probability = probabilities(p, m, len(wealth) - 1)
        assert (probability @ np.exp(paths)).max() <= 1 + TOLERANCE  # at every time
        assert best_stop(wealth, p, m) <= 1 + TOLERANCE  # at any stopping time
        for c in (1.2, 2.0, 5.0):
            reached = paths >= math.log(c)
            stop = np.where(reached.any(axis=-1), reached.argmax(axis=-1), paths.shape[-1] - 1)
            assert probability @ np.exp(paths[np.arange(len(paths)), stop]) <= 1 + TOLERANCE  # first time above c
        for a in (0.7, 0.5, 0.2, 0.05):
            assert probability @ (paths.max(axis=-1) >= -math.log(a)) <= a + TOLERANCE  # Ville


def counts(seen: Ints) -> tuple[Array, Array]:  # (H, t, 1 + m) -> (H, 2), (H, 2)
    """How often each letter came from arm i and from arm j."""
    is_letter = seen[..., None] == np.arange(2)
    return is_letter[:, :, 0].sum(axis=1).astype(float), is_letter[:, :, 1:].sum(axis=(1, 2)).astype(float)


def fit_the_past_perfectly(seen: Ints) -> Array:
    """Everything on the letter that arm i showed more often, per sample, so far."""
    of_i, of_j = counts(seen)
    lead = of_i * (seen.shape[-1] - 1) - of_j
    return np.select([lead > 0, lead < 0], [INF, -INF], 0.0)


def huge_log_ratio(seen: Ints) -> Array:
    of_i, of_j = counts(seen)
    return np.asarray(1e5 * (np.log(of_i + 0.5) - np.log(of_j + 0.5)))


def sensible_log_ratio(seen: Ints) -> Array:
    of_i, of_j = counts(seen)
    m, t = seen.shape[-1] - 1, seen.shape[1]
    return np.asarray(np.log((of_i + 0.5) / (t + 1)) - np.log((of_j + 0.5) / (m * t + 1)))


def double_when_behind(seen: Ints) -> Array:
    """The gambler who bets more after each loss."""
    of_i, of_j = counts(seen)
    ahead = (of_i - of_j)[:, 1]
    return np.stack([np.zeros(len(seen)), 2.0 ** (1 - ahead)], axis=-1)


def drawn_at_random(seed: int) -> Strategy:
    """Some function of the history: of each one other scores, silly ones among them."""

    def strategy(seen: Ints) -> Array:
        rng = np.random.default_rng((seed, seen.shape[1]))
        silly = rng.choice(SILLY, size=(len(seen), 2))
        return np.where(rng.random((len(seen), 2)) < 0.3, silly, rng.normal(scale=3, size=(len(seen), 2)))

    return strategy


ADVERSARIES: list[Strategy] = [fit_the_past_perfectly, huge_log_ratio, sensible_log_ratio, double_when_behind]
IN_TIME: list[tuple[Form, int, int]] = [
    (product, 1, 5),
    (log_one_vs_many, 1, 5),
    (log_one_vs_many, 2, 4),
    (log_one_vs_many, 3, 3),
]
in_time = pytest.mark.parametrize(("form", "m", "rounds"), IN_TIME)


@in_time
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_learner_gains_on_average_from_equal_arms_whenever_it_stops(
    form: Form, m: int, rounds: int, adversary: Strategy
) -> None:
    wealth = play(form, m, adversary, rounds)
    assert max(w.max() for w in wealth) > math.log(2)  # it does bet, and wins on some histories
    assert_supermartingale(wealth, m)


@in_time
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_function_of_the_past_gains_on_average_from_equal_arms(form: Form, m: int, rounds: int, seed: int) -> None:
    assert_supermartingale(play(form, m, drawn_at_random(seed), rounds), m)


@settings(max_examples=25, deadline=None)
@given(scores=st.lists(st.floats(), min_size=42, max_size=42))
def test_no_table_of_scores_by_history_gains_on_average(scores: list[float]) -> None:
    table = np.array(scores).reshape(21, 2)  # 1 + 4 + 16 histories before the third round

    def strategy(seen: Ints) -> Array:
        start = (4 ** seen.shape[1] - 1) // 3
        return table[start : start + len(seen)]

    for form in (product, log_one_vs_many):
        assert_supermartingale(play(form, 1, strategy, 3), 1)


EXPERTS: list[tuple[Form, Strategy]] = [
    (product, sensible_log_ratio),
    (log_one_vs_many, sensible_log_ratio),
    (log_one_vs_many, fit_the_past_perfectly),
    (product, fit_the_past_perfectly),
    (product, drawn_at_random(7)),
]


def test_an_average_of_experts_with_fixed_weights_is_evidence_too() -> None:
    each = [play(form, 1, strategy, 5) for form, strategy in EXPERTS]
    log_weights = np.log([0.5, 0.2, 0.1, 0.1, 0.1])
    assert_supermartingale([mixture(np.stack(w), log_weights, axis=0) for w in zip(*each, strict=True)], 1)


@pytest.mark.parametrize("fading", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_weights_that_follow_the_best_expert_keep_the_evidence_valid(share: float, fading: bool) -> None:
    wealth, standing = [np.zeros(1)], np.zeros((1, len(EXPERTS)))
    for t in range(5):
        tables = [log_factors(form, strategy(histories(t, 1)), outcomes(2, 2)) for form, strategy in EXPERTS]
        gained = np.stack(tables, axis=-1)  # (H, B, E)
        log_weights = np.broadcast_to(fixed_share(standing, share)[:, None], gained.shape)
        wealth.append((wealth[-1][:, None] + mixed_factor(gained, log_weights)).reshape(-1))
        standing = ((log_weights if fading else standing[:, None]) + gained).reshape(-1, len(EXPERTS))
    assert_supermartingale(wealth, 1)
    assert wealth[-1].max() > math.log(2)


def test_a_score_that_sees_the_round_it_bets_on_is_caught() -> None:
    wealth = [np.zeros(1)]
    for t in range(3):
        seen = histories(t + 1, 1)
        scores = sensible_log_ratio(seen)  # one round too early
        x, y = np.take_along_axis(scores, seen[:, -1], axis=1).T
        wealth.append(np.repeat(wealth[-1], 4) + one_vs_one(x, y))
    assert best_stop(wealth, 0.5, 1) > 1.5
    with pytest.raises(AssertionError):
        assert_supermartingale(wealth, 1)


# ---------------------------------------------------------------- many looks, continuous samples

RUNS, LOOKS, N_ARMS, DELTA = 1500, 250, 3, 0.2
PAIRS = list(itertools.combinations(range(N_ARMS), 2))


def errors_allowed() -> int:
    """Errors beyond which "at most DELTA" is refuted with one mistake in a million."""
    return int(binom.ppf(1 - 1e-6, RUNS, DELTA))


def runs_with_a_pair_told_apart(form: Form, shifts: list[float], peeks: bool = False) -> int:
    """Online discriminant on skewed samples, looked at after each; peeking, it learns each sample before betting."""
    rng = np.random.default_rng(20260208)
    sums = np.zeros((N_ARMS, RUNS))
    wealth, highest = np.zeros((2, len(PAIRS), RUNS))
    for look in range(LOOKS):
        fresh = rng.exponential(size=(N_ARMS, RUNS)) + np.array(shifts)[:, None]
        means = (sums + fresh * peeks) / (look + 1 + peeks)
        for k, (i, j) in enumerate(PAIRS):
            middle, slope = (means[i] + means[j]) / 2, means[i] - means[j]
            wealth[k] += form(slope * (fresh[i] - middle), (slope * (fresh[j] - middle))[:, None])
        highest = np.maximum(highest, wealth)
        sums += fresh
    return int(told_apart(highest, N_ARMS, DELTA).any(axis=0).sum())


@pytest.mark.parametrize("form", [product, log_one_vs_many])
def test_with_a_look_after_every_sample_equal_arms_are_told_apart_in_at_most_delta_of_the_runs(form: Form) -> None:
    assert runs_with_a_pair_told_apart(form, [0.0, 0.0, 0.0]) <= errors_allowed()


@pytest.mark.parametrize("form", [product, log_one_vs_many])
def test_different_arms_are_told_apart_and_the_calibration_notices_a_score_that_peeks(form: Form) -> None:
    assert runs_with_a_pair_told_apart(form, [0.0, 0.0, 1.0]) > 0.99 * RUNS
    assert runs_with_a_pair_told_apart(form, [0.0, 0.0, 0.0], peeks=True) > errors_allowed()
