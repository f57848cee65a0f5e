"""Arms that seem to differ from the rest of their group, and what is claimed then."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.strategies.tolerance import ToleranceKABC
from kabc.strategies.tolerance.claim import across_of
from kabc.strategies.tolerance.differences import MOST, SOME, Differences
from kabc.strategies.tolerance.suspicion import Suspicion, _moved


def builds(seed: int, n_equal: int = 9, most: int = 12_000) -> ToleranceKABC:
    """Equal builds, and one that takes ten times as long in 3 % of its runs. The tolerance is half a spread."""
    rng = np.random.default_rng(seed)
    strategy = ToleranceKABC(n_equal + 1, None, 0.05, tolerance="2%")
    while not strategy.stopped and strategy.n_samples < most:
        drawn: dict[int, Array] = {}
        for arm, n in strategy.ask().items():
            often = np.where(rng.random((n, 1)) < 0.03, 10.0, 1.0) if arm == n_equal else 1.0
            drawn[arm] = rng.normal(100, 4, (n, 1)) * often
        strategy.tell(drawn)
    return strategy


def test_a_build_that_rarely_stalls_is_not_put_with_the_others() -> None:
    """To the kernel these stalls are less than the tolerance. Both answers are true; the difference comes first."""
    for seed in range(2):
        strategy = builds(seed)
        assert strategy.status == "decided"
        assert strategy.recommend().groups == (tuple(range(9)), (9,))
        found = strategy.verdicts()
        assert found is not None
        assert (found.verdicts[:9, :9] == "same").all()
        apart = strategy.evidence().told_apart[9, :9]
        assert ((found.verdicts[9, :9] == "different") >= apart).all()
        assert strategy.claim is not None
        # what was not told apart pair by pair is shown for the group, and only that
        assert apart.all() or ([9, 0] in strategy.claim.across.tolist() and strategy.claim.proven)


def test_groups_with_open_pairs_must_be_shown_to_differ_the_smaller_against_the_larger() -> None:
    labels = np.array([0, 0, 0, 1, 2, 2, -1])
    apart = np.zeros((7, 7), dtype=np.bool_)
    assert across_of(labels, apart).tolist() == [[3, 0], [3, 2], [4, 0], [5, 0]]
    apart[3, :3] = apart[:3, 3] = True
    assert across_of(labels, apart).tolist() == [[3, 2], [4, 0], [5, 0]]
    apart[4, :2] = apart[:2, 4] = True  # one pair is left
    assert [4, 0] in across_of(labels, apart).tolist()
    equal: Index = np.array([0, 1])
    assert across_of(equal, np.zeros((2, 2), dtype=np.bool_)).tolist() == [[1, 0]]


def test_what_was_won_against_another_group_is_forgotten() -> None:
    before = np.array([0, 0, 0, 0, 1, 1])
    assert not _moved(before, np.array([1, 1, 1, 1, 0, 0])).any()  # only the numbers are others
    assert _moved(before, np.array([0, 0, 1, 1, 2, 2])).tolist() == [True] * 4 + [False] * 2
    assert not _moved(before, np.array([0, 0, 0, 3, 1, 1]))[:3].any()  # one of four has left


def test_more_arms_need_more_to_be_suspected() -> None:
    assert Suspicion(12).level == 2.0
    assert Suspicion(1_000).level > 6


def test_of_many_arms_only_some_pairs_are_compared_and_counted() -> None:
    few, many = Differences(MOST, 0.05, None, 1), Differences(MOST + 1, 0.05, None, 1)
    assert few.complete and not many.complete
    assert np.isclose(few.wealth.limits.max(), np.log(MOST * (MOST - 1) / 2 / 0.05))
    rows = many.compared
    assert len(rows) == SOME
    assert np.allclose(many.wealth.limits[rows], np.log(SOME * (SOME - 1) / 2 / 0.05))
    others = np.setdiff1d(np.arange(MOST + 1), rows)
    assert np.isinf(many.wealth.limits[others]).all()
