"""The benchmark of copied values: a small part of it runs, and its judgements are right."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.repeats import CLEAN, FAULTS, MODES, N_ARMS, counted, run


@pytest.mark.parametrize("mode", MODES)
def test_copies_are_doubted_and_honest_arms_are_not(mode: str) -> None:
    assert run(mode, "one arm reseeds itself at each call", 0) == {"wrong": False, "doubted": True, "repeats": True}
    assert run(mode, "none (control)", 0) == {"wrong": False, "doubted": False, "repeats": False}
    assert not run("clean", "Poisson, mean 3 beside 10,000", 0)["repeats"]


def test_runs_are_counted_in_a_process_of_their_own() -> None:
    job = ("K = 2", "one arm gives one value for ever", 0)
    assert counted(None, [job]) == {(*job[:2], "runs"): 1, (*job[:2], "doubted"): 1, (*job[:2], "repeats"): 1}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_give_numbers(name: str) -> None:
    make, n_faulty = FAULTS[name]
    rng = np.random.default_rng(0)
    assert 0 <= n_faulty <= N_ARMS
    assert make(rng)(7, rng).shape == (7,)


@pytest.mark.parametrize("name", CLEAN)
def test_laws_give_numbers(name: str) -> None:
    assert all(len(law(np.random.default_rng(0), 7)) == 7 for law in CLEAN[name])
