"""Blocks in a run: the length is found or given, the bill counts samples, and dependent rows tell nothing apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import kabc
from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.running.blocks import block_length, typical
from kabc.running.intake import Intake
from kabc.running.progress import Ticker
from kabc.running.settings import Settings
from kabc.running.shift import Shift
from kabc.running.sources import Sources
from kabc.running.steps import Stepper, run_here
from kabc.study.private import PrivateLedger
from tests.core.test_dependence import ar


def hosts(dependence: float, n: int, seed: int, means: tuple[float, ...] = (0.0,) * 4) -> dict[str, Array]:
    rng = np.random.default_rng([seed, 5])
    return {f"h{i}": mean + ar(dependence, n, rng) for i, mean in enumerate(means)}


class Machine:
    """A live arm whose samples depend on the ones before."""

    def __init__(self, dependence: float, mean: float, seed: int) -> None:
        self._rows = mean + ar(dependence, 40_000, np.random.default_rng([seed, 9]))
        self.drawn = 0

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        self.drawn += n
        return self._rows[self.drawn - n : self.drawn]


def cluster(*given: Any, **settings: Any) -> kabc.Result:
    return kabc.cluster(*given, **{"seed": 0, "progress": False} | settings)


def found(arms: Any, **settings: Any) -> int:
    given = Settings(block="auto", n_clusters=2, **settings)
    sources = Sources(arms, None, 0)
    intake, ledger = Intake(sources.names, sources.facts, 0), PrivateLedger(sources.facts, 0)
    stepper = Stepper(block_length(given, intake, sources.arms), ledger, intake)
    length = run_here(stepper, Shift(ledger, sources, Ticker(False), lambda: intake.n_samples))
    assert length is not None
    return length.length


# ---------------------------------------------------------------- counting


def test_samples_are_counted_and_blocks_are_named() -> None:
    result = cluster(hosts(0.0, 400, 0, (0.0, 0.0, 3.0, 3.0)), 2, block=10)
    assert result.certified
    assert result.block == 10
    assert {count % 10 for count in result.samples_per_arm.values()} == {0}
    assert f"{result.n_samples:,} samples in {result.n_samples // 10} blocks of 10" in str(result)
    assert "blocks of 10 consecutive rows of an arm are independent" in result.certificate()
    assert result.samples["h0"].shape[1] == 1  # rows, not blocks
    assert result.to_dict()["block"] == 10
    assert int(result.evidence.counts.sum()) == result.n_samples


def test_a_budget_is_in_samples() -> None:
    result = cluster(hosts(0.0, 400, 0), 2, block=10, max_samples=500)
    assert result.status == "budget"
    assert 400 < result.n_samples <= 500


def test_a_result_with_blocks_comes_back_from_its_file(tmp_path: Any) -> None:
    result = cluster(hosts(0.0, 200, 0), 2, block=5, max_samples=300)
    result.save(tmp_path / "r.json")
    assert kabc.load_result(tmp_path / "r.json") == result


def test_rows_of_a_table_come_in_blocks_of_its_order() -> None:
    rows = pl.DataFrame({"host": ["a", "b"] * 300, "at": np.arange(600)[::-1], "v": np.arange(600) % 2 * 5.0})
    result = cluster(rows, 2, arm="host", order="at", block=5)
    assert result.groups == (("a",), ("b",))
    assert result.columns == ("v",)


def test_a_function_gives_the_rows_of_all_blocks_in_one_go() -> None:
    sizes: list[int] = []

    def draw(n: int, rng: np.random.Generator) -> Array:
        sizes.append(n)
        return rng.normal(size=n)

    cluster([draw, lambda n, rng: rng.normal(5.0, 1.0, n)], 2, block=6)
    assert all(size % 6 == 0 for size in sizes)


def test_a_block_of_one_is_no_block() -> None:
    arms = hosts(0.0, 300, 0, (0.0, 2.0, 0.0))
    assert np.array_equal(cluster(arms, 2, block=1).evidence.values, cluster(arms, 2).evidence.values)


# ---------------------------------------------------------------- the length


def test_the_length_follows_the_dependence() -> None:
    lengths = [found(hosts(dependence, 4000, 1)) for dependence in (0.0, 0.5, 0.8, 0.95)]
    assert lengths[0] == 1
    assert lengths[1:] == sorted(lengths[1:])
    for length, dependence in zip(lengths[1:], (0.5, 0.8, 0.95), strict=True):
        assert length >= 4 * (1 + dependence) / (1 - dependence)


def test_the_length_is_said_and_kept() -> None:
    result = cluster(hosts(0.8, 3000, 2), 2, block="auto")
    assert result.block > 30
    assert any(f"block: {result.block} consecutive samples form one" in note for note in result.notes)
    assert result.n_pilot == 0  # rows were looked at, not drawn
    free = cluster(hosts(0.0, 300, 2, (0.0, 4.0)), 2, block="auto")
    assert free.block == 1
    assert any("not seen to depend" in note for note in free.notes)


def test_a_pilot_of_functions_is_counted_and_not_tested() -> None:
    arms = [Machine(0.5, 0.0, 1), Machine(0.5, 4.0, 2)]
    result = cluster(arms, 2, block="auto", pilot=300)
    assert result.certified
    assert result.n_pilot == 600
    assert result.n_samples == sum(arm.drawn for arm in arms)
    assert int(result.evidence.counts.sum()) == result.n_samples - 600
    assert "600 of them in a pilot that only chose the length of blocks" in result.certificate()


def test_a_pilot_of_functions_grows_with_the_dependence() -> None:
    near, far = Machine(0.0, 0.0, 1), Machine(0.95, 0.0, 2)
    found([near, near])
    assert near.drawn == 2 * 400
    assert found([far, far]) > 100
    assert far.drawn >= 2 * 1600


def test_one_odd_arm_of_many_does_not_decide_for_all() -> None:
    assert typical(np.array([1.0] * 40 + [500.0])) == 1.0
    assert typical(np.array([1.0] * 5 + [500.0])) == 500.0


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"block": 0}, "block must be a whole number"),
        ({"block": "often"}, "'auto', got 'often'"),
        ({"block": 5, "strategy": "kabc"}, "'kabc' compares single samples"),
        ({"block": "auto", "kernel": kabc.Gaussian(1.0)}, "'kabc' compares single samples"),
        ({"strategy_options": {"block": 5}}, "pass it as the argument block="),
        ({"block": 200}, "4 arms of 4 have fewer than 8 blocks of 200 consecutive rows"),
    ],
)
def test_blocks_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        cluster(hosts(0.0, 400, 0), 2, **settings)


def test_a_strategy_object_has_its_own_blocks() -> None:
    strategy = kabc.AnytimeKABC(4, 2, 0.05, block=5)
    with pytest.raises(SettingsError, match="block=4 is given beside a strategy object, which has block=5"):
        cluster(hosts(0.0, 200, 0), strategy=strategy, block=4)
    assert cluster(hosts(0.0, 200, 0), strategy=strategy, max_samples=200).block == 5


def test_a_pilot_that_takes_most_of_the_budget_is_refused() -> None:
    with pytest.raises(SettingsError, match="more than half of max_samples=1,000"):
        cluster([Machine(0.5, 0.0, 1), Machine(0.5, 0.0, 2)], 2, block="auto", max_samples=1000)


def test_arms_with_few_blocks_are_named() -> None:
    arms = hosts(0.0, 400, 0, (0.0, 3.0, 0.0))
    arms["h2"] = arms["h2"][:30]
    result = cluster(arms, 2, block=10, max_samples=300)
    assert any("1 arm of 3 has fewer than 8 blocks of 10 consecutive rows (arm h2: 3)" in note for note in result.notes)


# ---------------------------------------------------------------- the guarantee


@pytest.mark.parametrize(("block", "most"), [("auto", 9000), (1, 250)])
def test_equal_arms_with_dependent_samples_are_not_told_apart(block: int | str, most: int) -> None:
    """With blocks at most delta of the runs are wrong; without them far more, so the test can fail."""
    runs, delta = 5, 0.05
    wrong = 0
    for seed in range(runs):
        arms = [Machine(0.95 if block == 1 else 0.9, 0.0, 10 * seed + arm) for arm in range(3)]
        pilot = {"pilot": 1000} if block == "auto" else {}
        result = cluster(arms, 2, delta, block=block, max_samples=most, seed=seed, **pilot)
        wrong += result.evidence.n_told_apart > 0
    assert (wrong <= binom.ppf(0.999, runs, delta)) == (block == "auto")


def test_values_that_repeat_within_blocks_are_not_said_to_have_moved() -> None:
    """The test of `compare` needs independent values, so it takes one of each block."""

    def week(seed: int) -> kabc.Result:
        rng = np.random.default_rng([seed, 3])
        arms = {name: np.repeat(rng.normal(mean, 1.0, 40), 20) for name, mean in {"a": 0.0, "b": 0.0, "c": 9.0}.items()}
        return cluster(arms, 2, block=20, seed=seed)

    for seed in range(3):
        found = kabc.compare(week(seed), week(seed + 50))
        assert [one.proven for one in found.moved if one.proven] == []
