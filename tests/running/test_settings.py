"""What a run is asked for: checked once, built as often as needed."""

from __future__ import annotations

from typing import Any

import pytest

import kabc
from kabc import SettingsError
from kabc.running.settings import Settings, seed_or_fresh
from kabc.strategies.cluster import Cluster

KERNEL = kabc.Gaussian(bandwidth=1.0)


@pytest.mark.parametrize(
    ("given", "chosen", "by_kernel"),
    [
        ({}, "anytime", False),
        ({"kernel": KERNEL}, "kabc", True),
        ({"min_separation": 0.5}, "kabc", True),
        ({"strategy": "kabc-tight"}, "kabc-tight", True),
        ({"strategy": "boc"}, "boc", False),
    ],
)
def test_the_strategy_follows_from_the_other_settings(given: dict[str, Any], chosen: str, by_kernel: bool) -> None:
    settings = Settings(**given)
    assert (settings.chosen, settings.by_kernel) == (chosen, by_kernel)


def test_settings_build_a_new_strategy_each_time() -> None:
    settings = Settings(3, 0.1, options={"seed": 4})
    settings.check(5)
    first, second = settings.build(5, None, 2), settings.build(5, None, 2)
    assert first is not second
    assert isinstance(first, kabc.AnytimeKABC)
    assert (first.n_arms, first.n_clusters, first.delta) == (5, 3, 0.1)


def test_delta_and_pilot_have_defaults() -> None:
    assert Settings(2).build(3, None, 2).delta == 0.05
    assert Settings(2).pilot_size == 20
    assert Settings(2, pilot=7).pilot_size == 7


def test_a_strategy_object_is_built_as_it_is() -> None:
    strategy = kabc.AnytimeKABC(3, 2, 0.1)
    settings = Settings(strategy=strategy)
    settings.check(3)
    assert settings.build(3, None, 2) is strategy


def test_without_k_a_kernel_means_cluster_with_what_is_affordable() -> None:
    settings = Settings(kernel=KERNEL, max_samples=100)
    built = settings.build(4, KERNEL, 25)
    assert isinstance(built, Cluster)
    assert set(built.ask().values()) == {25}
    with pytest.raises(SettingsError, match="allow 1 sample per arm; at least 2 are needed"):
        settings.build(4, KERNEL, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 1}, "n_clusters=1 leaves nothing to test"),
        ({"n_clusters": 6}, "n_clusters.*6"),
        ({"kernel": KERNEL}, "'kabc' does not stop by itself.*min_separation.*max_samples"),
        ({"options": {"patience": None}}, "'anytime' does not stop by itself.*max_samples"),
        ({"options": {"patience": 0}}, "patience must be a finite number greater than 1"),
        ({"strategy": "boc"}, "'boc' does not stop by itself"),
        ({"n_clusters": 2, "min_separation": 0.5}, "pass one of them"),
        ({"min_separation": -1.0}, "min_separation.*-1"),
        ({"min_separation": 0.5, "strategy": "anytime"}, "strategy 'anytime' has none; use 'kabc'"),
        ({"n_clusters": 2, "max_samples": 0}, "max_samples.*0"),
        ({"n_clusters": 2, "kernel": KERNEL, "strategy": "anytime"}, "'anytime' needs no kernel"),
        ({"max_samples": 99, "kernel": KERNEL, "options": {"growth": 3}}, "strategy_options need n_clusters"),
        ({"strategy": kabc.AnytimeKABC(4, 2, 0.1)}, "made for 4 arms, got 5"),
        ({"strategy": kabc.AnytimeKABC(5, 2, 0.1), "delta": 0.2}, "delta=0.2 is given beside a strategy object"),
        ({"strategy": kabc.AnytimeKABC(5, 2, 0.1), "pilot": 9}, "pilot=9 is given beside a strategy object"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**given).check(5)


@pytest.mark.fresh_seed
def test_a_seed_is_kept_and_a_missing_one_is_drawn() -> None:
    assert seed_or_fresh(7) == 7
    assert seed_or_fresh(None) != seed_or_fresh(None)
    for bad in (-1, 1.5, "x"):
        with pytest.raises(SettingsError, match="seed"):
            seed_or_fresh(bad)  # type: ignore[arg-type]
