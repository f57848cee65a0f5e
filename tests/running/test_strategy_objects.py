"""Strategies by name and as objects: which settings reach them, and how they go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import SettingsError
from kabc.core.scores.maps import Scaled
from kabc.strategies import BOC, needs_kernel, strategies
from tests.running.examples import KERNEL, counting, normal, three_groups


def test_a_strategy_object_is_driven_as_it_is() -> None:
    strategy = kabc.KABC(5, 3, 0.2, KERNEL, keep_samples=True)
    result = kabc.cluster(three_groups(), strategy=strategy, seed=0)
    assert result.groups == (("a", "c"), ("b", "e"), ("d",))
    assert result.delta == 0.2
    assert result.n_samples == strategy.n_samples


BESIDE: list[tuple[dict[str, Any], str]] = [
    ({"n_clusters": 2}, "n_clusters=2.*n_clusters=3"),
    ({"delta": 0.001}, "delta=0.001.*delta=0.2"),
    ({"kernel": kabc.Gaussian(bandwidth=2.0)}, r"kernel=Gaussian\(bandwidth=2.0.*kernel=Gaussian\(bandwidth=1.0"),
    ({"kernel": kabc.Gaussian.from_pilot}, "kernel="),
    ({"strategy_options": {"x": 1}}, r"strategy_options=\{'x': 1\}"),
    ({"min_separation": 0.5}, "min_separation=0.5"),
    ({"pilot": 20}, "pilot=20"),
]


@pytest.mark.parametrize(("beside", "words"), BESIDE)
def test_settings_that_a_strategy_object_would_not_follow_are_refused(beside: dict[str, Any], words: str) -> None:
    log: list[int] = []
    arms = [counting(normal(0), log)] * 5
    with pytest.raises(SettingsError, match=f"{words}.*(leave|make)"):
        kabc.cluster(arms, strategy=kabc.KABC(5, 3, 0.2, KERNEL), seed=0, max_samples=500, **beside)
    assert not log


def test_settings_that_a_strategy_object_has_may_be_repeated() -> None:
    strategy = kabc.KABC(5, 3, 0.2, KERNEL)
    same: dict[str, Any] = {"n_clusters": 3, "delta": 0.2, "kernel": kabc.Gaussian(bandwidth=1.0)}
    assert kabc.cluster(three_groups(), strategy=strategy, strategy_options={}, seed=0, **same).delta == 0.2
    with pytest.raises(SettingsError, match=r"kernel=Gaussian.*no kernel"):
        kabc.cluster(three_groups(), strategy=kabc.AnytimeKABC(5, 3, 0.2), kernel=KERNEL, seed=0)
    with pytest.raises(SettingsError, match=r"n_clusters=3.*n_clusters=None"):
        kabc.cluster(three_groups(), 3, strategy=kabc.AnytimeKABC(5, None, 0.2), max_samples=50, seed=0)


@pytest.mark.parametrize("name", strategies())
def test_one_group_is_refused_before_a_sample_is_drawn(name: str) -> None:
    log: list[int] = []
    with pytest.raises(SettingsError, match=r"n_clusters=1 leaves nothing to test.*leave n_clusters out.*max_samples"):
        kabc.cluster([counting(normal(0), log)] * 3, 1, strategy=name, max_samples=100, seed=0)
    assert not log


def test_a_strategy_object_for_one_group_is_refused_too() -> None:
    with pytest.raises(SettingsError, match="n_clusters=1 leaves nothing to test"):
        kabc.cluster([normal(0)] * 3, strategy=kabc.KABC(3, 1, 0.05, KERNEL), seed=0)


def test_without_k_options_reach_a_strategy_that_needs_no_kernel() -> None:
    options = {"seed": 3, "maps": (Scaled(),)}
    arms = three_groups()
    result = kabc.cluster(arms, strategy="anytime", strategy_options=options, max_samples=200, seed=0)
    direct = kabc.cluster(arms, strategy=kabc.AnytimeKABC(5, None, 0.05, **options), max_samples=200, seed=0)  # type: ignore[arg-type]
    assert "Anytime" in result.guarantee.strategy
    assert np.array_equal(result.evidence.log_evidence, direct.evidence.log_evidence, equal_nan=True)
    assert result.n_groups_at_least == 3


NEED_K = sorted(name for name in strategies() if name not in ("anytime", "tolerance") and not needs_kernel(name))


@pytest.mark.parametrize("name", NEED_K)
def test_without_k_a_strategy_that_needs_it_is_refused_before_a_sample_is_drawn(name: str) -> None:
    log: list[int] = []
    with pytest.raises(SettingsError, match="got None"):
        kabc.cluster([counting(normal(0), log)] * 3, strategy=name, max_samples=100, seed=0)
    assert not log


GOING_ON: dict[str, tuple[Callable[[], Any], int]] = {  # a strategy, and after how many samples it is stopped
    "anytime": (lambda: kabc.AnytimeKABC(5, 3, 0.05), 30),
    "anytime, K unknown": (lambda: kabc.AnytimeKABC(5, None, 0.05), 100),
    "kabc": (lambda: kabc.KABC(5, 3, 0.05, KERNEL), 300),
    "kabc, samples kept": (lambda: kabc.KABC(5, 3, 0.05, KERNEL, keep_samples=True), 300),
    "boc": (lambda: BOC(5, 3, 0.05), 8),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_a_strategy_that_is_passed_in_again_goes_on_as_if_never_stopped(name: str) -> None:
    make, budget = GOING_ON[name]
    halved, whole = make(), make()
    first = kabc.cluster(three_groups(), strategy=halved, seed=3, max_samples=budget)
    assert first.status == "budget" and halved.n_samples > 0
    rest = kabc.cluster(three_groups(), strategy=halved, seed=3, max_samples=2_000)
    uninterrupted = kabc.cluster(three_groups(), strategy=whole, seed=3, max_samples=2_000 + first.n_samples)
    assert rest.rounds == uninterrupted.rounds and rest.status == uninterrupted.status
    assert rest.labels == uninterrupted.labels
    assert rest.evidence == uninterrupted.evidence
    assert first.n_samples + rest.n_samples == uninterrupted.n_samples  # each counts what it drew itself
    assert not {row for rows in first.samples.values() for row in rows[:, 0].tolist()} & {
        row for rows in rest.samples.values() for row in rows[:, 0].tolist()
    }


def test_the_rows_of_a_pool_are_not_told_twice_to_one_strategy() -> None:
    rng = np.random.default_rng(0)
    arms: list[Any] = [normal(0), rng.normal(size=500), normal(9)]
    strategy = kabc.AnytimeKABC(3, 2, 0.05)
    before = kabc.cluster(arms, strategy=strategy, seed=0, max_samples=6).n_samples
    told = strategy.rounds[:]
    with pytest.raises(SettingsError, match=f"told {before} samples.*drawn twice.*new strategy.*functions"):
        kabc.cluster(arms, strategy=strategy, seed=1)
    assert strategy.rounds[:] == told
