"""Sums and means of samples, however they come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.strategies.peers.acb import collection as collections
from kabc.strategies.peers.acb.collection import Collection
from tests.strategies.peers.acb.examples import MAKERS, run


@pytest.mark.parametrize("halves", [1, 2])
def test_distances_of_means_are_right_on_average(halves: int) -> None:
    rng = np.random.default_rng(0)
    shift = np.array([1.0, 0.0, 0.0])
    found = []
    for _ in range(2000):
        collection = Collection({0: 3, 1: 5}, halves, 3)
        collection.add(0, rng.normal(size=(halves * 3, 3)))
        collection.add(1, shift + rng.normal(size=(halves * 5, 3)))
        assert collection.complete
        found.append(collection.mean(0).squared_distance(collection.mean(1)))
    assert np.mean(found) == pytest.approx(1.0, abs=4 * float(np.std(found)) / math.sqrt(len(found)))


@given(cuts=st.lists(st.integers(1, 5), min_size=1, max_size=8), halves=st.sampled_from([1, 2]))
@settings(deadline=None)
def test_means_do_not_depend_on_how_samples_come(cuts: list[int], halves: int) -> None:
    n = sum(cuts) * halves
    points = np.random.default_rng(n).normal(size=(n, 2))
    whole, cut = (Collection({0: sum(cuts)}, halves, 2) for _ in range(2))
    whole.add(0, points)
    for piece in np.split(points, np.cumsum(cuts)):
        cut.add(0, piece)
    assert cut.complete
    assert cut.mean(0).halves == pytest.approx(whole.mean(0).halves)
    assert whole.mean(0).halves == pytest.approx(np.array([points[h::halves].mean(axis=0) for h in range(halves)]))


@pytest.mark.parametrize("maker", ["corrected", "proven", "dagger"])
def test_a_round_asks_for_no_more_than_memory_holds(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(MAKERS[maker](10, 3, 0.1))
    monkeypatch.setattr(collections, "_MOST_VALUES", 5 * 20)
    cut = run(MAKERS[maker](10, 3, 0.1))
    steps = np.diff([0, *(r.n_samples for r in cut.rounds)])
    assert steps.max() == 20 < np.diff([r.n_samples for r in plain.rounds]).max()
    assert cut.n_samples == plain.n_samples
    assert cut.evidence().distances == pytest.approx(plain.evidence().distances, nan_ok=True)
