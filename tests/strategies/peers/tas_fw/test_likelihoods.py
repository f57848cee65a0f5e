"""Likelihoods of counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kabc.strategies.peers.tas_fw.likelihoods import log_likelihood, log_mixture


@pytest.mark.parametrize(("m", "n"), [(2, 7), (3, 5)])
def test_mixtures_of_all_sequences_sum_to_one_and_no_pmf_beats_the_largest_likelihood(m: int, n: int) -> None:
    counts = np.array([np.bincount(word, minlength=m) for word in itertools.product(range(m), repeat=n)])
    assert np.exp(log_mixture(counts)).sum() == pytest.approx(1.0)
    for p in np.random.default_rng(0).dirichlet(np.ones(m), size=20):
        assert (counts @ np.log(p) <= log_likelihood(counts) + 1e-12).all()


def test_likelihoods_of_huge_counts_are_finite() -> None:
    counts = np.array([[10**12, 0, 3], [0, 0, 0]])
    assert np.isfinite(log_mixture(counts)).all()
    assert np.isfinite(log_likelihood(counts)).all()
    assert log_mixture(counts)[1] == pytest.approx(0.0, abs=1e-12)
    assert log_likelihood(counts)[1] == 0.0
