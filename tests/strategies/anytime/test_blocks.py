"""Blocks: L consecutive samples are one for the bets, and L samples for the bill."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.core.errors import SampleError, SettingsError
from kabc.core.scores.maps import Averaged, Custom, Scaled, default_maps
from kabc.strategies.anytime import AnytimeKABC


def play(strategy: AnytimeKABC, rounds: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        if not strategy.stopped:
            strategy.tell({arm: rng.normal(arm % 2, 1.0, (n, 2)) for arm, n in strategy.ask().items()})


def test_whole_blocks_are_asked_for_and_samples_are_counted() -> None:
    strategy = AnytimeKABC(4, 2, 0.05, block=7)
    asked = strategy.ask()
    assert {n % 7 for n in asked.values()} == {0}
    play(strategy, 3)
    assert strategy.n_samples == int(strategy.evidence().counts.sum())
    assert strategy.n_samples % 7 == 0
    assert strategy.rounds[-1].n_samples == strategy.n_samples
    assert strategy.rounds[-1].n == int(strategy.evidence().counts.max())


def test_blocks_are_bet_on_as_the_same_bets_on_features_of_blocks() -> None:
    """A strategy with block=L does what one does that is told blocks as samples and has averaging maps."""
    own = AnytimeKABC(4, 2, 0.05, block=5)
    other = AnytimeKABC(4, 2, 0.05, maps=[Averaged(one, 5) for one in default_maps(2)])
    rng = np.random.default_rng(1)
    while not own.stopped:
        rows = {arm: rng.normal(0.7 * (arm % 2), 1.0, (n, 2)) for arm, n in own.ask().items()}
        assert {arm: 5 * n for arm, n in other.ask().items()} == {arm: len(x) for arm, x in rows.items()}
        own.tell(rows)
        other.tell({arm: x.reshape(-1, 10) for arm, x in rows.items()})
    assert np.array_equal(own.evidence().values, other.evidence().values)
    assert own.recommend() == other.recommend()
    assert own.n_samples == 5 * other.n_samples


def test_the_certificate_speaks_of_blocks() -> None:
    said = AnytimeKABC(4, 2, 0.05, block=20).guarantee()
    assert said.assumptions[0] == "blocks of 20 consecutive rows of an arm are independent and identically distributed"
    assert any("block of 20 rows" in line for line in said.rule)
    assert "blocks" not in AnytimeKABC(4, 2, 0.05).guarantee().assumptions[0]


def test_a_block_is_at_least_one_sample() -> None:
    with pytest.raises(SettingsError, match="block"):
        AnytimeKABC(4, 2, 0.05, block=0)


def test_columns_of_later_rounds_are_those_of_the_first() -> None:
    strategy = AnytimeKABC(3, 2, 0.05, block=4)
    play(strategy, 1)
    with pytest.raises(SampleError, match="1 column, those before have 2"):
        strategy.tell({arm: np.zeros((n, 1)) for arm, n in strategy.ask().items()})


def test_features_of_a_block_are_means_of_the_features_of_its_rows() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(12, 3))
    blocks = rows.reshape(4, 9)  # 3 rows of 3 columns each
    fitted = Averaged(Scaled(), 3).fitted(blocks)
    expected = Scaled().fitted(rows)(rows).reshape(4, 3, 3).mean(axis=1)
    assert np.allclose(fitted(blocks), expected)


def test_features_do_not_depend_on_how_many_blocks_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from kabc.core.scores import maps

    blocks = np.random.default_rng(3).normal(size=(50, 8))
    whole = Averaged(Custom(np.cos), 4)(blocks)
    monkeypatch.setattr(maps, "_ROWS_AT_ONCE", 12)
    assert np.array_equal(Averaged(Custom(np.cos), 4)(blocks), whole)
