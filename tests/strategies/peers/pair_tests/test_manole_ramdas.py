"""Thresholds of Manole and Ramdas: against the formulas, and valid over time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from kabc import Gaussian
from kabc.strategies.peers.pair_tests.manole_ramdas import ManoleRamdasKABC, published_threshold, tight_threshold


def test_thresholds_are_those_of_the_formulas() -> None:
    for t, alpha in itertools.product((2, 3, 100, 1024, 5000), (0.3, 0.001)):
        log_2_l = math.log(2 * max(1, math.log2(t)) ** 2 * math.pi**2 / 6)
        published = 4 * math.sqrt(2 * 1.7 / t) * (1 + math.sqrt(log_2_l + math.log(2 / alpha)))
        assert published_threshold(t, 1.7, alpha) == pytest.approx(published)
        log_l = math.log((math.floor(math.log2(t)) + 1) ** 2 * math.pi**2 / 6 / alpha)
        assert tight_threshold(t, 1.7, alpha) == pytest.approx(2 * math.sqrt(1.7 / t) * (1 + math.sqrt(log_l)))
        assert tight_threshold(t, 1.7, alpha) < published_threshold(t, 1.7, alpha) / 2.5


def test_the_constants_of_the_proof_are_the_default_and_the_printed_ones_an_option() -> None:
    tight, printed = (ManoleRamdasKABC(3, 2, 0.3, Gaussian(1.0), **options) for options in ({}, {"tight": False}))
    assert tight.threshold(50) == tight_threshold(50, 1.0, 0.1)
    assert printed.threshold(50) == published_threshold(50, 1.0, 0.1)
    assert "2 sqrt(g~/t)" in tight.guarantee().rule[0] and "4 sqrt(2 g-bar/t)" in printed.guarantee().rule[0]


def test_epochs_of_the_tight_threshold_spend_at_most_all_of_alpha() -> None:
    """L of the epoch that starts at t = 2^a, read off the threshold: exp(-L) sums to at most alpha."""
    alpha = 0.2
    spent = [math.exp(-((tight_threshold(2**a, 1.0, alpha) * math.sqrt(2**a) / 2 - 1) ** 2)) for a in range(400)]
    assert 0.99 * alpha < math.fsum(spent) <= alpha


def test_the_largest_distance_over_time_stays_under_the_tight_threshold() -> None:
    """Almost no two samples alike: the largest variance that there is, where the bound is closest to what happens."""
    runs, t_most, alpha = 200, 200, 0.3
    t = np.arange(1, t_most + 1)
    thresholds = np.array([tight_threshold(int(k), 1.0, alpha) for k in t])
    rng = np.random.default_rng(0)
    crossed = 0
    for _ in range(runs):
        steps = rng.normal(0.0, 1 / math.sqrt(400), (t_most, 400))  # x_t - y_t: sums of 400 coordinates, norm ~ 1
        steps *= math.sqrt(2)
        distances = np.linalg.norm(np.cumsum(steps, axis=0), axis=1) / t
        crossed += bool((distances > thresholds).any())
    assert crossed <= binom.ppf(1 - 1e-6, runs, alpha)
