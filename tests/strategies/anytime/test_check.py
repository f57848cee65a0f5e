"""A K that is too small is not certified in silence; a right K is not doubted; conditions are said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc import AnytimeKABC, SettingsError
from kabc.bench import INSTANCES
from kabc.core.scores.maps import Ranks, Scaled
from kabc.strategies.anytime import check, shuffles
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.check import KCheck
from tests.strategies.anytime.playing import Draw, at, play

CAUGHT = ("doubtful", "contradicted")


def two_odd_ones(rng: np.random.Generator, arm: int, n: int) -> NDArray[Any]:
    """60 arms in two groups 6 apart; the last two are 8 below and 8 above them."""
    mean = {58: -8.0, 59: 14.0}.get(arm, 6.0 * (arm % 2))
    return rng.normal(mean, 1.0, (n, 1))


def builds(noise: float, wide: float) -> Draw:
    """Timings of twelve builds: nine equal ones, one 3 % slower, one wide, one that stalls in 3 % of runs."""

    def draw(rng: np.random.Generator, arm: int, n: int) -> NDArray[Any]:
        seconds = rng.lognormal(0.0, wide if arm == 10 else noise, n)
        stalls = np.where(rng.random(n) < 0.03, 10.0, 1.0) if arm == 11 else 1.0
        return np.asarray(seconds * (1.03 if arm == 9 else 1.0) * stalls)

    return draw


def run(draw: Draw, n_arms: int, n_clusters: int, seed: int, **options: Any) -> AnytimeKABC:
    strategy = AnytimeKABC(n_arms, n_clusters, 0.05, maps=[Scaled(), Ranks()], seed=seed, **options)
    return play(strategy, draw, seed, rounds=200)


@pytest.mark.parametrize("seed", range(5))
def test_two_odd_arms_among_sixty_are_not_certified_into_two_groups(seed: int) -> None:
    assert run(two_odd_ones, 60, 2, seed).status in CAUGHT


def test_without_the_check_they_are() -> None:
    strategy = run(two_odd_ones, 60, 2, 0, check_k=False)
    assert (strategy.status, strategy.k_doubt) == ("decided", None)


@pytest.mark.parametrize("seed", range(5))
def test_six_arms_in_three_groups_are_not_certified_into_two(seed: int) -> None:
    assert run(at([0, 3, 6]), 6, 2, seed).status in CAUGHT


@pytest.mark.parametrize(("n_clusters", "draw", "seed"), [(2, builds(0.02, 0.05), 1), (3, builds(0.05, 0.15), 1000)])
def test_builds_of_four_kinds_are_not_certified_into_fewer_groups(n_clusters: int, draw: Draw, seed: int) -> None:
    """Noise and seeds at which the samples show it. Other noise is missed: K = 2 at 0.05, K = 3 at 0.01 and 0.02."""
    assert play(AnytimeKABC(12, n_clusters, 0.05), draw, seed, rounds=200).status in CAUGHT


@pytest.mark.parametrize("name", ["boc-easy", "iris"])
def test_one_group_too_few_is_caught_and_the_right_number_decided(name: str) -> None:
    """A small form of benchmarks/check_k.py."""
    instance = INSTANCES[name]
    few = kabc.cluster(instance.arms, instance.n_groups - 1, seed=0, max_samples=2_000, progress=False)
    right = kabc.cluster(instance.arms, instance.n_groups, seed=0, max_samples=2_000, progress=False)
    assert few.status in CAUGHT
    assert right.certified


@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_is_settled_after_few_samples_is_noticed_by_shuffling(seed: int) -> None:
    """Two rings and a blob; a few samples settle two groups, and bets have not learnt by then what to bet on."""
    instance = INSTANCES["rings"]
    few = kabc.cluster(instance.arms, 2, seed=seed, max_samples=2_000, progress=False)
    assert few.status in CAUGHT


def test_the_shares_of_bets_and_looks_add_up_to_1() -> None:
    assert check.BETS + check.LOOKS == 1


def test_arms_that_differ_a_little_are_drawn_up_to_the_next_look() -> None:
    found, arms = KCheck([Scaled()]), np.arange(6)
    found.start(arms, arms)
    rng = np.random.default_rng(1)
    means = np.repeat([0.0, 0.8, 9.0], 2)  # the first two groups are taken for one
    batches = [Batch.of(arms.tolist(), [rng.normal(mean, 1.0, (6, 1)) for mean in means])]
    labels, nobody = np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.bool_)
    held = np.full(6, 6)
    assert found.look(labels, held, batches, nobody) == "open"
    assert found.request(np.array([6, 6, 7, 6, 8, 6]), nobody) == {0: 2, 1: 2, 2: 1, 3: 2, 5: 2}
    dry = arms == 5
    assert found.look(labels, held, batches, dry) == "passed"  # the next look cannot be reached
    assert found.request(np.full(6, 6), dry) == {}


def test_an_arm_alone_in_its_group_is_not_drawn_up_to_the_next_look() -> None:
    found, arms = KCheck([Scaled()]), np.arange(5)
    found.start(arms, arms)
    rng = np.random.default_rng(0)
    means = [0.0, 0.0, 0.8, 0.8, 9.0]  # the first two groups are taken for one
    batches = [Batch.of(arms.tolist(), [rng.normal(mean, 1.0, (6, 1)) for mean in means])]
    labels, alone = np.array([0, 0, 0, 0, 1]), arms == 4
    assert found.look(labels, np.full(5, 6), batches, alone) == "open"  # even if there is no more of it
    assert found.request(np.full(5, 6), alone) == {0: 2, 1: 2, 2: 2, 3: 2}


def test_a_few_arms_in_doubt_among_many_get_a_few_samples_and_not_a_part_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What shuffling has shown stays. So the doubt stays, whatever is drawn, and the arms in doubt must be enough."""
    monkeypatch.setattr(shuffles, "_rank", lambda spreads, *_: 1 / 64 if spreads.n == shuffles.LOOKS[0] else 1.0)
    strategy, draw = AnytimeKABC(1_000, 2, 0.05, maps=[Scaled()], seed=1), at([0, 5])
    rng, asked = np.random.default_rng(1), []
    while not strategy.stopped and len(strategy.rounds) < 200:
        found, request = strategy._found.assignment, strategy.ask()
        if found is not None and found.decided:
            asked.append(request)
        strategy.tell({arm: draw(rng, arm, n) for arm, n in request.items()})
    assert strategy.status == "decided"
    assert {len(request) for request in asked} == {3}
    assert len(asked) < 40
    assert max(max(request.values()) for request in asked) > 3
    assert sum(sum(request.values()) for request in asked) < 0.05 * strategy.n_samples


