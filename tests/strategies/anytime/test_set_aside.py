"""Anytime KABC without arms that ran dry: right, with the same error probability, and never without an end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import kabc
from kabc import AnytimeKABC, Partition, SettingsError
from kabc.core.errors import ProtocolError
from kabc.core.scores.maps import Scaled
from kabc.strategies.anytime.representatives import Representatives
from tests.strategies.anytime.playing import Draw, answer, at, play
from tests.strategies.anytime.test_strategy import sound


def play_pools(strategy: AnytimeKABC, draw: Draw, sizes: Mapping[int, int], seed: int = 0) -> AnytimeKABC:
    """A whole run; arms in `sizes` have this many samples, all others any number."""
    rng = np.random.default_rng(seed)
    left = dict(sizes)
    while not strategy.stopped:
        request = strategy.ask()
        short = [arm for arm, n in request.items() if n > left.get(arm, n)]
        if short:
            strategy.set_aside(short)
            assert not set(strategy.ask()) & set(short)
            continue
        for arm in left:
            left[arm] -= request.get(arm, 0)
        strategy.tell(answer(strategy, draw, rng))
    return strategy


def wrong(found: Partition, truth: NDArray[np.intp]) -> bool:
    """Whether arms that have a group are in a wrong one."""
    placed = np.array(found.labels) >= 0
    mine, theirs = np.array(found.labels)[placed], truth[placed]
    return not Partition.of(mine.tolist()).matches(Partition.of(theirs.tolist()))


# ---------------------------------------------------------------- the core


def test_an_arm_of_the_core_that_runs_dry_is_in_no_group() -> None:
    strategy = play_pools(AnytimeKABC(6, 2, 0.05), at([0, 2]), {5: 3})
    assert strategy.recommend() == Partition((0, 1, 0, 1, 0, -1))
    assert strategy.recommend().certified
    assert strategy.arms_set_aside == {5}
    sound(strategy)


def test_a_request_is_void_once_one_of_its_arms_is_set_aside() -> None:
    strategy = AnytimeKABC(4, 2, 0.05)
    samples = answer(strategy, at([0, 2]), np.random.default_rng(0))
    strategy.set_aside([3])
    with pytest.raises(ProtocolError, match="without ask"):
        strategy.tell(samples)


def test_arms_that_do_not_exist_cannot_be_set_aside() -> None:
    with pytest.raises(SettingsError, match="arm 7 cannot be set aside; arms are numbered 0 to 3"):
        AnytimeKABC(4, 2, 0.05).set_aside([7])


def test_a_claim_that_still_needs_the_arm_is_given_up_and_the_next_one_pays_for_its_number() -> None:
    strategy = AnytimeKABC(6, 2, 0.05, maps=[Scaled()])
    rng, draw = np.random.default_rng(0), at([0, 2])
    while strategy._found.review.claim is None:
        strategy.tell(answer(strategy, draw, rng))
    assert strategy._found.review.claim.needs(np.arange(6) == 5, strategy._found.wealth.all_apart())
    strategy.set_aside([5])
    claim = strategy._found.review.claim
    assert claim is None or (claim.labels[5] == -1 and strategy._found.review.n_claims == 2)
    play(strategy, draw, rounds=200)
    assert strategy._found.review.n_claims >= 2
    assert strategy.recommend().labels == (0, 1, 0, 1, 0, -1)


def test_no_group_is_made_of_arms_that_a_proven_claim_leaves_out() -> None:
    """Pairs with an arm that was set aside are not told apart by a claim about the others."""
    strategy = play_pools(AnytimeKABC(6, 2, 0.05), at([0, 2]), {5: 3})
    told = strategy.evidence().told_apart[5]
    limits = strategy.evidence().log_evidence[5] >= strategy._found.shares.pair_limit(6, 1)
    assert np.array_equal(told, limits & (np.arange(6) != 5))


def test_arms_without_samples_leave_their_share_of_delta_to_the_others() -> None:
    strategy, alone = AnytimeKABC(6, 2, 0.05), AnytimeKABC(5, 2, 0.05)
    strategy.set_aside([5])
    assert strategy.evidence().log_threshold[0, 1] == alone.evidence().log_threshold[0, 1]
    assert strategy.ask().keys() == {0, 1, 2, 3, 4}


def test_a_core_of_many_arms_is_filled_with_arms_that_have_samples() -> None:
    strategy = AnytimeKABC(90, 2, 0.05)
    strategy.set_aside(range(30))
    assert len(strategy.ask()) == 24
    assert min(strategy.ask()) >= 30


def test_a_core_that_dries_out_is_widened() -> None:
    strategy = AnytimeKABC(90, 2, 0.05)
    core = list(strategy.ask())
    strategy = play_pools(strategy, at([0, 6]), dict.fromkeys(core[:-1], 2))
    assert strategy.status == "decided"
    assert not wrong(strategy.recommend(), np.arange(90) % 2)
    assert sum(label < 0 for label in strategy.recommend().labels) == 23


def test_too_few_arms_end_it() -> None:
    strategy = AnytimeKABC(4, 3, 0.05)
    strategy.tell(answer(strategy, at([0, 5, 10]), np.random.default_rng(0)))
    strategy.set_aside([0, 1])
    assert strategy.status == "exhausted"
    assert not strategy.ask()


# ---------------------------------------------------------------- representatives


def settled(n_arms: int = 60, gap: float = 2.0) -> tuple[AnytimeKABC, np.random.Generator, Draw]:
    """A strategy in its second phase."""
    strategy, rng, draw = AnytimeKABC(n_arms, 2, 0.05, maps=[Scaled()]), np.random.default_rng(0), at([0, gap])
    while strategy._found.assignment is None:
        strategy.tell(answer(strategy, draw, rng))
    for _ in range(3):
        strategy.tell(answer(strategy, draw, rng))
    return strategy, rng, draw


def test_another_arm_of_the_group_goes_on_where_the_representative_was() -> None:
    strategy, _, draw = settled()
    assert strategy._found.standing is not None
    first = strategy._found.standing.arms[0]
    undecided = strategy._found.assignment.undecided  # type: ignore[union-attr]
    open_arm = int(undecided[strategy.evidence().log_evidence[undecided, first].argmax()])
    before = strategy.evidence().log_evidence[open_arm, first]
    strategy.set_aside([first])
    second = strategy._found.standing.arms[0]
    assert second != first
    assert strategy.evidence().log_evidence[open_arm, second] == before != 0
    assert strategy.evidence().log_threshold[open_arm, second] == strategy._found.shares.outside_limit(24)
    assert {second} < set(strategy.ask())
    play(strategy, draw, rounds=300)
    assert strategy.status == "decided"
    assert strategy.recommend() == Partition.of(arm % 2 for arm in range(60))
    sound(strategy)


def test_an_arm_from_outside_the_core_represents_its_group_if_no_other_is_left() -> None:
    strategy, rng, draw = settled(gap=3.0)
    while not (np.array(strategy.recommend().labels)[strategy._found.core.order[24:]] >= 0).any():
        strategy.tell(answer(strategy, draw, rng))
    core = strategy._found.core.arms
    while (strategy._found.assignment.labels[strategy._found.core.order[24:]] < 0).all():  # type: ignore[union-attr]
        strategy.tell(answer(strategy, draw, rng))
    strategy.set_aside(core.tolist())
    play(strategy, draw, rounds=400)
    assert strategy.stopped
    assert not wrong(strategy.recommend(), np.arange(60) % 2)
    sound(strategy)


def test_representatives_with_few_rows_are_asked_for_less() -> None:
    rng = np.random.default_rng(0)
    arms = [rng.normal(4.0 * (i % 2), 1.0, 25) for i in range(4_000)]
    result = kabc.cluster(arms, 2, seed=0, progress=False)
    assert result.status == "decided"
    assert not result.set_aside
    assert result.labels == tuple(i % 2 for i in range(4_000))


@pytest.mark.parametrize(
    ("held", "partners", "block", "most"),
    [(10, 64, 1, 2), (3, 64, 1, 1), (100, 64, 1, 25), (256, 64, 1, 64), (40, 64, 2, 5), (400, 8, 10, 64)],
)
def test_a_representative_that_gave_little_tells_how_much_others_have(
    held: int, partners: int, block: int, most: int
) -> None:
    first = Representatives.first(np.arange(4), [0, 1], 4)
    counts, dry = np.array([held, 500, 0, 0]), np.arange(4) == 0
    assert first.dried(dry, counts, partners, block).most_partners == most
    assert first.dried(np.arange(4) == 2, counts, partners, block).most_partners == 64  # it represents nothing


def test_arms_that_wait_for_a_group_without_arms_are_set_aside_in_the_end() -> None:
    """Only one arm of the core is in the second group, and no other arm: it cannot be told apart from any more."""
    n_arms = 60
    strategy = AnytimeKABC(n_arms, 2, 0.05, maps=[Scaled()])
    odd = int(strategy._found.core.arms[0])
    rng = np.random.default_rng(0)

    def draw(rng: np.random.Generator, arm: int, n: int) -> NDArray[np.float64]:
        return rng.normal(2.0 * (arm == odd), 1.0, (n, 1))

    while strategy._found.assignment is None:
        strategy.tell(answer(strategy, draw, rng))
    strategy.set_aside([odd])
    play(strategy, draw, rounds=400)
    assert strategy.status == "decided"
    labels = np.array(strategy.recommend().labels)
    assert not wrong(strategy.recommend(), (np.arange(n_arms) == odd).astype(np.intp))
    assert set(strategy.arms_set_aside) == {odd, *np.flatnonzero(labels < 0).tolist()}


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_few_arms_with_random_pools_are_wrong_at_most_delta_of_the_time(gap: float) -> None:
    """Equal arms have no two groups to find: there every decided answer is wrong."""
    delta, runs, errors = 0.3, 30, 0
    groups = np.arange(6) % 2 if gap else np.zeros(6, dtype=np.intp)
    for run in range(runs):
        sizes = np.random.default_rng([7, run]).integers(1, 60, 6)
        strategy = play_pools(
            AnytimeKABC(6, 2, delta, maps=[Scaled()]), at([0, gap]), dict(enumerate(sizes.tolist())), seed=run
        )
        told = strategy.evidence().told_apart
        false_pair = (told & (groups[:, None] == groups)).any()
        errors += bool(false_pair or (strategy.status == "decided" and wrong(strategy.recommend(), groups)))
        errors += strategy.status == "contradicted" and not false_pair
    assert errors <= binom.ppf(0.999, runs, delta)


def test_many_arms_with_random_pools_are_wrong_at_most_delta_of_the_time() -> None:
    """Small pools: representatives run dry, and other arms of their groups take over."""
    delta, runs, errors, handed_over = 0.5, 12, 0, 0
    groups = np.arange(60) % 2
    for run in range(runs):
        sizes = np.random.default_rng([8, run]).integers(4, 90, 60)
        strategy = AnytimeKABC(60, 2, delta, maps=[Scaled()])
        play_pools(strategy, at([0, 1.5]), dict(enumerate(sizes.tolist())), seed=run)
        told = strategy.evidence().told_apart
        errors += bool((told & (groups[:, None] == groups)).any() or wrong(strategy.recommend(), groups))
        if strategy._found.standing is not None and strategy._found.assignment is not None:
            first = strategy._found.core.arms[list(strategy._found.assignment.columns)]
            handed_over += strategy._found.standing.arms != tuple(first)
    assert handed_over >= runs / 2
    assert errors <= binom.ppf(0.999, runs, delta)
