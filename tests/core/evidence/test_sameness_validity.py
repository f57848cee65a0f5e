"""Margins of sameness are true: factors have mean at most 1, and at the exact distance errors are as rare as promised.

The first tests are exact: laws are finite, so that an expectation is a sum. The others count errors in many runs, one
statement for each run, against the binomial law.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from kabc.core.arrays import Array, Index
from kabc.core.embeddings.features import RandomFeatures
from kabc.core.embeddings.grid import GridFourier
from kabc.core.embeddings.pilots import farthest
from kabc.core.evidence.sameness import APART_LAMBDAS, CAP, RATIOS, ApartBets, SameBets
from kabc.core.kernels import Gaussian

ALPHA = 0.2
LEVEL = math.log(1 / ALPHA)
ONE = np.array([0])


def most_errors(runs: int, alpha: float = ALPHA) -> int:
    """More errors than this have probability below 1e-6 if each run errs with probability at most alpha."""
    return int(binom.ppf(1 - 1e-6, runs, alpha))


# ---------------------------------------------------------------- one factor, every outcome


@st.composite
def finite_laws(draw: st.DrawFn) -> tuple[Array, Array, int]:
    """Outcomes (k, D) of length at most 1, some of them at the edge, their probabilities, and a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k, dim = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    outcomes = rng.normal(size=(k, dim))
    outcomes /= np.linalg.norm(outcomes, axis=1, keepdims=True)
    outcomes *= np.where(rng.random(k) < 0.6, 1.0, rng.random(k))[:, None]
    if draw(st.booleans()):
        outcomes[1] = -outcomes[0]
    masses = rng.random(k) ** draw(st.sampled_from([1, 6]))  # rare outcomes too
    return outcomes, masses / masses.sum(), int(rng.integers(10**6))


def with_a_past(bets: SameBets | ApartBets, outcomes: Array, rng: np.random.Generator) -> None:
    """Any past, also one that has little to do with the law."""
    for size in rng.integers(1, 60, size=2):
        bets.bet(ONE, outcomes[rng.integers(0, len(outcomes), size=(1, size))])


@settings(max_examples=60, deadline=None)
@given(law=finite_laws(), eps=st.floats(0.01, 2), alpha=st.floats(1e-6, 0.5))
def test_the_factor_of_every_direction_has_a_mean_of_at_most_one(
    law: tuple[Array, Array, int], eps: float, alpha: float
) -> None:
    outcomes, masses, seed = law
    rng = np.random.default_rng(seed)
    bets = SameBets(1, outcomes.shape[1], 1.0, eps, alpha)
    with_a_past(bets, outcomes, rng)
    bets._lambda[:] = rng.choice([bets._lambda[0], CAP, 0.5])
    directions = np.concatenate([outcomes, -outcomes, rng.normal(size=(8, outcomes.shape[1]))])
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)
    mean = masses @ outcomes
    for r in RATIOS:
        means = np.zeros(len(directions))
        for one, mass in zip(outcomes, masses, strict=True):
            after = copy.deepcopy(bets)
            after.bet(ONE, one[None, None])
            a, b, C = after._total[0] - bets._total[0], after._b[0] - bets._b[0], after._C[0] - bets._C[0]
            quadratic = np.einsum("wi,ij,wj->w", directions, C, directions)
            means += mass * np.exp(r * (a * (directions @ mean) - directions @ b) - r**2 * quadratic)
        assert means.max() <= 1 + 1e-9


@settings(max_examples=60, deadline=None)
@given(law=finite_laws())
def test_the_factor_against_closer_has_a_mean_of_at_most_one(law: tuple[Array, Array, int]) -> None:
    outcomes, masses, seed = law
    bets = ApartBets(1, outcomes.shape[1], 1.0)
    with_a_past(bets, outcomes, np.random.default_rng(seed))
    eta, means = np.linalg.norm(masses @ outcomes), np.zeros(len(APART_LAMBDAS))
    for one, mass in zip(outcomes, masses, strict=True):
        after = copy.deepcopy(bets)
        after.bet(ONE, one[None, None])
        means += mass * np.exp((after._gain - bets._gain - eta * (after._total - bets._total))[0])
    assert means.max() <= 1 + 1e-9