def test_a_doubtful_answer_is_not_certified_and_stops_soon() -> None:
    strategy = run(at([0, 3, 6]), 6, 2, 0)
    assert strategy.status == "doubtful"
    assert not strategy.recommend().certified
    assert strategy.recommend().n_groups == 2
    assert strategy.k_doubt is not None
    assert strategy.k_doubt >= 20
    assert strategy.n_samples <= 1.6 * run(at([0, 3, 6]), 6, 2, 0, check_k=False).n_samples


def test_a_right_k_is_decided_with_few_more_samples() -> None:
    with_check = [run(at([0, 4]), 8, 2, seed) for seed in range(8)]
    without = [run(at([0, 4]), 8, 2, seed, check_k=False) for seed in range(8)]
    assert all(strategy.status == "decided" for strategy in with_check)
    assert sum(s.n_samples for s in with_check) <= 1.15 * sum(s.n_samples for s in without)


def test_only_true_and_false_are_taken() -> None:
    with pytest.raises(SettingsError, match="check_k must be True or False, got 1"):
        AnytimeKABC(4, 2, 0.1, check_k=1)  # type: ignore[arg-type]


# ---------------------------------------------------------------- conditions


def test_between_core_and_assignment_what_a_claim_has_shown_is_conditional() -> None:
    strategy = AnytimeKABC(60, 2, 0.05, maps=[Scaled()], check_k=False)
    rng, draw = np.random.default_rng(0), at([0, 7])
    while len(strategy.ask()) != 38 and len(strategy.rounds) < 60:  # 36 arms outside the core and two representatives
        assert strategy.guarantee().conditional_on == ""
        strategy.tell({arm: draw(rng, arm, n) for arm, n in strategy.ask().items()})
    assert strategy.status is None
    assert strategy.n_groups_at_least == 2
    assert strategy.guarantee().conditional_on == "there are at most 2 groups"
    assert strategy.guarantee().claim.startswith("If there are at most 2 groups, every pair")


def test_a_decided_grouping_is_conditional_on_exactly_k() -> None:
    assert play(AnytimeKABC(60, 2, 0.05, maps=[Scaled()]), at([0, 7])).guarantee().conditional_on == (
        "there are exactly 2 groups"
    )


def test_a_refuted_claim_proves_one_more_group_and_no_pair() -> None:
    strategy = AnytimeKABC(60, 2, 0.05, maps=[Scaled()], check_k=False)
    rng, draw = np.random.default_rng(0), at([0, 7])
    while len(strategy.ask()) != 38:
        strategy.tell({arm: draw(rng, arm, n) for arm, n in strategy.ask().items()})
    wealth = strategy._found.wealth
    assert wealth.claimed is not None
    outside = np.setdiff1d(np.arange(60), wealth.compared)
    wealth.best[outside[0]] = wealth.limits[outside[0]]  # an arm that differs from both representatives
    strategy.tell({arm: draw(rng, arm, n) for arm, n in strategy.ask().items()})
    assert strategy.status == "contradicted"
    assert strategy.guarantee().conditional_on == ""
    assert strategy.n_groups_at_least == 3
    evidence = strategy.evidence()
    told = evidence.told_apart[:, wealth.compared]
    assert not (told & wealth.claimed).any()
    assert not told[outside].any()


# ---------------------------------------------------------------- for people


def odd(mean: float) -> Any:
    return lambda n, rng: rng.normal(mean, 1.0, n)


ARMS = {"a": odd(0), "b": odd(3), "c": odd(6), "d": odd(0), "e": odd(3), "f": odd(6)}


def test_the_first_line_says_that_k_is_doubtful() -> None:
    result = kabc.cluster(ARMS, 2, seed=1, progress=False)
    assert result.status == "doubtful"
    assert str(result).startswith("Doubtful: one group looks like two (evidence ")
    assert "so 2 groups may be too few" in str(result)
    assert "K: one group looks like two, evidence " in result.certificate()
    assert result.to_dict()["k_doubt"] == result.k_doubt


def test_a_right_k_is_said_to_be_looked_at() -> None:
    result = kabc.cluster(ARMS, 3, seed=0, progress=False)
    assert result.certified
    assert "K: " in str(result)
    assert kabc.cluster(ARMS, 3, seed=0, progress=False, check_k=False).k_doubt is None


def test_strategies_without_the_check_refuse_it() -> None:
    with pytest.raises(SettingsError, match="strategy 'kabc' has no option 'check_k'"):
        kabc.cluster(ARMS, 2, strategy="kabc", check_k=True, seed=0, progress=False)
    with pytest.raises(SettingsError, match="check_k=False is given beside a strategy object"):
        kabc.cluster(ARMS, strategy=AnytimeKABC(6, 2, 0.1), check_k=False, seed=0, progress=False)
