"""Without a number of groups and without a tolerance: a run is given up for want of news neither early nor late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kabc

Draw = Callable[[int, np.random.Generator], np.ndarray[Any, Any]]


def normal(mean: float) -> Draw:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def last_news(result: kabc.Result) -> int:
    """The samples of all arms when a pair was told apart for the last time."""
    number = int(result.evidence.told_in_round.max())
    return next((one.n_samples for one in result.rounds if one.number == number), 0)


def test_a_budget_is_not_given_up_before_a_tenth_of_it() -> None:
    for n_arms, granted in ((3, 8_000), (6, 20_000)):
        found = kabc.cluster([normal(0.0)] * n_arms, max_samples=granted, seed=1)
        assert (found.status, found.evidence.n_told_apart) == ("stalled", 0)
        assert granted / 10 <= found.n_samples <= granted / 4


def test_a_budget_that_is_granted_finds_small_differences() -> None:
    found = kabc.cluster([normal(0.0), normal(0.0), normal(0.3)], max_samples=20_000, seed=3)
    assert found.n_groups_at_least == 2


def test_after_the_last_news_there_are_at_most_as_many_samples_again() -> None:
    arms = [normal(mean) for mean in (0.0, 0.0, 0.4, 0.4, 0.4)]
    least = 100 * len(arms)  # no run ends before 100 samples of each arm
    for seed in range(3):
        found = kabc.cluster(arms, max_samples=20_000, seed=seed)
        news = last_news(found)
        assert (found.status, found.n_groups_at_least) == ("stalled", 2)
        assert found.n_samples >= max(least, 2_000, 2 * news)
        idle = found.n_samples - news
        round_ = 0.12 * found.n_samples + 2 * len(arms)  # the last round may draw beyond it
        assert idle <= max(news, 2_000 - news) + round_
        assert f"nothing new was learned in the last {idle:,} samples" in str(found)


def test_without_a_budget_pairs_on_their_way_are_waited_for_up_to_a_thousand_samples_of_each_arm() -> None:
    arms = [normal(mean) for mean in (0.0, 0.0, 0.7, 4.0)]
    for seed in range(3):
        found = kabc.cluster(arms, seed=seed)
        assert found.status == "stalled"
        assert 400 <= found.n_samples <= max(2 * last_news(found), 4_000) * 1.12
        assert found.evidence.n_told_apart == 5  # all that differ: 0.7 came long after 4.0


def test_a_small_budget_is_spent() -> None:
    found = kabc.cluster([normal(0.0)] * 6, max_samples=400, seed=1)
    assert (found.status, found.n_samples > 350) == ("budget", True)


def test_the_rule_is_the_same_for_a_study(tmp_path: Any) -> None:
    arms = {"a": normal(0.0), "b": normal(0.0), "c": normal(2.0)}
    here = kabc.cluster(arms, max_samples=6_000, seed=2)
    study = kabc.create_study("news", list(arms), max_samples=6_000, seed=2, storage=tmp_path / "kabc.db")
    kept = study.run(arms)
    assert (kept.status, kept.n_samples) == (here.status, here.n_samples) == ("stalled", here.n_samples)
    assert kept.n_samples >= 600
