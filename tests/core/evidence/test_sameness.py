"""Bets on sameness: the quadratic form, what the margins are, and how soon they are small."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.core.embeddings.grid import GridFourier
from kabc.core.embeddings.pilots import farthest, feature_distance, pilot_features, typical_bandwidths
from kabc.core.errors import SampleError, SettingsError
from kabc.core.evidence.sameness import APART_LAMBDAS, RATIOS, SHARES, ApartBets, SameBets, samples_needed
from kabc.core.evidence.trust_region import largest

L = math.log(40)
ALL = np.arange(5)


def differences(rng: np.random.Generator, n: int, size: int, features: int = 3, shift: float = 0.0) -> Array:
    """(n, size, features), at most 2 long."""
    x = rng.normal(size=(n, size, features)) + shift
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 2) * 2 * 0.9)


def same_bets(sup: float = 2.0, eps: float = 0.3) -> SameBets:
    return SameBets(5, 3, sup, eps, 0.025)


def unit_vectors(rng: np.random.Generator, n: int) -> Array:  # -> (n, 3)
    w = rng.normal(size=(n, 3))
    return np.asarray(w / np.linalg.norm(w, axis=1, keepdims=True))


def log_form(bets: SameBets, w: Array, eps: float, r: float = 1.0) -> Array:  # (n, D) -> (n,)
    """The log evidence of statement 0 against each direction, for the share that bets r lambda."""
    quadratic = np.einsum("wi,ij,wj->w", w, bets._C[0], w)
    return np.asarray(r * (eps * bets._total[0] - w @ bets._b[0]) - r**2 * quadratic)


def literal_log_bets(bets: SameBets, z: Array, w: Array, eps: float) -> tuple[float, Array, float]:  # (b, D), (D,)
    """Sums over these differences, one after the other, with the bets of statement 0 as they stand.

    The quadratic form; the product of 1 + eta e that it is a bound of, for each ratio; a form that takes every
    difference to be as long as it can be.
    """
    m, c = (one[0] for one in bets._centre(np.array([0])))
    assert c >= 2 + np.linalg.norm(m)
    form, product, longest = 0.0, np.zeros(len(RATIOS)), 0.0
    for one in z:
        eta, e, r = float(bets._lambda[0]) / c, -(w @ (one - m)), float(np.linalg.norm(one - m))
        linear = eta * (eps - w @ one)
        form += linear - (-math.log(1 - eta * r) - eta * r) / r**2 * e**2
        product += np.log1p(RATIOS * eta * e) + RATIOS * eta * (eps - w @ m)
        longest += linear - (-math.log(1 - eta * c) - eta * c) / c**2 * e**2
    return form, product, longest


def test_the_quadratic_form_is_just_below_the_product_of_the_bets() -> None:
    rng = np.random.default_rng(0)
    bets, w, eps = same_bets(), unit_vectors(rng, 20), 0.21
    form, product, longest, lambdas = np.zeros(20), np.zeros((20, len(RATIOS))), np.zeros(20), set()
    for size in (1, 5, 40, 3, 90, 200):
        z = differences(rng, 5, size, shift=0.4)
        lambdas.add(float(bets._lambda[0]))
        new = [literal_log_bets(bets, z[0], one, eps) for one in w]
        form, product, longest = (
            before + np.array(now) for before, now in zip((form, product, longest), zip(*new, strict=True), strict=True)
        )
        bets.bet(ALL, z)
    np.testing.assert_allclose(log_form(bets, w, eps), form, rtol=1e-10)
    for k, r in enumerate(RATIOS):
        assert (log_form(bets, w, eps, r) <= product[:, k]).all()
    assert (longest < form).all()
    assert np.mean(product[:, 0] - form) < 0.7 * np.mean(product[:, 0] - longest)  # what own lengths save
    assert len(lambdas) > 1  # the bets did change
    assert np.linalg.norm(bets._centre(np.array([0]))[0]) > 0.1  # and so did the centre


def test_the_quadratic_form_touches_the_product_in_the_worst_direction() -> None:
    """So no smaller weight of a difference would do, however short it is."""
    rng = np.random.default_rng(15)
    for length in (1e-3, 0.3, 1.0, 2.0):
        bets, w = same_bets(), unit_vectors(rng, 1)
        bets._lambda[:] = 0.9
        bets.bet(np.array([0]), length * w[None])
        eta = bets._total[0]
        worst = math.log1p(-eta * length) + eta * length
        assert -(w[0] @ bets._C[0] @ w[0]) == pytest.approx(worst, rel=1e-8, abs=0)


def test_a_difference_of_zero_is_worth_its_whole_bet() -> None:
    bets = same_bets()
    bets.bet(ALL, np.zeros((5, 30, 3)))
    assert (bets._C == 0).all()
    np.testing.assert_allclose(bets.margins(L), (L - math.log(SHARES[0])) / bets._total, rtol=1e-12)


def test_a_margin_is_the_smallest_eps_for_which_some_share_has_beaten_every_direction() -> None:
    rng = np.random.default_rng(1)
    bets, used = same_bets(eps=0.8), set()
    for size in (60, 60, 400, 4_000, 4_000, 40_000):
        bets.bet(ALL, differences(rng, 5, size))
        margins = bets.margins(L)
        for s in ALL:
            a, b, C = bets._total[s], bets._b[s], bets._C[s]
            log_evidence = [r * margins[s] * a - float(largest(r * b, r * r * C)) for r in RATIOS]
            shares = np.log(SHARES) + log_evidence
            assert shares.max() == pytest.approx(L, rel=1e-9)
            used.add(int(shares.argmax()))
    assert used == {0, 1, 2}  # each of them is the best at some time
    assert SHARES.sum() <= 1 + 1e-12


def test_margins_are_infinite_at_first_and_only_those_that_bet_change() -> None:
    bets = same_bets()
    assert np.isinf(bets.margins(L)).all()
    bets.bet(np.array([3, 1]), differences(np.random.default_rng(2), 2, 30))
    assert np.isfinite(bets.margins(L)).tolist() == [False, True, False, True, False]
    assert bets.counts.tolist() == [0, 30, 0, 30, 0]


def test_the_best_margin_never_grows_and_is_the_smallest_seen() -> None:
    rng = np.random.default_rng(3)
    bets, before, seen = same_bets(), np.full(5, np.inf), []
    for _ in range(30):
        bets.bet(ALL, differences(rng, 5, 10, shift=rng.normal() / 3))
        seen.append(bets.margins(L))
        best = bets.best(L)
        assert (best <= before).all()
        before = best
    np.testing.assert_array_equal(before, np.min(seen, axis=0))
    assert (before < seen[-1]).any()  # the last look was not the best one for all


def test_a_higher_level_has_a_larger_margin_and_its_own_minimum() -> None:
    bets = same_bets()
    bets.bet(ALL, differences(np.random.default_rng(4), 5, 100))
    assert (bets.best(L + 3) > bets.best(L)).all()
    assert (bets.best(L + 3) == bets.margins(L + 3)).all()


def test_what_is_below_is_exact_and_the_rest_can_be_put_off() -> None:
    rng = np.random.default_rng(5)
    bets = same_bets()
    for s in ALL:
        bets.bet(np.array([s]), differences(rng, 1, 20 * 3 ** int(s)))
    exact = bets.margins(L)
    assert (np.diff(exact) < 0).all()
    limit = float(exact[2:4].mean())
    first = bets.margins(L, below=limit)
    np.testing.assert_array_equal(first[3:], exact[3:])
    assert np.isinf(first[:2]).all()
    bets.best(L, below=limit)
    np.testing.assert_array_equal(bets.best(L), exact)  # put off is not forgotten


def test_margins_scale_with_the_features_and_do_not_depend_on_their_basis() -> None:
    rng = np.random.default_rng(6)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    plain, scaled, turned = same_bets(), same_bets(sup=10.0, eps=1.5), same_bets()
    mixed = same_bets()
    order = rng.permutation(5)
    for size in (7, 50, 120):
        z = differences(rng, 5, size, shift=0.2)
        plain.bet(ALL, z)
        scaled.bet(ALL, 5 * z)
        turned.bet(ALL, z @ turn)
        mixed.bet(order, z[order])
    np.testing.assert_allclose(scaled.margins(L), 5 * plain.margins(L), rtol=1e-9)
    np.testing.assert_allclose(turned.margins(L), plain.margins(L), rtol=1e-9)
    np.testing.assert_array_equal(mixed.margins(L), plain.margins(L))


def test_a_call_bets_with_what_was_known_before_it() -> None:
    rng = np.random.default_rng(7)
    past, z = differences(rng, 5, 100), differences(rng, 5, 50, shift=1.0)
    bets = same_bets()
    bets.bet(ALL, past)
    before = copy.deepcopy(bets)
    bets.bet(ALL, z)
    # The order within the call plays no part: the last difference was bet on as the first.
    before.bet(ALL, z[:, ::-1])
    np.testing.assert_allclose(bets._C, before._C, rtol=1e-12)
    np.testing.assert_allclose(bets._b, before._b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("eps", [0.08, 0.3])
def test_equal_arms_are_certified_with_about_the_samples_that_were_predicted(eps: float) -> None:
    phi, rng = GridFourier((0.7,)), np.random.default_rng(8)
    covariance = 2 * np.cov(phi.features(rng.normal(size=(20_000, 1))).T)
    predicted = samples_needed(covariance, eps, L, farthest(phi))
    n = 60
    bets = SameBets(n, phi.n_features, farthest(phi), eps, math.exp(-L), covariance)
    taken, step = np.full(n, np.inf), max(1, int(predicted / 20))
    for look in range(1, 80):
        x, y = phi.features(rng.normal(size=(2 * n * step, 1))).reshape(2, n, step, -1)
        bets.bet(np.arange(n), x - y)
        taken[np.isinf(taken) & (bets.best(L, eps) < eps)] = look * step
        if np.isfinite(taken).all():
            break
    assert 0.7 < np.median(taken) / predicted < 1.3
    assert np.mean(taken < 3 * predicted) > 0.9


def test_a_large_margin_takes_few_samples() -> None:
    """Twelve equal arms, each against the others, 0.8 sd: 70 samples if every difference counts as the longest one."""
    taken = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pilot = rng.normal(size=(600, 1))
        phi = pilot_features(pilot, 2 * typical_bandwidths(pilot), seed=seed)
        eps, covariance = feature_distance(phi, pilot, pilot + 0.8), np.cov(phi.features(pilot).T) * 12 / 11
        bets, looks = SameBets(12, len(covariance), farthest(phi), eps, 0.0125, covariance), 0
        while (bets.best(math.log(80), eps) >= eps).any():
            f = phi.features(rng.normal(size=(12 * 2, 1))).reshape(12, 2, -1)
            bets.bet(np.arange(12), f - (f.sum(axis=0) - f) / 11)
            looks += 1
        taken.append(2 * looks)
    assert np.mean(taken) < 62


def test_without_a_pilot_it_costs_little_more() -> None:
    phi, rng = GridFourier((0.7,)), np.random.default_rng(9)
    covariance = 2 * np.cov(phi.features(rng.normal(size=(20_000, 1))).T)
    informed = SameBets(40, phi.n_features, farthest(phi), 0.15, 0.025, covariance)
    blind = SameBets(40, phi.n_features, farthest(phi), 0.15, 0.025)
    for _ in range(20):
        x, y = phi.features(rng.normal(size=(2 * 40 * 25, 1))).reshape(2, 40, 25, -1)
        for bets in (informed, blind):
            bets.bet(np.arange(40), x - y)
    assert np.median(blind.best(L) / informed.best(L)) < 1.15


def test_rare_long_differences_are_bet_on_with_care_once_they_were_seen() -> None:
    """Two laws with the same covariance: always a little, or rarely as much as can be."""
    rng = np.random.default_rng(18)
    often, rarely = (SameBets(1, 1, 1.0, 0.05, 0.0125, np.array([[0.04]])) for _ in range(2))
    assert often._lambda == rarely._lambda
    often.bet(np.array([0]), rng.choice([-0.2, 0.2], size=(1, 500, 1)))
    rarely.bet(np.array([0]), rng.choice([-1.0, 0.0, 1.0], size=(1, 500, 1), p=[0.02, 0.96, 0.02]))
    assert rarely._lambda[0] < 0.7 * often._lambda[0]


def test_smaller_bets_serve_smaller_margins_later() -> None:
    phi, rng = GridFourier((0.7,)), np.random.default_rng(10)
    bets = SameBets(20, phi.n_features, farthest(phi), 0.4, 0.025)
    for _ in range(40):
        x, y = phi.features(rng.normal(size=(2 * 20 * 100, 1))).reshape(2, 20, 100, -1)
        bets.bet(np.arange(20), x - y)
    heights = np.array([float(largest(b, C)) for b, C in zip(bets._b, bets._C, strict=True)])
    alone = (L + heights) / bets._total
    assert np.median(bets.margins(L) / alone) < 0.7


def test_an_interval_closes_in_on_the_distance() -> None:
    rng = np.random.default_rng(11)
    mean = np.array([0.5, 0.3, 0.0])
    same, apart = same_bets(eps=0.65), ApartBets(5, 3, 2.0)
    widths = []
    for _ in range(6):
        z = mean + rng.choice([-0.3, 0.3], size=(5, 400, 3))
        same.bet(ALL, z)
        apart.bet(ALL, z)
        low, high = apart.best(L), same.best(L)
        assert (low < np.linalg.norm(mean)).all()
        assert (high > np.linalg.norm(mean)).all()
        widths.append(float((high - low).max()))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.1


def test_a_lower_margin_is_zero_at_first_and_never_falls() -> None:
    rng = np.random.default_rng(12)
    bets, before = ApartBets(5, 3, 2.0), np.zeros(5)
    assert (bets.margins(L) == 0).all()
    bets.bet(ALL, differences(rng, 5, 50, shift=1.0))
    assert (bets.margins(L) == 0).all()  # there was no direction yet
    for k in range(20):
        bets.bet(ALL, differences(rng, 5, 20, shift=1.0 if k < 10 else -0.5))
        assert (bets.best(L) >= before).all()
        before = bets.best(L)
    assert (before > 0.5).all()
    assert (before > bets.margins(L)).all()


def test_a_lower_margin_is_made_of_the_bets_themselves() -> None:
    rng = np.random.default_rng(16)
    bets, gain = ApartBets(5, 3, 2.0), np.zeros(len(APART_LAMBDAS))
    bets.bet(ALL, differences(rng, 5, 9, shift=0.6))
    for size in (1, 30, 80):
        z = differences(rng, 5, size, shift=0.6)
        m, c = (one[0] for one in bets._centre(np.array([0])))
        w = bets._sum[0] / np.linalg.norm(bets._sum[0])
        for one in z[0]:
            gain += np.log1p(APART_LAMBDAS / c * (w @ (one - m))) + APART_LAMBDAS / c * (w @ m)
        bets.bet(ALL, z)
    np.testing.assert_allclose(bets._gain[0], gain, rtol=1e-10)


def test_arms_far_apart_are_shown_to_be_with_few_samples() -> None:
    rng = np.random.default_rng(17)
    bets = ApartBets(5, 3, 2.0)
    for _ in range(20):
        bets.bet(ALL, np.array([1.2, 0, 0]) + rng.choice([-0.3, 0.3], size=(5, 5, 3)))
    assert (bets.best(L) > 0.9).all()


def test_a_lower_margin_is_where_the_average_wealth_reaches_the_level() -> None:
    rng = np.random.default_rng(14)
    bets = ApartBets(5, 3, 2.0)
    for _ in range(4):
        bets.bet(ALL, differences(rng, 5, 60, shift=0.6))
    margins = bets.margins(L)
    assert (margins > 0).all()
    wealth = np.exp(bets._gain - margins[:, None] * bets._total).mean(axis=1)
    np.testing.assert_allclose(np.log(wealth), L, atol=0.01)
    assert (np.log(wealth) >= L - 1e-9).all()  # never beyond


@pytest.mark.parametrize("kind", ["same", "apart"])
def test_nonsense_is_refused_and_changes_nothing(kind: str) -> None:
    bets = same_bets() if kind == "same" else ApartBets(5, 3, 2.0)
    z = differences(np.random.default_rng(13), 2, 4)
    with pytest.raises(SampleError, match=r"a difference of statement 4 has length 2\.1, above its bound 2;"):
        bets.bet(np.array([3, 4]), np.stack([z[0], np.tile([2.1, 0, 0], (4, 1))]))
    with pytest.raises(SampleError, match="above its bound"):
        bets.bet(np.array([3, 4]), z * np.nan)
    with pytest.raises(SampleError, match=r"each statement may bet once in a call, got \[3, 3\]"):
        bets.bet(np.array([3, 3]), z)
    with pytest.raises(SampleError, match=r"shape \(A, b, 3\) for A statements, got \(2, 4, 2\)"):
        bets.bet(np.array([3, 4]), z[:, :, :2])
    assert (bets.counts == 0).all()
    with pytest.raises(SettingsError, match="sup must be a positive finite number, or one for each of 2 statements"):
        ApartBets(2, 3, [1.0, -1.0])
    with pytest.raises(SettingsError, match="eps must be a positive"):
        same_bets(eps=0.0)
