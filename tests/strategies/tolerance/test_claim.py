"""Claims: who answers for a group, what is bet, what proves it; and how delta is spent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.core.embeddings.pilots import pilot_features
from kabc.strategies.tolerance import shares
from kabc.strategies.tolerance.claim import WHOLE, SameClaim, pool_of
from kabc.strategies.tolerance.ruler import Ruler
from kabc.strategies.tolerance.shares import ToleranceShares

POOL: Array = np.random.default_rng(0).normal(size=(400, 1))
NOTHING = np.zeros((0, 2), dtype=np.intp)  # no group to differ from


@pytest.fixture
def ruler() -> Ruler:
    features = pilot_features(POOL)
    return Ruler(features, 0.3, np.cov(features.features(POOL).T))


def test_the_parts_of_delta_sum_to_one() -> None:
    assert pytest.approx(1.0) == shares.DIFFERENT + shares.CLAIMS + shares.SAME_WITHIN + shares.APART
    some = ToleranceShares(0.05, 12)
    claims = sum(some.claim_alpha(k) for k in range(1, 10_000))
    assert claims == pytest.approx(0.4 * 0.05, rel=1e-3)
    assert claims < 0.4 * 0.05
    assert some.different == 0.025
    assert some.same_limit == some.apart_limit == pytest.approx(math.log(66 / 0.0025))


def test_small_groups_answer_with_all_of_their_arms_and_large_ones_with_some() -> None:
    labels = np.array([0, 1] * 8 + [1] * 300)
    assert pool_of(labels, 0).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    large = pool_of(labels, 1)
    assert WHOLE < len(large) < 40 and (labels[large] == 1).all()


def test_an_arm_is_bet_against_the_mean_of_the_others_of_its_pool(
    ruler: Ruler, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Array, Array]] = []
    from kabc.core.evidence.sameness import SameBets

    monkeypatch.setattr(SameBets, "bet", lambda self, which, z: seen.append((which, z)))
    claim = SameClaim(np.array([0, 0, 1, 0, 1, -1]), 1, 0.01, ruler, NOTHING)
    features = np.random.default_rng(1).normal(size=(5, 3, ruler.n_features)) / 20
    claim.bet(np.array([0, 1, 2, 3, 4]), features)
    [(which, z)] = seen
    assert claim.about[which].tolist() == [0, 1, 3, 2, 4]
    np.testing.assert_allclose(z[0], features[0] - (features[1] + features[3]) / 2)
    np.testing.assert_allclose(z[3], features[2] - features[4])


def test_without_a_whole_pool_nothing_is_bet(ruler: Ruler) -> None:
    claim = SameClaim(np.array([0, 0, 0]), 1, 0.01, ruler, NOTHING)
    claim.bet(np.array([0, 1]), np.zeros((2, 5, ruler.n_features)))
    assert claim.n_bets(0) == 0 and np.isinf(claim.margins).all()


def test_groups_of_one_arm_have_nothing_to_prove(ruler: Ruler) -> None:
    assert SameClaim(np.array([0, 1, 2]), 1, 0.01, ruler, NOTHING).proven
    assert not SameClaim(np.array([0, 1, 1]), 1, 0.01, ruler, NOTHING).proven


def test_a_claim_wants_its_open_arms_and_those_that_answer_for_them(ruler: Ruler) -> None:
    claim = SameClaim(np.array([0, 0, 1, 1]), 1, 0.01, ruler, NOTHING)
    claim.margins[[0, 1]] = 0.1  # proven
    assert claim.wanted().tolist() == [2, 3]
    claim.margins[2] = 0.1
    assert claim.wanted().tolist() == [2, 3]  # the pool of arm 3
    claim.margins[3] = 0.1
    assert claim.proven and not len(claim.wanted())


def test_a_later_claim_needs_more_evidence() -> None:
    some = ToleranceShares(0.05, 3)
    assert some.claim_alpha(2) == pytest.approx(some.claim_alpha(1) / 3)


def test_a_claim_is_not_proven_before_its_groups_are_shown_to_differ(ruler: Ruler) -> None:
    claim = SameClaim(np.array([0, 0, 1]), 1, 0.01, ruler, np.array([[2, 0]]))
    claim.margins[:2] = 0.1
    assert claim.same and not claim.proven
    assert claim.wanted().tolist() == [0, 1, 2]  # the arm, and those that answer for the other group
    claim._differ.best[:] = 0.9 * claim.limit
    assert not claim.proven
    claim._differ.best[:] = claim.limit
    assert claim.proven and not len(claim.wanted())
