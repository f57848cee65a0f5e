"""e-BH: the rule is the published one, and few rejections are false, however the evidence depends on itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from kabc.core.evidence.ebh import e_bh, log_limit

LOGS = st.lists(st.floats(-20, 20), min_size=1, max_size=12)


@given(LOGS, st.floats(0.01, 0.9))
def test_the_rule_is_the_published_one(logs: list[float], fdr: float) -> None:
    n, ranked = len(logs), sorted(logs, reverse=True)
    enough = [k for k in range(1, n + 1) if ranked[k - 1] >= math.log(n / fdr) - math.log(k)]
    k = max(enough, default=0)
    rejected = e_bh(np.array(logs), fdr)
    assert rejected.sum() == k
    if k:
        assert min(np.array(logs)[rejected]) >= log_limit(n, k, fdr) - 1e-9  # each of them has what k of them need
        assert sorted(np.array(logs)[rejected], reverse=True) == ranked[:k]  # and they are the largest


@given(LOGS, st.integers(0, 11), st.floats(0, 5))
def test_more_evidence_never_rejects_less(logs: list[float], which: int, more: float) -> None:
    before = np.array(logs)
    after = before.copy()
    after[which % len(logs)] += more
    assert (e_bh(after, 0.1) | ~e_bh(before, 0.1)).all()


@pytest.mark.parametrize("together", ["independent", "equal", "one at a time"])
def test_few_rejections_are_false_whatever_the_dependence(together: str) -> None:
    # e = 1 / u with probability u, else 0: mean 1, and as hard as can be. 15 true statements, 5 false ones.
    n_true, n, fdr, runs, rng = 15, 20, 0.2, 4000, np.random.default_rng(0)
    shares = np.zeros(runs)
    for run in range(runs):
        size = n / (fdr * rng.integers(1, n + 1))  # the limit of some k
        if together == "independent":
            hit = rng.random(n_true) < 1 / size
        elif together == "equal":
            hit = np.full(n_true, rng.random() < 1 / size)
        else:
            hit = np.arange(n_true) == int(rng.random() * size)  # never two at once
        e = np.concatenate([np.where(hit, size, 0.0), np.where(rng.random(5) < 0.5, 1e6, 0.0)])
        with np.errstate(divide="ignore"):
            rejected = e_bh(np.log(e), fdr)
        shares[run] = rejected[:n_true].sum() / max(1, rejected.sum())
    # a mean of shares varies less than a count of hits with the same mean
    assert shares.sum() <= binom.ppf(0.999, runs, fdr)
