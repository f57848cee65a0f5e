"""Quantile KABC: groups by named quantiles, each within its tolerance, for any distribution."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc import KabcError, Partition, SettingsError
from kabc.strategies import Strategy
from kabc.strategies.tolerance import QuantileKABC
from kabc.strategies.tolerance.either import Either, tolerance_strategy
from kabc.strategies.tolerance.quantile_pairs import QuantilePairs
from kabc.strategies.tolerance.reading import by_quantiles
from kabc.testing import StrategyConformance
from kabc.testing.error_law import most_errors

Law = Callable[[float, int, np.random.Generator], NDArray[np.float64]]  # factor, n, rng

LAWS: dict[str, Law] = {
    "continuous": lambda factor, n, rng: factor * rng.lognormal(3.0, 0.3, n),
    "discrete": lambda factor, n, rng: factor * rng.choice([9.0, 10.0, 11.0, 30.0], n, p=[0.2, 0.5, 0.15, 0.15]),
    "heavy tail": lambda factor, n, rng: factor * (1 + rng.pareto(0.8, n)),  # no mean
}


def played(
    strategy: Strategy, law: Law, factors: Sequence[float], seed: int, most: float = math.inf
) -> Iterator[Strategy]:
    """The strategy after each round."""
    rng = np.random.default_rng(seed)
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell({arm: law(factors[arm], n, rng) for arm, n in strategy.ask().items()})
        yield strategy


def ended(strategy: Any, law: Law, factors: Sequence[float], seed: int, most: float = math.inf) -> Any:
    for _ in played(strategy, law, factors, seed, most):
        pass
    return strategy


# ------------------------------------------------------------ answers


@pytest.mark.parametrize("law", LAWS)
def test_it_finds_the_groups_of_any_law(law: str) -> None:
    strategy = QuantileKABC(5, None, 0.05, tolerance={"p50": "20%", "p90": "60%"})
    ended(strategy, LAWS[law], [1.0, 2.0, 1.0, 2.0, 5.0], 0)
    assert strategy.status == "decided"
    assert strategy.recommend() == Partition((0, 1, 0, 1, 2), certified=True)
    assert strategy.n_groups_at_least == 3


def test_a_decided_group_has_only_pairs_that_are_the_same_and_groups_differ() -> None:
    strategy = ended(QuantileKABC(4, None, 0.1, tolerance="p50=20%, p90=30%"), LAWS["continuous"], [1, 1, 1.15, 1.9], 3)
    labels, found = np.array(strategy.recommend().labels), strategy.verdicts()
    together = labels[:, None] == labels
    assert (found.verdicts[together] == "same").all()
    assert set(found.verdicts[~together]) <= {"same", "different"}
    for one, limit in zip(found.quantiles, (20.0, 30.0), strict=True):
        assert (one.same_within[together] <= limit).all()
    assert "open" not in found.verdicts
    assert np.array_equal(strategy.evidence().told_apart, found.verdicts == "different")


def test_arms_with_other_quantiles_may_differ_but_not_here() -> None:
    """Nothing is said of quantiles without a name."""

    def law(wide: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return 50 + wide * rng.normal(0, 1, n)

    assert ended(QuantileKABC(2, None, 0.1, tolerance={"p50": 3}), law, [1, 5], 0).recommend().n_groups == 1
    assert ended(QuantileKABC(2, None, 0.1, tolerance={"p50": 3, "p90": 3}), law, [1, 5], 0).recommend().n_groups == 2


def test_sameness_is_no_chain_and_arms_in_between_are_named() -> None:
    """Neighbours are within the tolerance, the ends of the chain are not."""
    strategy = ended(QuantileKABC(3, None, 0.1, tolerance={"p50": "20%"}), LAWS["continuous"], [1.0, 1.08, 1.17], 1)
    found = strategy.verdicts()
    assert found.verdicts[0, 1] == found.verdicts[1, 2] == "same"
    assert found.verdicts[0, 2] == "different"
    assert strategy.status == "decided"
    assert strategy.recommend().n_groups == 2
    assert 1 in found.between
    assert "of any two groups some arms differ" in strategy.guarantee().claim


@pytest.mark.parametrize("seed", range(10))
def test_a_wide_chain_is_named_too(seed: int) -> None:
    strategy = ended(
        QuantileKABC(3, None, 0.1, tolerance={"p50": "20%"}), LAWS["continuous"], [1.0, 1.2**0.6, 1.2**1.2], seed
    )
    assert 1 in strategy.verdicts().between
    assert strategy.verdicts().verdicts[0, 2] != "same"


def test_the_first_verdict_stays() -> None:
    strategy = QuantileKABC(3, None, 0.1, tolerance={"p50": "20%", "p90": "20%"})
    before = np.full((3, 3), "open")
    for _ in played(strategy, LAWS["continuous"], [1.0, 1.1, 1.5], 5):
        found = strategy.verdicts()
        assert found is not None
        assert (found.verdicts[before != "open"] == before[before != "open"]).all()
        before = found.verdicts


def test_margins_only_get_narrower_and_the_unit_is_that_of_the_tolerance() -> None:
    strategy = QuantileKABC(2, None, 0.1, tolerance={"p50": "10%"})
    most, least = math.inf, 0.0
    for _ in played(strategy, LAWS["continuous"], [1.0, 1.0], 5):
        found = strategy.verdicts()
        assert found is not None
        assert found.unit == "%"
        assert found.same_within[0, 1] <= most
        assert found.apart_at_least[0, 1] >= least
        most, least = found.same_within[0, 1], found.apart_at_least[0, 1]
    assert most <= 10
    several = ended(
        QuantileKABC(2, None, 0.1, tolerance={"p50": "10%", "p25": 9}), LAWS["continuous"], [1, 1], 5
    ).verdicts()
    assert several.unit == "times the tolerance"
    expected = np.maximum(several.quantiles[0].same_within / 10, several.quantiles[1].same_within / 9)
    assert np.array_equal(several.same_within, expected)


def test_only_arms_with_open_pairs_are_drawn() -> None:
    """One arm is far away: it is told apart from all, and drawn no more."""
    strategy = ended(QuantileKABC(4, None, 0.05, tolerance={"p50": "10%"}), LAWS["continuous"], [1, 1, 1, 9], 0)
    counts = strategy.evidence().counts
    assert counts[3] < counts[:3].min() / 3


def test_a_quantile_of_zero_is_told_apart_from_a_positive_one() -> None:
    def law(share: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.where(rng.random(n) < share, 8.0, 0.0)

    strategy = ended(QuantileKABC(3, None, 0.1, tolerance={"p50": "10%"}), law, [0.2, 0.9, 0.9], 0)
    assert strategy.status == "decided"
    assert strategy.recommend().labels == (0, 1, 1)


def test_where_a_median_is_not_one_number_it_stalls() -> None:
    def coin(_: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.choice([1.0, 2.0], n)

    strategy = ended(QuantileKABC(2, None, 0.1, tolerance={"p50": "10%"}), coin, [1, 1], 0, most=100_000)
    assert strategy.status == "stalled"
    assert not strategy.recommend().certified


# ------------------------------------------------------------ validity


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("factor", [1.0, 1.2 * (1 + 1e-9)], ids=["equal", "a hair above the tolerance"])
def test_no_false_verdict_in_more_runs_than_delta_allows(law: str, factor: float) -> None:
    """Equal arms are never different, arms outside the tolerance never the same. Verdicts stay."""
    runs, delta, wrong = 80, 0.2, 0
    for run in range(runs):
        strategy = QuantileKABC(3, None, delta, tolerance={"p50": "20%", "p80": "20%"})
        found = ended(strategy, LAWS[law], [1.0, factor, 1.0], run, most=2000).verdicts().verdicts
        false_same = factor != 1 and "same" in (found[0, 1], found[1, 2])
        equal = [(0, 2)] if factor != 1 else [(0, 1), (0, 2), (1, 2)]
        wrong += false_same or any(found[pair] == "different" for pair in equal)
    assert wrong <= most_errors(runs, delta)


@pytest.mark.parametrize("law", LAWS)
def test_margins_hold_the_truth_at_all_times(law: str) -> None:
    runs, delta, wrong = 60, 0.2, 0
    for run in range(runs):
        strategy = QuantileKABC(2, None, delta, tolerance={"p50": "1%", "p80": "1%"})
        for _ in played(strategy, LAWS[law], [1.0, 1.3], run, most=500):
            found = strategy.verdicts()
            assert found is not None
            if any(
                one.apart_at_least[0, 1] > 30 * (1 + 1e-9) or one.same_within[0, 1] < 30 * (1 - 1e-9)
                for one in found.quantiles
            ):
                wrong += 1
                break
    assert wrong <= most_errors(runs, delta)


# ------------------------------------------------------------ rows that run out


def test_arms_that_run_dry_keep_what_is_proven_and_say_how_much_is_missing() -> None:
    strategy = QuantileKABC(2, None, 0.05, tolerance={"p50": "2%"})
    ended(strategy, LAWS["continuous"], [1, 1], 0, most=4000)
    assert not strategy.stopped
    strategy.set_aside([0, 1])
    assert strategy.status == "exhausted"
    found, more = strategy.verdicts(), strategy.forecast
    assert found is not None
    assert more is not None
    assert 2 < found.same_within[0, 1] < 20
    longer = ended(QuantileKABC(2, None, 0.05, tolerance={"p50": "2%"}), LAWS["continuous"], [1, 1], 0)
    taken = longer.evidence().counts
    assert (taken / 2.5 < strategy.evidence().counts + more).all()
    assert (strategy.evidence().counts + more < 2.5 * taken).all()


def test_an_arm_with_few_samples_is_left_out_and_the_others_are_decided() -> None:
    strategy = QuantileKABC(3, None, 0.05, tolerance={"p50": "20%"})
    strategy.tell({arm: LAWS["continuous"](1.0, n, np.random.default_rng(arm)) for arm, n in strategy.ask().items()})
    strategy.set_aside([2])
    assert 2 not in strategy.ask()
    ended(strategy, LAWS["continuous"], [1, 1, 1], 0)
    assert strategy.status == "decided"
    assert strategy.recommend().labels == (0, 0, -1)


def test_an_arm_with_few_samples_that_is_clearly_different_keeps_its_place() -> None:
    strategy = QuantileKABC(3, None, 0.05, tolerance={"p50": "20%"})
    for number in range(12):
        samples = {
            arm: LAWS["continuous"](9.0 if arm == 2 else 1.0, n, np.random.default_rng([number, arm]))
            for arm, n in strategy.ask().items()
        }
        strategy.tell(samples)
    strategy.set_aside([2])
    ended(strategy, LAWS["continuous"], [1, 1, 9], 0)
    assert strategy.recommend().labels == (0, 0, 1)
    assert strategy.recommend().certified


def test_without_two_arms_nothing_is_decided() -> None:
    strategy = QuantileKABC(3, None, 0.05, tolerance={"p50": "20%"})
    strategy.ask()
    strategy.set_aside([0, 1])
    assert strategy.status == "exhausted"
    assert strategy.verdicts() is None


# ------------------------------------------------------------ input


def test_nonsense_is_refused_with_the_cure() -> None:
    with pytest.raises(SettingsError, match=r"blocks do not go .* leave block out"):
        QuantileKABC(2, None, 0.05, tolerance={"p50": "2%"}, block=5)
    with pytest.raises(SettingsError, match="not about quantiles"):
        QuantileKABC(2, None, 0.05, tolerance="2%")
    with pytest.raises(SettingsError, match="quantiles are those of one column"):
        QuantileKABC(2, None, 0.05, tolerance={"p50": "2%"}, columns=("a", "b"))
    for option in ({"kernel": 1}, {"maps": [1]}):
        with pytest.raises(SettingsError, match="needs no"):
            tolerance_strategy(2, None, 0.05, tolerance={"p50": "2%"}, **option)
    with pytest.raises(SettingsError, match="columns and quantiles cannot stand in one tolerance"):
        tolerance_strategy(2, None, 0.05, tolerance={"p50": "2%", "latency": "3%"})


@pytest.mark.parametrize(
    ("spoil", "match"),
    [(lambda x: x - 100, "not negative"), (lambda x: 0 * x, "is 0 in the pilot"), (lambda x: [x, x], "one column")],
)
def test_samples_that_have_no_such_ratio_are_refused_and_change_nothing(spoil: Any, match: str) -> None:
    strategy = QuantileKABC(2, None, 0.05, tolerance={"p50": "2%"})
    rng = np.random.default_rng(0)
    asked = strategy.ask()
    rows = {arm: np.array(spoil(LAWS["continuous"](1, n, rng))).T for arm, n in asked.items()}
    with pytest.raises(KabcError, match=match):
        strategy.tell(rows)
    assert strategy.n_samples == 0
    assert strategy.ask() == asked


def test_with_a_number_of_groups_whichever_is_certified_first_stands() -> None:
    strategy = tolerance_strategy(4, 2, 0.05, tolerance={"p50": "20%"})
    assert isinstance(strategy, Either)
    assert isinstance(strategy.within, QuantileKABC)
    assert strategy.within.delta == pytest.approx(0.025)
    ended(strategy, LAWS["continuous"], [1, 1, 1, 3], 0)
    assert strategy.status == "decided"
    assert strategy.recommend().labels == (0, 0, 0, 1)
    equal = ended(tolerance_strategy(3, 2, 0.05, tolerance={"p50": "20%"}), LAWS["continuous"], [1, 1, 1], 0)
    assert equal.recommend().n_groups == 1, "there are not two groups: the tolerance answers"
    assert equal.verdicts().quantiles[0].name == "p50"


def test_a_pickled_run_goes_on_as_before() -> None:
    strategy = QuantileKABC(3, None, 0.1, tolerance={"p50": "10%"})
    for number in range(30):
        samples = {
            arm: LAWS["continuous"](1, n, np.random.default_rng([number, arm])) for arm, n in strategy.ask().items()
        }
        copy: QuantileKABC = pickle.loads(pickle.dumps(strategy))
        copy.ask()
        strategy.tell(samples)
        copy.tell(samples)
        assert copy.ask() == strategy.ask()
        assert copy.recommend() == strategy.recommend()


class TestQuantileKABC(StrategyConformance):
    delta, runs = 0.5, 40

    def make_strategy(self) -> Strategy:
        return QuantileKABC(4, None, self.delta, tolerance={"p50": 4, "p80": 4})

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.normal(8.0 * (arm % 2), 1.0, (n, 1))

    def draw_close(self, group: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.normal(5.0 * group, 1.0, (n, 1))  # just outside the tolerance

    def test_it_is_wrong_in_no_more_runs_than_delta_allows(self) -> None:
        self.delta = 0.1
        super().test_it_is_wrong_in_no_more_runs_than_delta_allows()


# ------------------------------------------------------------ the constants of the proof


def test_every_side_of_every_interval_has_its_share_of_delta() -> None:
    strategy = QuantileKABC(7, None, 0.04, tolerance={"p50": "2%", "p90": "5%", "p99": "9%"})
    assert strategy.level == pytest.approx(math.log(7 * 3 * 2 / 0.04))


def pairs_of(*intervals: tuple[tuple[float, float], ...], said: str = "p50=20%, p90=20%") -> QuantilePairs:
    """Arms with these intervals, one for each quantile."""
    ends = np.array(intervals)
    n = np.full(len(ends), 100)
    middle = np.clip(ends, -99, 99).mean(axis=-1)
    return QuantilePairs(by_quantiles(said, ["latency"]), 6.0, ends, middle, n)


def test_the_same_are_those_of_which_every_quantile_is_within_its_tolerance() -> None:
    both = ((10.0, 11.0), (20.0, 21.0))
    assert pairs_of(both, both).same()[0, 1]
    assert not pairs_of(both, ((10.0, 11.0), (20.0, 24.1))).same()[0, 1]
    assert not pairs_of(both, ((10.0, 12.1), (20.0, 21.0))).same()[0, 1]


def test_different_are_those_of_which_one_quantile_is_certainly_not_equal() -> None:
    both = ((10.0, 11.0), (20.0, 21.0))
    assert pairs_of(both, ((10.0, 11.0), (21.1, 25.0))).different()[0, 1]
    assert pairs_of(both, ((5.0, 9.9), (20.0, 21.0))).different()[0, 1]
    assert not pairs_of(both, ((11.0, 12.0), (19.0, 20.0))).different()[0, 1], "they have a point in common"
    assert not pairs_of(both, both).different().any()


def test_a_pair_that_is_told_apart_is_above_its_threshold() -> None:
    apart, needed = pairs_of(((10.0, 11.0), (20.0, 30.0)), ((11.5, 12.0), (20.0, 30.0))).evidence()
    assert apart[0, 1] > needed[0, 1]
    apart, needed = pairs_of(((10.0, 11.0), (20.0, 30.0)), ((10.9, 12.0), (20.0, 30.0))).evidence()
    assert apart[0, 1] < needed[0, 1]
    _, needed = pairs_of(((-math.inf, math.inf),) * 2, ((10.0, 11.0),) * 2, said="p50=3, p90=3").evidence()
    assert needed[0, 1] == math.inf, "nothing is known of one of them"
