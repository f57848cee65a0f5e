"""Numbers of samples against the formulas of the paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kabc.strategies.peers.acb.quantiles import chi_quantile
from kabc.strategies.peers.acb.rules import Calibrated, Proven


def test_numbers_of_samples_in_the_papers_setting() -> None:
    rule = Calibrated("published")
    search = rule.search(200, 10, 1000, 0.1, 1.0, 0.1)
    x = chi_quantile(0.01, 1000)
    assert search.n_max == math.ceil(4 * (x - 1000)) == 428
    assert search.stages == (186, 372, 744)  # ceil(10/23.03 * 428), doubled up to n_max or above
    assert search.most_candidates == search.most_samples == math.inf
    i, j = rule.shares(200, 10, 1000, 0.1, 1.0)
    assert i == pytest.approx(4 * math.sqrt(2 * 10 / 200) * math.sqrt(1000) * 4.2, rel=0.01)
    assert j == pytest.approx(20 * i, rel=0.01)
    assert rule.classification_budget(200, 10, 1000, 0.1, 1.0) == 190 * i + 10 * j


@given(
    n_groups=st.integers(2, 20),
    d=st.integers(1, 2000),
    delta=st.floats(1e-9, 1.0),
    gap=st.floats(0.01, 100.0),
    part=st.floats(0.05, 1.0),
    name=st.sampled_from(["published", "corrected"]),
)
@settings(deadline=None)
def test_the_last_stage_of_a_search_is_as_sharp_as_a_representative(
    n_groups: int, d: int, delta: float, gap: float, part: float, name: Any
) -> None:
    search = Calibrated(name).search(40, n_groups, d, delta, gap, part / n_groups)
    assert 1 <= search.stages[0] <= search.n_max <= search.stages[-1]
    assert len(search.stages) == 1 or search.stages[-2] < search.n_max
    assert all(b == 2 * a for a, b in zip(search.stages[:-1], search.stages[1:], strict=True))
    assert min(Calibrated(name).shares(40, n_groups, d, delta, gap)) >= 1


def test_all_tests_of_a_corrected_search_are_false_with_delta_together() -> None:
    """An arm of a group that is represented is held against its representative, by the numbers of the search."""
    delta, d, gap = 0.2, 3, 1.0
    search = Calibrated("corrected").search(40, 4, d, delta, gap, 0.1)
    most = search.most_candidates
    assert most == math.ceil(4 * math.log(4 / delta) / 0.1)
    spread = 1 / search.n_max + 1 / search.stages[-1]
    threshold = (gap**2 / 2 + d * spread) / spread  # of chi^2_d
    assert chi_quantile(delta / most, d) <= threshold


def errors_of_classification(rule: Calibrated, delta: float, runs: int) -> float:
    """Share of runs in which 12 arms are not all put to the right one of 4 centres, at distances 1 in R^3."""
    rng = np.random.default_rng(0)
    i, j = rule.shares(16, 4, 3, delta, 1.0)
    centres = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(8)
    labels = np.repeat(np.arange(4), 3)
    arms = centres[labels] + rng.normal(size=(runs, 12, 3)) / math.sqrt(i)
    found = centres + rng.normal(size=(runs, 4, 3)) / math.sqrt(j)
    nearest = ((arms[:, :, None] - found[:, None]) ** 2).sum(axis=-1).argmin(axis=-1)
    return float((nearest != labels).any(axis=1).mean())


def test_with_few_columns_the_printed_number_errs_and_the_corrected_one_does_not() -> None:
    delta, runs = 0.0005, 10_000
    chance = 4 * math.sqrt(delta / runs)
    assert errors_of_classification(Calibrated("published"), delta, runs) > delta + chance
    assert errors_of_classification(Calibrated("corrected"), delta, runs) <= delta + chance


@pytest.mark.parametrize("c", [30.0, 1.0])
def test_proven_numbers_are_those_of_the_theorem(c: float) -> None:
    n, k, d, delta, gap, share = 50, 5, 100, 0.05, 2.0, 0.1
    rule = Proven(c)
    search = rule.search(n, k, d, delta, gap, share)
    u = math.ceil(8 / share * math.log(8 * k / delta))
    r = math.ceil(math.log2(math.log(4 * u / delta)))
    c_1, c_2 = max(1024, 8 * c), max(16 * math.sqrt(c / 2), 32 * math.sqrt(2))
    sizes = [
        math.ceil(max(c_1 * (2**s + math.log(12 * k)), c_2 * math.sqrt(d * (2**s + math.log(6)))) / gap**2)
        for s in range(1, r + 1)
    ]
    t = 2 * k * (search.n_max + sum(sizes[1:])) + 2 * u * sizes[0]
    t += 2 * u * sum(size / 2 ** (s - 4) for s, size in enumerate(sizes[1:], 2))
    assert search.stages == tuple(sizes)
    assert search.n_max == max(sizes[-1], math.ceil(32 * math.sqrt(2 * d * math.log(2 * k)) / gap**2))
    assert search.most_candidates == u and search.most_samples == pytest.approx(t)
    log_term = math.log(6 * n * k / delta)
    c_4, c_5 = max(64, 4 * math.sqrt(2) * c), 8 * math.sqrt(c)
    assert rule.shares(n, k, d, delta, gap) == (
        math.ceil(max(c_4 * log_term, c_5 * math.sqrt(d * k / n * log_term)) / gap**2),
        math.ceil(max(c_4 * log_term, c_5 * math.sqrt(d * n / k * log_term)) / gap**2),
    )
    assert rule.classification_budget(n, k, d, delta, gap) == 2 * (45 * rule.shares(n, k, d, delta, gap)[0]) + 2 * (
        5 * rule.shares(n, k, d, delta, gap)[1]
    )
    wide = math.log(3 * k**2 / delta)
    assert rule.measure(k, d, delta, gap) == math.ceil(max(2048, 64 * c) * (wide + math.sqrt(d * wide)) / gap**2)