def test_a_rare_outcome_at_the_edge_leaves_no_room() -> None:
    # With probability 1 - p the difference is a little below its mean, rarely it is at the edge: here a bound of |z|
    # that is 10 % too small, or a psi that is, has a mean above 1.
    for p in (0.02, 0.1, 0.3):
        outcomes, masses = np.array([[1.0], [0.0]]), np.array([p, 1 - p])
        bets, factors = SameBets(1, 1, 1.0, 0.5, 0.05), []
        bets._lambda[:] = CAP
        for one in outcomes:
            after = copy.deepcopy(bets)
            after.bet(ONE, one[None, None])
            factors.append(math.exp(after._total[0] * p - after._b[0, 0] - after._C[0, 0, 0]))
        assert 1 - p * p < masses @ factors <= 1


# ---------------------------------------------------------------- many runs at the exact distance

Law = Callable[[np.random.Generator, tuple[int, ...]], Array]  # differences of shape (..., D)


def fourier_law(
    phi: GridFourier | RandomFeatures, sample: Law, dim: int, factor: Callable[[Array], Array]
) -> tuple[Law, float]:
    """z = phi(x + shift) - phi(y) for x, y of one law with characteristic function `factor`, and |E z|."""
    shift = np.full(dim, 0.35)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        x, y = sample(rng, (*shape, dim)), sample(rng, (*shape, dim))
        both = (phi.features(one.reshape(-1, dim)).astype(float).reshape(*shape, -1) for one in (x + shift, y))
        return np.asarray(next(both) - next(both))

    waves = phi.frequencies_kept if isinstance(phi, GridFourier) else phi.spectrum(dim)
    weights = phi.weights if isinstance(phi, GridFourier) else np.full(len(waves), 1 / len(waves))
    distance = np.sqrt((weights * np.square(factor(waves)) * np.abs(np.exp(1j * waves @ shift) - 1) ** 2).sum())
    return draw, float(distance)


def laws() -> Iterator[tuple[str, Law, float, float, int]]:  # name, differences, |E z|, sup, D
    grid, many = GridFourier((0.7,)), RandomFeatures(Gaussian(6.0), 24)
    normal = fourier_law(grid, lambda rng, s: rng.normal(size=s), 1, lambda w: np.exp(-np.square(w).sum(axis=1) / 2))
    cauchy = fourier_law(grid, lambda rng, s: rng.standard_cauchy(s), 1, lambda w: np.exp(-np.abs(w).sum(axis=1)))
    wide = fourier_law(many, lambda rng, s: rng.normal(size=s), 20, lambda w: np.exp(-np.square(w).sum(axis=1) / 2))
    yield "continuous", *normal, farthest(grid), grid.n_features
    yield "heavy tails", *cauchy, farthest(grid), grid.n_features
    yield "20 dimensions", *wide, farthest(many), 24
    corners = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])  # indicators of three categories
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.4, 0.3])
    yield (
        "discrete",
        lambda rng, s: corners[rng.choice(3, s, p=p)] - corners[rng.choice(3, s, p=q)],
        float(np.linalg.norm(p - q)),
        math.sqrt(2),
        3,
    )
    # One feature, so only two directions.
    yield "a coin", lambda rng, s: rng.choice([-1.0, 1.0], (*s, 1), p=[0.4, 0.6]), 0.2, 1.0, 1
    yield "a rare win", lambda rng, s: (rng.random((*s, 1)) < 0.05).astype(np.float64), 0.05, 1.0, 1


LAWS = {name: (draw, distance, sup, features) for name, draw, distance, sup, features in laws()}


