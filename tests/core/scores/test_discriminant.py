"""Discriminants: the formula of the module computed literally, and books that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.scores import discriminant
from kabc.core.scores.discriminant import RIDGES, Moments, Scorer, groups_of, scorers_of
from kabc.core.scores.maps import Custom

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

TRUTH = np.array([0, 1, 2, 0, 1, 2])
CENTRES = np.array([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [-1.0, 4.0, 2.0]])


def seen(per_arm: int = 400, seed: int = 0) -> tuple[Array, Labels]:
    """Features and arms of samples whose columns are correlated."""
    rng = np.random.default_rng(seed)
    mix = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.2, -0.3, 0.5]])
    arms = np.repeat(np.arange(len(TRUTH)), per_arm)
    return rng.normal(size=(len(arms), 3)) @ mix.T + CENTRES[TRUTH[arms]], arms


def moments(features: Array, arms: Labels, n_arms: int = len(TRUTH)) -> Moments:
    learner = Moments(Custom(lambda x: x), n_arms)
    learner.absorb(features, arms)
    return learner


def unknown(n_arms: int = len(TRUTH)) -> Labels:
    return np.full(n_arms, -1, dtype=np.intp)


def everyone(n_arms: int = len(TRUTH)) -> Labels:
    return np.arange(n_arms)


def same_grouping(labels: Labels, truth: Labels) -> bool:
    return bool(np.array_equal(labels[:, None] == labels, truth[:, None] == truth))


def test_differences_of_scores_are_the_discriminant_computed_literally() -> None:
    features, arms = seen()
    new = np.random.default_rng(1).normal(1.0, 3.0, (50, 3))
    own = np.array([features[arms == arm].mean(axis=0) for arm in everyone()])
    covariance = (features - own[arms]).T @ (features - own[arms]) / (len(features) - len(own))
    largest = float(np.linalg.eigvalsh(covariance)[-1])
    made = scorers_of([moments(features, arms)], everyone(), unknown(), 3)
    assert len(made) == len(RIDGES)
    for ridge, scorer in zip(RIDGES, made, strict=True):
        assert same_grouping(scorer.labels, TRUTH)
        inverse = np.linalg.inv(covariance + ridge * largest * np.eye(3))
        for g in range(3):
            for h in range(3):
                m_g, m_h = (features[scorer.labels[arms] == group].mean(axis=0) for group in (g, h))
                literal = (new - (m_g + m_h) / 2) @ inverse @ (m_g - m_h)
                scores = scorer.scores(new)
                assert np.allclose(scores[:, g] - scores[:, h], literal, rtol=1e-8, atol=1e-8)


def test_scores_estimate_the_log_ratio_of_gaussian_densities() -> None:
    rng = np.random.default_rng(2)
    arms = np.repeat([0, 1], 20_000)
    features = rng.normal(np.where(arms == 0, 0.0, 2.0))[:, None]
    scorer = scorers_of([moments(features, arms, 2)], everyone(2), unknown(2), 2)[0]
    x = np.linspace(-3, 5, 9)[:, None]
    ratio = scorer.scores(x)[:, scorer.labels[1]] - scorer.scores(x)[:, scorer.labels[0]]
    assert np.allclose(ratio, 2 * x[:, 0] - 2, atol=0.3)


@given(cuts=st.lists(st.integers(1, 59), max_size=5), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_absorbing_in_parts_is_absorbing_at_once(cuts: list[int], seed: int) -> None:
    features, arms = seen(10, seed)
    order = np.random.default_rng(seed).permutation(len(arms))
    features, arms = features[order], arms[order]
    whole, parts = moments(features, arms), Moments(Custom(lambda x: x), len(TRUTH))
    for piece in np.split(np.arange(len(arms)), sorted(set(cuts))):
        parts.absorb(features[piece], arms[piece])
    assert np.array_equal(whole.counts, parts.counts)
    for a, b in zip(
        scorers_of([whole], everyone(), TRUTH.copy(), 3), scorers_of([parts], everyone(), TRUTH.copy(), 3), strict=True
    ):
        assert np.allclose(a.weights, b.weights, rtol=1e-6, atol=1e-8)
        assert np.allclose(a.offsets, b.offsets, rtol=1e-6, atol=1e-8)


def test_making_scorers_changes_neither_the_moments_nor_what_was_handed_in() -> None:
    learner, known = moments(*seen(20)), unknown()
    known[[0, 1, 2]] = [2, 0, 1]
    copy = known.copy()
    first, second = (scorers_of([learner], everyone(), known, 3) for _ in range(2))
    assert np.array_equal(known, copy)
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(first, second, strict=True))


def test_known_groups_are_respected_and_the_others_join_the_nearest() -> None:
    known = unknown()
    known[[2, 0, 1]] = [0, 1, 2]
    for scorer in scorers_of([moments(*seen(50))], everyone(), known, 3):
        assert scorer.labels.tolist() == [1, 2, 0, 1, 2, 0]


def test_known_groups_are_respected_even_where_the_samples_disagree() -> None:
    known = np.array([0, 0, 1, 1, 0, 1])
    for scorer in scorers_of([moments(*seen(50))], everyone(), known, 2):
        assert np.array_equal(scorer.labels, known)


@pytest.mark.parametrize("certain", [False, True])
def test_arms_without_samples_have_no_group(certain: bool) -> None:
    features, arms = seen(30)
    known = unknown(9)
    if certain:
        known[[0, 1, 2]] = [0, 1, 2]
    for scorer in scorers_of([moments(features, arms, 9)], everyone(9), known, 3):
        assert scorer.labels[6:].tolist() == [-1, -1, -1]
        assert same_grouping(scorer.labels[:6], TRUTH)


def test_arms_outside_the_core_join_the_groups_of_the_core() -> None:
    for scorer in scorers_of([moments(*seen(50))], np.array([0, 1, 2]), unknown(), 3):
        assert same_grouping(scorer.labels, TRUTH)


def test_spaces_in_parts_have_the_same_groups_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learners = [moments(*seen(5, seed)) for seed in range(3)]
    whole = groups_of(learners, everyone(), unknown(), 3)
    monkeypatch.setattr(discriminant, "_AT_ONCE", 2 * len(TRUTH) ** 2)
    assert np.array_equal(groups_of(learners, everyone(), unknown(), 3), whole)


def test_features_far_from_zero_have_the_same_groups_and_differences_of_scores() -> None:
    features, arms = seen(20)
    near, far = (scorers_of([moments(features + shift, arms)], everyone(), unknown(), 3) for shift in (0.0, 1e5))
    for one, other in zip(near, far, strict=True):
        assert np.array_equal(one.labels, other.labels)
        ours, theirs = one.scores(features), other.scores(features + 1e5)
        assert np.allclose(ours - ours[:, :1], theirs - theirs[:, :1], rtol=1e-4, atol=1e-4)


def test_as_many_groups_as_arms_leave_every_arm_to_itself() -> None:
    for scorer in scorers_of([moments(*seen(30))], everyone(), unknown(), 6):
        assert sorted(scorer.labels.tolist()) == list(range(6))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_samples_that_are_all_the_same_give_finite_scores(value: float) -> None:
    arms = np.repeat(everyone(), 5)
    for scorer in scorers_of([moments(np.full((30, 4), value), arms)], everyone(), unknown(), 2):
        assert np.isfinite(scorer.scores(np.array([[value] * 4, [0.0] * 4]))).all()


def test_one_sample_of_each_arm_and_more_features_than_samples_are_enough() -> None:
    features = np.random.default_rng(3).normal(size=(6, 50))
    for scorer in scorers_of([moments(features, everyone())], everyone(), unknown(), 3):
        assert np.isfinite(scorer.scores(features)).all()
        assert set(scorer.labels.tolist()) <= {0, 1, 2}


def test_a_scorer_is_linear_in_the_features() -> None:
    scorer = Scorer(np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([0.5, 0.0]), np.array([0, 1]))
    assert np.array_equal(scorer.scores(np.array([[1.0, 1.0], [2.0, 0.0]])), [[0.5, 1.0], [1.5, 4.0]])
