"""Same within a tolerance: what is found, what is certified, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from kabc import KernelDistance, SettingsError
from kabc.core.embeddings.pilots import feature_distance
from kabc.core.scores.maps import Scaled
from kabc.core.tolerances import Tolerance, parse
from kabc.strategies.tolerance import ToleranceKABC
from kabc.strategies.tolerance.either import Either, tolerance_strategy
from kabc.strategies.tolerance.ruler import ruler_of
from tests.strategies.tolerance.examples import Blind, play


def made(n_arms: int, tolerance: Any = "1 sd", **options: Any) -> ToleranceKABC:
    return ToleranceKABC(n_arms, None, 0.05, tolerance=tolerance, **{"maps": [Scaled()], **options})


def test_the_number_of_groups_is_found() -> None:
    strategy = play(made(5), [0.0, 3.0, 0.0, 6.0, 3.0])
    assert strategy.status == "decided"
    assert strategy.recommend().groups == ((0, 2), (1, 4), (3,))
    assert strategy.recommend().certified
    found = strategy.verdicts()
    assert found is not None
    together = np.equal.outer([0, 1, 0, 2, 1], [0, 1, 0, 2, 1])
    assert np.array_equal(found.verdicts == "same", together)
    assert np.array_equal(found.verdicts == "different", ~together)


def test_equal_arms_are_one_group_and_no_pair_is_called_different() -> None:
    strategy = play(made(4), [0.0] * 4)
    assert strategy.recommend().groups == ((0, 1, 2, 3),)
    found = strategy.verdicts()
    assert found is not None
    assert (found.verdicts == "same").all()
    assert (found.same_distance <= 2 * found.eps).all()


def test_arms_that_all_differ_need_no_claim_about_sameness() -> None:
    strategy = play(made(3), [0.0, 5.0, 10.0])
    assert strategy.recommend().groups == ((0,), (1,), (2,))
    assert strategy.status == "decided"
    assert strategy.n_samples < 3 * 100


def test_a_smaller_tolerance_takes_more_samples() -> None:
    few, many = (play(made(3, tolerance), [0.0] * 3).n_samples for tolerance in ("1 sd", "0.25 sd"))
    assert 4 * few < many  # the pilot is the same for both


def test_arms_beyond_the_tolerance_are_never_claimed_to_be_the_same_if_the_bets_see_no_difference() -> None:
    """The claim alone: nothing else keeps these arms apart. The shift is a hundredth above the tolerance."""
    runs = 40
    wrong = 0
    for seed in range(runs):
        strategy = made(2, "0.8 sd", maps=[Blind()])
        play(strategy, [0.0, 0.81], seed, most=1_500)
        wrong += strategy.status == "decided"
    assert wrong <= binom.ppf(0.999, runs, 0.05)


def test_within_the_tolerance_a_claim_is_proven_although_the_arms_differ() -> None:
    strategy = play(made(2, "0.8 sd", maps=[Blind()]), [0.0, 0.2])
    assert strategy.recommend().groups == ((0, 1),)


def test_a_chain_is_named() -> None:
    for seed in range(6):
        strategy = play(made(3, "0.5 sd"), [0.0, 0.3, 0.6], seed)
        found = strategy.verdicts()
        assert strategy.status == "decided" and found is not None
        assert 1 in found.between
        assert found.verdicts[0, 2] == "different"  # 1.2 times the tolerance


def test_asking_twice_gives_the_same_and_runs_repeat() -> None:
    first, second = made(3), made(3)
    assert first.ask() == first.ask()
    play(first, [0.0, 0.0, 3.0])
    play(second, [0.0, 0.0, 3.0])
    assert first.n_samples == second.n_samples
    assert first.recommend() == second.recommend()


def test_the_pilot_is_the_first_round_and_is_not_tested() -> None:
    strategy = made(4)
    rng = np.random.default_rng(0)
    request = strategy.ask()
    assert request == dict.fromkeys(range(4), 30)  # 120 in all
    strategy.tell({arm: rng.normal(50.0 * arm, 1.0, (n, 1)) for arm, n in request.items()})
    assert strategy.evidence().n_told_apart == 0  # far apart, yet only a pilot
    found = strategy.verdicts()
    assert found is not None
    off = ~np.eye(4, dtype=np.bool_)
    assert np.isinf(found.same_distance[off]).all() and not found.apart_distance.any()


def test_only_arms_with_open_statements_are_drawn() -> None:
    strategy = made(4)
    rng = np.random.default_rng(1)
    while not strategy.stopped:
        request = strategy.ask()
        strategy.tell({arm: rng.normal(8.0 * (arm == 3), 1.0, (n, 1)) for arm, n in request.items()})
        last = request
    assert 3 not in last  # it was told apart from all others long ago
    counts = strategy.evidence().counts
    assert counts[3] < counts[:3].min()


def test_a_tiny_arm_is_set_aside_and_the_others_go_on() -> None:
    strategy = made(4)
    rng = np.random.default_rng(2)
    aside = False
    while not strategy.stopped:
        request = strategy.ask()
        if len(strategy.rounds) == 0:
            strategy.set_aside([3])
            aside = True
            request = strategy.ask()
            assert 3 not in request
        strategy.tell({arm: rng.normal(0.0, 1.0, (n, 1)) for arm, n in request.items()})
    assert aside and strategy.status == "decided"
    assert strategy.recommend().labels == (0, 0, 0, -1)


def test_arms_that_run_dry_with_the_others_end_the_run_with_margins() -> None:
    strategy = made(3, "0.3 sd")
    play(strategy, [0.0] * 3, most=600)
    assert not strategy.stopped
    strategy.set_aside([0])
    assert strategy.status == "exhausted"
    found = strategy.verdicts()
    assert found is not None
    assert np.isfinite(found.same_within).all()
    assert (found.same_distance[~np.eye(3, dtype=np.bool_)] > found.eps).all()
    more = strategy.forecast
    assert more is not None and (more > 0).all()


def test_several_columns_and_a_mapping() -> None:
    options = {"columns": ("latency", "size")}
    strategy = play(made(3, {"latency": "1 sd"}, **options), [0.0] * 3, d=2)
    found = strategy.verdicts()
    assert strategy.status == "decided" and found is not None
    assert found.unit == "standard deviations"
    assert len(found.equivalents) == 2


def test_blocks_are_the_unit_of_the_tests() -> None:
    strategy = made(2, block=4)
    assert set(strategy.ask().values()) == {240}  # 60 blocks of 4 rows for each of 2 arms
    play(strategy, [0.0, 0.0])
    assert strategy.status == "decided"
    assert all(n % 4 == 0 for n in strategy.evidence().counts.tolist())


def test_a_kernel_of_ones_own_measures_the_distance() -> None:
    import kabc

    strategy = made(3, KernelDistance(0.4), kernel=kabc.Gaussian(bandwidth=2.0))
    play(strategy, [0.0] * 3)
    found = strategy.verdicts()
    assert strategy.status == "decided" and found is not None
    assert found.eps == 0.4


@pytest.mark.parametrize("tolerance", ["-2%", "0 sd", 0, "a bit", float("nan"), {"p50": "2%"}])
def test_nonsense_is_refused_before_a_sample_is_drawn(tolerance: Any) -> None:
    with pytest.raises(SettingsError):
        ToleranceKABC(3, None, 0.05, tolerance=tolerance, columns=("value",))


def test_a_tolerance_that_nothing_can_show_is_refused_and_changes_nothing() -> None:
    strategy = made(2, "2%")
    request = strategy.ask()
    with pytest.raises(SettingsError, match="always 0"):
        strategy.tell({arm: np.zeros((n, 1)) for arm, n in request.items()})
    assert strategy.n_samples == 0 and strategy.ask() == request


# ---------------------------------------------------------------- with a number of groups too


def test_with_a_number_of_groups_the_first_certified_answer_stands() -> None:
    strategy = tolerance_strategy(4, 2, 0.05, tolerance="0.1 sd", maps=[Scaled()])
    assert isinstance(strategy, Either)
    play(strategy, [0.0, 0.0, 4.0, 4.0])
    assert strategy.status == "decided"
    assert strategy.exact.status == "decided" and strategy.within.status is None  # 0.1 sd takes thousands of samples
    assert strategy.recommend().groups == ((0, 1), (2, 3))
    assert "2 groups" in strategy.guarantee().conditional_on


def test_a_number_of_groups_that_is_too_large_ends_as_the_same_within_the_tolerance() -> None:
    strategy = tolerance_strategy(4, 3, 0.05, tolerance="1 sd", maps=[Scaled()])
    assert isinstance(strategy, Either)
    play(strategy, [0.0, 0.0, 4.0, 4.0])
    assert strategy.status == "decided"
    assert strategy.recommend().groups == ((0, 1), (2, 3))
    assert strategy.guarantee().conditional_on == ""


def test_each_part_has_half_of_delta() -> None:
    strategy = Either(4, 2, 0.04, tolerance="1 sd")
    assert strategy.exact.delta == strategy.within.delta == 0.02


def test_with_k_the_forecast_is_that_of_the_answer_that_comes_first() -> None:
    strategy = Either(4, 2, 0.05, tolerance="0.5 sd")
    rng, totals = np.random.default_rng(0), []
    while not strategy.stopped:
        strategy.tell({arm: rng.normal(0.0, 1.0, n) for arm, n in strategy.ask().items()})  # one group: K is wrong
        more = strategy.forecast
        if more is not None:
            assert strategy.exact.forecast is not None or more.sum() <= strategy.n_samples
            totals.append(strategy.n_samples + more.sum())
    assert strategy.forecast is None
    assert totals and 0.5 < totals[-1] / strategy.n_samples < 2


def test_a_run_that_told_equal_arms_apart_by_bad_luck_ends() -> None:
    """No samples can show the groups to differ: they do not. It must not draw for ever."""
    strategy = made(3)
    rng = np.random.default_rng(0)
    while not strategy.stopped:
        request = strategy.ask()
        strategy.tell({arm: rng.normal(0.0, 1.0, n) for arm, n in request.items()})
        strategy._found.wealth.told[[0, 1], [1, 0]] = 1
        assert strategy.n_samples < 20_000
    assert strategy.status == "stalled"
    assert not strategy.recommend().certified
    found = strategy.verdicts()
    assert found is not None
    assert found.verdicts[0, 1] == "different"
    assert {found.verdicts[0, 2], found.verdicts[1, 2]} <= {"same", "open"}


@pytest.mark.parametrize("said", ["8 sd", 30.0])
def test_a_tolerance_far_above_the_spread_of_an_arm_takes_a_wider_kernel(said: object) -> None:
    pilot = [np.random.default_rng(i).normal(size=(30, 1)) for i in range(2)]
    tolerance = parse(said, ["value"])
    assert isinstance(tolerance, Tolerance)
    ruler, units = ruler_of(pilot, tolerance, ["value"], kernel=None, log_inverse_alpha=5, seed=0, block=1)
    size = 8 if said == "8 sd" else said
    assert units.columns[0].shift == pytest.approx(size, rel=0.2)  # and not what a narrow kernel sees last
    far = feature_distance(ruler.features, pilot[0], pilot[0] + 1000.0)
    assert far > 1.2 * ruler.eps
