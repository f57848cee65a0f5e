"""Evidence in blocks: the same numbers as (N, N), each pair once, and what is not known is NaN."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import MOST_ARMS, Evidence

NAN, INF = np.nan, np.inf


def bets(n_arms: int = 5, compared: tuple[int, ...] = (3, 1), seed: int = 0) -> Evidence:
    """Random evidence of all arms against some of them, the same for both orders of a pair."""
    rng = np.random.default_rng(seed)
    at = np.array(compared, dtype=np.intp)
    values, told = rng.normal(3, 3, (n_arms, n_arms)), rng.integers(0, 3, (n_arms, n_arms))
    values, told = values + values.T, told * told.T
    np.fill_diagonal(told, 0)
    limits = np.full((n_arms, len(at)), 4.0)
    return Evidence.of_bets(told[:, at], np.arange(n_arms), values[:, at], limits, at)


def distances(n_arms: int = 3) -> Evidence:
    gaps = np.abs(np.subtract.outer(np.arange(n_arms), np.arange(n_arms))).astype(float)
    return Evidence.of_distances((gaps > 1).astype(np.int64), np.full(n_arms, 7), gaps, np.full(gaps.shape, 1.5))


# ---------------------------------------------------------------- blocks and all pairs


def test_dense_blocks_have_a_row_and_a_column_for_every_arm() -> None:
    some = bets()
    full = some.dense()
    assert full.told.shape == full.values.shape == full.limits.shape == (5, 5)
    assert full.compared.tolist() == [0, 1, 2, 3, 4]
    for column, arm in enumerate(some.compared):
        assert np.array_equal(full.values[:, arm], some.values[:, column])
        assert np.array_equal(full.values[arm], some.values[:, column])


def test_pairs_that_were_never_compared_are_unknown_and_not_told_apart() -> None:
    seen = bets()
    assert np.isnan(seen.log_evidence[0, 2])
    assert seen.log_threshold[0, 2] == INF
    assert np.isnan(seen.strength[0, 2])
    assert not seen.told_apart[0, 2]


@given(seed=st.integers(0, 10_000), n_arms=st.integers(2, 7), data=st.data())
@settings(max_examples=60, deadline=None)
def test_all_pairs_look_the_same_from_blocks_and_from_their_dense_form(
    seed: int, n_arms: int, data: st.DataObject
) -> None:
    some = bets(n_arms, tuple(data.draw(st.lists(st.integers(0, n_arms - 1), unique=True))), seed)
    full = some.dense()
    for name in ("told_in_round", "log_evidence", "log_threshold", "strength", "told_apart"):
        ours, theirs = getattr(some, name), getattr(full, name)
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), name
        assert np.array_equal(ours, ours.T, equal_nan=ours.dtype.kind == "f"), name
    assert some.n_told_apart == full.n_told_apart == np.count_nonzero(np.triu(full.told))


def test_dense_evidence_is_dense_already() -> None:
    full = bets().dense()
    assert full.all_compared
    assert full.dense() == full
    assert not bets().all_compared
    assert not bets(2, (1, 0)).all_compared  # the order counts


def test_a_pair_of_two_compared_arms_is_counted_once() -> None:
    told = np.zeros((4, 2), dtype=np.int64)
    told[0, 1] = told[1, 0] = 2  # arms 0 and 1, in both columns
    told[3, 0] = 5  # arm 3 and arm 0
    seen = Evidence.of_bets(told, np.ones(4, dtype=np.int64), np.zeros((4, 2)), np.ones((4, 2)), np.array([0, 1]))
    assert seen.n_told_apart == 2


# ---------------------------------------------------------------- bets and distances


def test_bets_have_log_evidence_and_no_distances() -> None:
    seen = bets()
    assert seen.by_bets
    assert np.isnan(seen.distances).all()
    assert np.isnan(seen.thresholds).all()
    assert np.isnan(seen.variances).all()
    assert np.array_equal(seen.block_strength, seen.values / 4.0)


def test_distances_have_thresholds_and_no_log_evidence() -> None:
    seen = distances()
    assert not seen.by_bets
    assert np.array_equal(seen.distances, seen.values)
    assert (seen.thresholds == 1.5).all()
    assert np.isnan(seen.log_evidence).all()
    assert np.isnan(seen.log_threshold).all()
    assert seen.told_apart.tolist() == (seen.strength > 1).tolist()
    assert seen.n_told_apart == 1


def test_distances_without_thresholds_have_no_strength() -> None:
    seen = Evidence.of_distances(np.zeros((2, 2), dtype=np.int64), np.ones(2, dtype=np.int64), np.ones((2, 2)))
    assert np.isnan(seen.thresholds).all()
    assert np.isnan(seen.strength).all()


def test_distances_measured_beside_bets_are_shown() -> None:
    seen = replace(bets(), measured=np.full((5, 2), 0.5))
    assert seen.distances[0, 3] == seen.distances[3, 0] == seen.dense().distances[0, 3] == 0.5
    assert np.isnan(seen.distances[0, 2])
    assert seen.by_bets


def test_before_the_first_round_nothing_is_known() -> None:
    for by_bets in (False, True):
        seen = Evidence.none(3, by_bets=by_bets)
        assert seen.n_arms == 3
        assert seen.by_bets == by_bets
        assert seen.counts.tolist() == [0, 0, 0]
        assert seen.n_told_apart == 0
        assert not seen.told_apart.any()
        assert seen.told_apart.shape == seen.strength.shape == seen.distances.shape == (3, 3)
        assert np.isnan(seen.strength).all()
        assert np.isnan(seen.log_evidence).all()


def test_a_limit_of_zero_gives_no_warning() -> None:
    zero = np.zeros((2, 2))
    seen = Evidence.of_bets(zero.astype(np.int64), np.ones(2, dtype=np.int64), zero, zero)
    assert np.isnan(seen.block_strength).all()


# ---------------------------------------------------------------- equality


def test_equal_numbers_are_equal_evidence_and_nan_equals_nan() -> None:
    assert bets() == bets() == copy.deepcopy(bets()) == pickle.loads(pickle.dumps(bets()))
    assert Evidence.none(3) == Evidence.none(3)
    assert replace(bets(), measured=np.full((5, 2), NAN)) == replace(bets(), measured=np.full((5, 2), NAN))


@pytest.mark.parametrize("name", ["counts", "compared", "told", "values", "limits", "variances"])
def test_evidence_with_another_number_is_not_equal(name: str) -> None:
    changed = getattr(bets(), name).copy()
    changed.flat[0] = 41
    assert replace(bets(), **{name: changed}) != bets()


def test_evidence_of_another_kind_is_not_equal() -> None:
    assert replace(bets(), by_bets=False) != bets()
    assert replace(bets(), measured=np.zeros((5, 2))) != bets()
    assert bets() != "evidence"


def test_evidence_cannot_be_a_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(bets())


# ---------------------------------------------------------------- many arms


@pytest.mark.parametrize("arms", [[4, 0, 3], [1, 3], [0], [2, 4], [3, 1, 0, 2, 4]])
def test_evidence_among_some_arms_is_that_part_of_all_pairs(arms: list[int]) -> None:
    all_pairs, some = bets(), bets().among(arms)
    square = np.ix_(arms, arms)
    assert np.array_equal(some.told_apart, all_pairs.told_apart[square])
    assert np.array_equal(some.strength, all_pairs.strength[square], equal_nan=True)
    assert np.array_equal(some.log_threshold, all_pairs.log_threshold[square])
    assert some.counts.tolist() == arms


def test_arms_that_do_not_exist_or_come_twice_are_refused() -> None:
    with pytest.raises(SettingsError, match="arms must be numbers from 0 to 4, got 1, 5"):
        bets().among([1, 5])
    with pytest.raises(SettingsError, match="each arm can be asked for once, got 1, 1"):
        bets().among([1, 1])


def test_arms_and_groups_that_an_arm_is_told_apart_from_need_no_square() -> None:
    some = bets(7, (5, 2, 0), seed=3)
    assert [some.told_apart_with(arm).tolist() for arm in range(7)] == some.told_apart.tolist()
    members = np.arange(7)[:, None] % 3 == np.arange(3)
    expected = some.told_apart.astype(int) @ members > 0
    assert np.array_equal(some.told_apart_from(members), expected)


def test_all_pairs_of_many_arms_are_refused_with_their_size_and_the_cure() -> None:
    n_arms = MOST_ARMS + 1
    told, values = np.zeros((n_arms, 2), dtype=np.int64), np.zeros((n_arms, 2))
    many = Evidence.of_bets(told, np.ones(n_arms, dtype=np.int64), values, values, np.array([7, 3]))
    with pytest.raises(SettingsError, match=r"all pairs of 10,001 arms would take 0.8 GB; ask for some arms, e.g. evi"):
        many.told_apart  # noqa: B018
    assert many.n_told_apart == 0
    assert not many.among([3, 9_999]).told_apart.any()
