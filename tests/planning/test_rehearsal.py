"""Simulated runs: what a strategy without a schedule will cost."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import kabc
from kabc import SettingsError
from kabc.planning.cost import Cost
from kabc.planning.rehearsal import SimulatedArms, rehearse
from kabc.running.progress import Ticker


def test_simulated_runs_that_go_wrong_are_left_out() -> None:
    """A strategy that tells apart what is the same, every second time."""
    simulated = SimulatedArms.of_normals(9.0, 3, 2)

    class Wrong(kabc.AnytimeKABC):
        made = 0

        def __init__(self) -> None:
            super().__init__(3, 2, 0.2)
            Wrong.made += 1
            self.wrong = Wrong.made % 2 == 1

        def evidence(self) -> kabc.Evidence:
            told = np.zeros((3, 3), dtype=np.int64)
            told[0, 2] = told[2, 0] = self.wrong and self.n_samples > 6
            return dataclasses.replace(super().evidence().dense(), told=told)

    samples, given_up = rehearse(Wrong, simulated, Ticker(False))
    assert 6 < samples < 100
    assert not given_up
    assert Wrong.made == 2


def test_when_all_runs_go_wrong_that_is_said() -> None:
    class Wrong(kabc.AnytimeKABC):
        def __init__(self) -> None:
            super().__init__(3, 2, 0.2)

        def evidence(self) -> kabc.Evidence:
            told = np.ones((3, 3), dtype=np.int64) - np.eye(3, dtype=np.int64)
            return dataclasses.replace(super().evidence().dense(), told=told)

    with pytest.raises(SettingsError, match=r"all simulated runs went wrong; lower delta, which is 0\.2"):
        rehearse(Wrong, SimulatedArms.of_normals(9.0, 3, 2), Ticker(False))


def test_the_same_runs_are_simulated_each_time() -> None:
    arms = SimulatedArms.of_normals(3.0, 3, 2)
    first, again = (rehearse(lambda: kabc.AnytimeKABC(3, 2, 0.2), arms, Ticker(False)) for _ in range(2))
    assert first == again


def test_normal_arms_have_the_gap_between_neighbouring_groups() -> None:
    arms = SimulatedArms.of_normals(4.0, 5, 3)
    assert arms.labels.tolist() == [0, 1, 2, 0, 1]
    rng = np.random.default_rng(0)
    means = [float(arms.draw(arm, 4000, rng).mean()) for arm in range(5)]
    assert means == pytest.approx([0.0, 4.0, 8.0, 0.0, 4.0], abs=0.1)


def test_a_pilot_is_taken_first_and_in_its_order() -> None:
    """So a pilot that is long enough plans the run that it would be, sample by sample."""
    rng = np.random.default_rng(1)
    rows = [rng.normal(mean, 1.0, (60, 1)) for mean in (0.0, 5.0, 0.0)]
    strategy = kabc.AnytimeKABC(3, 2, 0.2)
    taken = [0, 0, 0]
    while not strategy.stopped:
        request = strategy.ask()
        strategy.tell({arm: rows[arm][taken[arm] : taken[arm] + n] for arm, n in request.items()})
        for arm, n in request.items():
            taken[arm] += n
    arms = SimulatedArms.of_rows(rows, np.array([0, 1, 0]), blur=0.9)
    planned = rehearse(lambda: kabc.AnytimeKABC(3, 2, 0.2), arms, Ticker(False))
    assert planned == (strategy.n_samples, False)


def test_a_pilot_that_is_too_short_is_followed_by_draws() -> None:
    rows = [np.array([[1.0], [2.0]]), np.array([[8.0], [9.0]])]
    arms = SimulatedArms.of_rows(rows, np.array([0, 1]))
    rng = np.random.default_rng(0)
    assert arms.samples(0, 0, 2, rng).tolist() == [[1.0], [2.0]]
    later = arms.samples(0, 1, 50, rng)
    assert later[0] == 2.0
    assert set(later[:, 0]) == {1.0, 2.0}


def test_arms_of_a_pilot_draw_from_the_rows_of_their_whole_group() -> None:
    rows = [np.full((3, 1), value) for value in (1.0, 2.0, 3.0)]
    arms = SimulatedArms.of_rows(rows, np.array([0, 1, 0]))
    rng = np.random.default_rng(0)
    assert set(arms.draw(0, 200, rng)[:, 0]) == set(arms.draw(2, 200, rng)[:, 0]) == {1.0, 3.0}
    assert set(arms.draw(1, 200, rng)[:, 0]) == {2.0}


def test_a_blur_shrinks_all_differences_alike() -> None:
    rows = [np.full((3, 1), value) for value in (0.0, 1.0)]
    arms = SimulatedArms.of_rows(rows, np.array([0, 1]), blur=0.4)
    rng = np.random.default_rng(0)
    means = [float(arms.draw(arm, 20_000, rng).mean()) for arm in (0, 1)]
    assert means == pytest.approx([0.2, 0.8], abs=0.02)  # 0.4 of the samples come from all rows, whose mean is 0.5


def test_a_cost_is_known_or_not() -> None:
    assert Cost().money(10) is None
    assert Cost().lines({"median": 10}) == []
    known = Cost(price=0.5, seconds=2.0)
    assert (known.money(10), known.duration(10)) == (5.0, 20.0)
    assert known.lines({"median": 10}) == ["price: 5 (median)", "time: 20 s (median)"]


def test_simulated_runs_use_one_thread_of_blas() -> None:
    from threadpoolctl import ThreadpoolController, threadpool_limits

    seen: set[int] = set()

    class Looking(kabc.AnytimeKABC):
        def ask(self) -> dict[int, int]:
            seen.update(one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas")
            return super().ask()

    with threadpool_limits(2, user_api="blas"):
        rehearse(lambda: Looking(2, 2, 0.2), SimulatedArms.of_normals(9.0, 2, 2), Ticker(False))
    assert seen == {1}
