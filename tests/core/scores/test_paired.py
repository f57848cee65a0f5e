"""Moments of matched samples: least squares with what a match has in common, written out here once more."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.arrays import Array, Index
from kabc.core.scores.maps import Custom
from kabc.core.scores.paired import PairedMoments, centred, in_matches

N_ARMS, WIDTH = 5, 2
ROUNDS = ([0, 1, 2, 3], [1, 3], [3, 4], [0, 2, 4])  # arms 0 and 1 are never drawn with all others
EACH = (2, 3, 4, 1)


def made(effect: float, seed: int = 0) -> list[tuple[Array, Index]]:
    """Features of each round, arm after arm: what the arm adds, what the match adds, and noise."""
    rng = np.random.default_rng(seed)
    adds = np.arange(N_ARMS)[:, None] * np.array([1.0, -2.0])
    found = []
    for arms, n in zip(ROUNDS, EACH, strict=True):
        common = effect * rng.normal(size=(n, WIDTH))
        rows = np.concatenate([adds[arm] + common + rng.normal(size=(n, WIDTH)) for arm in arms])
        found.append((rows, np.repeat(arms, n)))
    return found


def differences(means: Array) -> Array:  # (N, D) -> (N, D)
    """Only these have a meaning."""
    return np.asarray(means - means.mean(axis=0))


def taught(effect: float) -> PairedMoments:
    moments = PairedMoments(Custom(lambda rows: rows), N_ARMS)
    for rows, owners in made(effect):
        moments.absorb(rows, owners)
    return moments


def least_squares(effect: float) -> tuple[Array, Array]:
    """Arms (up to a constant) and the covariance of what is left, from one regression on arms and matches."""
    rows, design, match = [], [], 0
    n_matches = sum(EACH)
    for features, owners in made(effect):
        n = int(np.count_nonzero(owners == owners[0]))
        for place, (row, arm) in enumerate(zip(features, owners.tolist(), strict=True)):
            line = np.zeros(N_ARMS + n_matches)
            line[arm] = line[N_ARMS + match + place % n] = 1.0
            rows.append(row)
            design.append(line)
        match += n
    table, values = np.array(design), np.array(rows)
    found = np.linalg.lstsq(table, values, rcond=None)[0]
    left = values - table @ found
    return found[:N_ARMS], left.T @ left / (len(values) - np.linalg.matrix_rank(table))


@pytest.mark.parametrize("effect", [0.0, 1.0, 100.0])
def test_means_and_covariance_are_those_of_a_regression_on_arms_and_matches(effect: float) -> None:
    moments, (arms, covariance) = taught(effect), least_squares(effect)
    means = moments._means()
    assert np.allclose(differences(means), differences(arms), atol=1e-6)
    assert np.allclose(moments._covariance(means), covariance, atol=1e-5)


def test_what_a_match_has_in_common_changes_nothing() -> None:
    weak, strong = taught(0.0), taught(1000.0)
    assert np.allclose(differences(weak._means()), differences(strong._means()), atol=1e-6)
    for one, other in zip(weak.spaces(), strong.spaces(), strict=True):
        assert np.allclose(differences(one.means), differences(other.means), atol=1e-5)


def test_a_round_is_cut_into_arms_and_matches() -> None:
    values = np.arange(12.0).reshape(6, 2)
    by_arm, n_matches = in_matches(values, np.array([4, 4, 4, 1, 1, 1]))
    assert n_matches == 3
    assert np.array_equal(by_arm, values.reshape(2, 3, 2))
    assert np.allclose(centred(by_arm).sum(axis=0), 0)