class Adversary(SameBets):
    """Bets and centres that follow the past in foolish ways: more after a loss, centres anywhere in the ball."""

    def _centre(self, which: Index) -> tuple[Array, Array]:
        swing = np.sin(7.0 * self._sum[which] + self._counts[which][:, None])
        centre = self.sup[which][:, None] * swing / math.sqrt(self.n_features)
        mean = self._sum[which] / np.maximum(self._counts[which], 1)[:, None]
        centre = np.where((self._counts[which] % 3 == 0)[:, None], mean, centre)
        self._lambda[which] = np.where(self._sum[which].sum(axis=1) > 0, 0.9, 0.05)
        return centre, self.sup[which] + np.linalg.norm(centre, axis=1)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kind", [SameBets, Adversary])
def test_a_margin_at_or_below_the_true_distance_is_as_rare_as_promised(name: str, kind: type[SameBets]) -> None:
    draw, distance, sup, n_features = LAWS[name]
    runs, rng = 300, np.random.default_rng(list(LAWS).index(name))
    bets = kind(runs, n_features, sup, distance * 1.2, ALPHA)
    wrong = np.zeros(runs, dtype=bool)
    for _ in range(40):
        bets.bet(np.arange(runs), draw(rng, (runs, 12)))
        wrong |= bets.best(LEVEL, distance * 1.0001) <= distance
    assert wrong.sum() <= most_errors(runs)


@pytest.mark.parametrize("name", LAWS)
def test_a_lower_margin_at_or_above_the_true_distance_is_as_rare_as_promised(name: str) -> None:
    draw, distance, sup, n_features = LAWS[name]
    runs, rng = 400, np.random.default_rng(list(LAWS).index(name))
    bets = ApartBets(runs, n_features, sup)
    for _ in range(60):
        bets.bet(np.arange(runs), draw(rng, (runs, 8)))
        lower = bets.best(LEVEL)
    assert (lower >= distance).sum() <= most_errors(runs)
    assert (lower > 0).mean() > 0.3  # and something is certified


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_a_claim_with_one_false_statement_is_accepted_as_rarely_as_promised(share: float) -> None:
    """Each of four arms against the three others drawn with it, all at the full level: no union over arms."""
    runs, rng, arms = 300, np.random.default_rng(9), 4
    rare = np.array([0.15, 0.05, 0.05, 0.05])  # how often an arm returns 1; the first is 0.1 from its pool
    eps = 0.1 / share  # at share 1 the claim is false, at 0.2 it is true
    bets, accepted = SameBets(runs * arms, 1, 1.0, eps, ALPHA), np.zeros(runs, dtype=bool)
    for _ in range(60):
        x = (rng.random((runs, arms, 10, 1)) < rare[:, None, None]).astype(np.float64)
        z = x - (x.sum(axis=1, keepdims=True) - x) / (arms - 1)
        bets.bet(np.arange(runs * arms), z.reshape(runs * arms, 10, 1))
        accepted |= (bets.best(LEVEL, eps * 1.0001) <= eps).reshape(runs, arms).all(axis=1)
    if share == 1:
        assert 0 < accepted.sum() <= most_errors(runs)
    else:
        assert accepted.mean() > 0.9


def test_the_promise_is_not_empty() -> None:
    """A law that rarely wins much comes near alpha, so that the tests above could fail."""
    draw, distance, sup, n_features = LAWS["a rare win"]
    runs, rng = 400, np.random.default_rng(5)
    bets = SameBets(runs, n_features, sup, distance * 1.1, ALPHA)
    for _ in range(60):
        bets.bet(np.arange(runs), draw(rng, (runs, 8)))
        best = bets.best(LEVEL, distance * 1.0001)
    assert 0.3 * ALPHA * runs < (best <= distance).sum() <= most_errors(runs)


def test_the_true_means_are_what_the_tests_say() -> None:
    rng = np.random.default_rng(6)
    for draw, distance, sup, _ in LAWS.values():
        z = draw(rng, (40_000,))
        assert np.linalg.norm(z.mean(axis=0)) == pytest.approx(distance, abs=0.02)
        assert np.linalg.norm(z, axis=1).max() <= sup * (1 + 1e-6)
