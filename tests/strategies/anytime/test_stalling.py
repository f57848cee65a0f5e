"""A run without K stops when nothing new is being learned, says so, and keeps what is certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import kabc
from kabc.core.arrays import Array
from kabc.report.html import report_html
from kabc.strategies.anytime.stalling import CHECK, FEWEST, MOST, PATIENCE, Stalling
from kabc.strategies.anytime.wealth import Wealth
from tests.seeded_runs import normal

N_ARMS, LIMIT = 4, 6.0
EVERY = range(40, 8_000, 10)  # samples after each round


def books(log: float, n_told: int = 0) -> Wealth:
    """Evidence of all pairs, the same for each; the first pairs are told apart."""
    wealth = Wealth.none(N_ARMS).widened(np.arange(N_ARMS), LIMIT)
    told = wealth.told.copy()
    for i, j in list(zip(*np.triu_indices(N_ARMS, 1), strict=True))[:n_told]:
        told[i, j] = told[j, i] = 1
    full: Array = np.full((N_ARMS, N_ARMS), log)
    np.fill_diagonal(full, 0.0)
    return replace(wealth, log=full, told=told)


def stalls_at(
    log_at: Callable[[int], float],
    told_at: Callable[[int], int] = lambda n: 0,
    patience: float = PATIENCE,
    budget: int = 0,
) -> float:
    """The samples at which evidence that grows like this stalls; infinity if it does not."""
    watch = Stalling(N_ARMS, patience)
    watch.budget = budget
    for n in EVERY:
        if watch.stalled(n, books(log_at(n), told_at(n))):
            return n
    return math.inf


def test_evidence_that_does_not_grow_stalls_at_the_least_number_of_samples() -> None:
    enough = FEWEST * N_ARMS
    assert enough <= stalls_at(lambda n: 1.0) <= CHECK * enough + 10
    assert stalls_at(lambda n: -n / 100) == stalls_at(lambda n: 1.0)


def test_a_tenth_of_the_budget_is_drawn_in_any_case() -> None:
    assert 2_000 <= stalls_at(lambda n: 1.0, budget=20_000) <= CHECK * 2_000 + 10
    assert stalls_at(lambda n: 1.0, lambda n: int(n >= 300), budget=20_000) == 2_000
    assert stalls_at(lambda n: 1.0, budget=600) == stalls_at(lambda n: 1.0)


def test_before_the_first_pair_one_on_its_way_is_waited_for() -> None:
    assert stalls_at(lambda n: n / 200) == math.inf  # at 480 samples it is forecast for 1,200: before they have tripled
    assert stalls_at(lambda n: n / 500) == FEWEST * N_ARMS  # forecast for 3,000


def test_after_a_new_pair_as_many_samples_again_are_drawn_and_no_more() -> None:
    assert stalls_at(lambda n: 1.0, lambda n: int(n >= 300)) == PATIENCE * 300
    assert stalls_at(lambda n: n / 200, lambda n: int(n >= 3_000)) == PATIENCE * 3_000  # others are on their way
    assert stalls_at(lambda n: n / 200, lambda n: int(n >= 300)) == MOST * N_ARMS
    assert stalls_at(lambda n: n / 200, lambda n: int(n >= 300), budget=1_000) == PATIENCE * 300
    assert stalls_at(lambda n: 1.0, lambda n: int(n >= 50)) == FEWEST * N_ARMS
    assert stalls_at(lambda n: 1.0, lambda n: int(n >= 300), patience=5.0) == 1_500


def test_pairs_told_apart_are_not_waited_for() -> None:
    assert stalls_at(lambda n: n / 10, lambda n: 6) < math.inf


@pytest.fixture(scope="module")
def stalled() -> kabc.Result:
    arms = [normal(mean) for mean in (0.0, 0.0, 0.0, 3.0, 3.0, 6.0)]
    return kabc.cluster(arms, seed=0, progress=False)  # neither K nor a budget


def test_a_run_without_k_and_without_a_budget_ends(stalled: kabc.Result) -> None:
    assert stalled.status == "stalled"
    assert not stalled.certified
    assert stalled.n_groups_at_least == 3
    assert stalled.labels == (0, 0, 0, 1, 1, 2)
    assert stalled.evidence.n_told_apart == 11  # all pairs that differ, and no other
    assert stalled.n_samples >= FEWEST * 6


def test_a_stalled_answer_says_for_how_long_nothing_was_learned(stalled: kabc.Result) -> None:
    last = stalled.evidence.told_in_round.max()
    idle = stalled.n_samples - stalled.rounds[last - 1].n_samples
    assert idle > 100
    said = f"nothing new was learned in the last {idle:,} samples"
    for text in (str(stalled), stalled.certificate()):
        assert said in text
        assert "at least 3 groups" in text
        assert "11 of 15 pairs are told apart" in text
    page = report_html(stalled)
    assert said in page
    assert "at least 3 groups" in page


def test_equal_arms_stall_without_a_pair() -> None:
    result = kabc.cluster([normal(0.0)] * 4, seed=1, progress=False)
    assert (result.status, result.n_groups_at_least, len(result.groups)) == ("stalled", 1, 1)


def test_patience_none_goes_on_to_the_budget() -> None:
    arms = [normal(0.0)] * 3
    result = kabc.cluster(arms, max_samples=600, strategy_options={"patience": None}, seed=1, progress=False)
    assert result.status == "budget"
    with pytest.raises(kabc.SettingsError, match=r"does not stop by itself.*max_samples"):
        kabc.cluster(arms, strategy_options={"patience": None}, seed=1)


@pytest.mark.parametrize("patience", [1.0, 0, -2, math.inf, "long", True])
def test_patience_is_a_number_above_one(patience: object) -> None:
    with pytest.raises(kabc.SettingsError, match="patience must be a finite number greater than 1"):
        kabc.cluster([normal(0.0)] * 3, strategy_options={"patience": patience}, seed=1)


def test_with_k_patience_changes_nothing() -> None:
    arms = [normal(0.0)] * 4  # one group, and two are asked for: it would go on for ever
    runs = [
        kabc.cluster(arms, 2, max_samples=800, strategy_options={"patience": patience}, seed=1, progress=False)
        for patience in (1.01, None)
    ]
    assert runs[0].status != "stalled"
    assert replace(runs[0], seconds=0.0) == replace(runs[1], seconds=0.0)


def test_when_all_pairs_are_told_apart_the_groups_are_certified_without_k() -> None:
    result = kabc.cluster([normal(5.0 * arm) for arm in range(3)], seed=0, progress=False)
    assert (result.status, result.labels, result.n_groups_at_least) == ("decided", (0, 1, 2), 3)
    assert result.conditional_on == ""
    assert "3 groups, wrong with probability at most 5 % under the assumptions" in str(result)
