"""Odd ones out: the differences are what they should be, and false ones are as rare as promised."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from kabc.core.embeddings.pilots import pilot_features
from kabc.core.evidence.sameness import ApartBets
from kabc.core.tolerances import KernelDistance
from kabc.strategies.outliers import OddOnes
from kabc.strategies.tolerance.ruler import Ruler, ruler_of

Array = NDArray[np.float64]
COINS = pilot_features(np.array([[0.0], [1.0]] * 20), 1.0)
STEP = float(np.linalg.norm(np.subtract(*COINS.features(np.array([[1.0], [0.0]])))))  # distance of heads and tails
RULER = Ruler(COINS, 1.0, np.eye(COINS.features(np.zeros((1, 1))).shape[1]))


def coins(heads: Array, n: int, rng: np.random.Generator) -> Array:  # (N,) -> (N, n, 1)
    return (rng.random((len(heads), n, 1)) < heads[:, None, None]).astype(np.float64)


def odd_ones(n_arms: int, eps: float, fdr: float) -> OddOnes:
    everyone = np.ones(n_arms, dtype=np.bool_)
    return OddOnes(everyone, everyone, RULER, eps, fdr)


def share_of_false(heads: Array, false: Array, eps: float, fdr: float, seed: int, look: bool) -> float:
    """The share of false ones in one run of 5 + 120 samples; `look`: it ends when the first arm is odd."""
    rng, arms = np.random.default_rng(seed), np.arange(len(heads))
    found, n = odd_ones(len(heads), eps, fdr), 0
    while n < 125:
        b = 5 if n == 0 else max(2, n // 4)
        found.tell(arms, list(coins(heads, b, rng)))
        n += b
        if look and found.odd().any():
            break
    odd = found.odd()
    return float(odd[false.astype(bool)].sum() / max(1, odd.sum()))


@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize(
    ("heads", "false", "eps"),
    [
        ([0.5] * 8, [1] * 8, 0.0),  # all equal, any difference counts
        ([0.7] + [0.5] * 7, [1] * 8, 0.2),  # the first is exactly as far from the rest as is allowed
        ([0.9, 0.9] + [0.5] * 6, [0, 0] + [1] * 6, 0.4 / 3.5),  # the others are exactly so far off because of two
    ],
)
def test_false_ones_are_as_rare_as_promised(heads: list[float], false: list[int], eps: float, look: bool) -> None:
    runs, fdr = 200, 0.3
    shares = [share_of_false(np.array(heads), np.array(false), eps * STEP, fdr, seed, look) for seed in range(runs)]
    assert sum(shares) <= binom.ppf(0.999, runs, fdr)


def test_margins_of_odd_arms_are_true_as_often_as_promised() -> None:
    runs, fdr, wrong = 250, 0.3, 0.0
    heads = np.array([0.75, 0.75, *[0.5] * 6])
    rest = (heads.sum() - heads) / (len(heads) - 1)
    truth = np.abs(heads - rest) * STEP
    for seed in range(runs):
        rng, found = np.random.default_rng(seed), odd_ones(8, 0.0, fdr)
        for b in (5, 5, 10, 20, 40, 60):
            found.tell(np.arange(8), list(coins(heads, b, rng)))
        odd = found.odd()
        wrong += float((found.margins(odd) > truth)[odd].sum() / max(1, odd.sum()))
    assert wrong <= binom.ppf(0.999, runs, fdr)


def test_each_arm_is_compared_with_one_new_sample_of_all_others() -> None:
    rng, b = np.random.default_rng(0), 6
    counts = [b, b, b, 2, 4]  # the last two have fewer samples, and are not part of the rest
    samples = [rng.random((n, 1)) for n in counts]
    reference = np.array([True, True, True, False, False])
    found = OddOnes(reference, np.ones(5, dtype=np.bool_), RULER, 0.1, 0.05)
    literal = ApartBets(5, RULER.n_features, RULER.sup)
    for _ in range(3):
        found.tell(np.arange(5), samples)
        for arm, n in enumerate(counts):
            z = np.zeros((1, n, RULER.n_features))
            for t in range(n):
                rest = [RULER.of(samples[j][t : t + 1])[0] for j in range(3) if j != arm]
                z[0, t] = RULER.of(samples[arm][t : t + 1])[0] - np.mean(rest, axis=0)
            literal.bet(np.array([arm]), z)
    assert np.allclose(found.log_e, literal.log_wealth(0.1), rtol=1e-9, atol=1e-9)
    assert found.log_e.any()


def test_the_rest_stays_the_same() -> None:
    rng = np.random.default_rng(0)
    samples = [rng.random((6, 1)) for _ in range(4)]
    reference, everyone = np.array([True, True, True, False]), np.ones(4, dtype=np.bool_)
    found = OddOnes(reference, everyone, RULER, 0.1, 0.05)
    other = OddOnes(reference, everyone, RULER, 0.1, 0.05)
    for _ in range(3):
        found.tell(np.arange(4), samples)
        other.tell(np.arange(4), [*samples[:3], samples[3] * 0.5])  # no part of the rest, however many samples it has
    assert np.array_equal(found.log_e[:3], other.log_e[:3])
    assert found.log_e[3] != other.log_e[3]


def test_large_rounds_are_told_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    samples = [rng.random((n, 1)) for n in (9, 9, 9, 4)]
    reference = np.array([True, True, True, False])

    def told(parts: list[tuple[int, int]]) -> Array:
        found = OddOnes(reference, np.ones(4, dtype=np.bool_), RULER, 0.0, 0.05)
        for start, end in parts:
            left = [(arm, rows[start:end]) for arm, rows in enumerate(samples) if len(rows[start:end])]
            found.tell(np.array([arm for arm, _ in left]), [rows for _, rows in left])
        return found.log_e

    in_parts = told([(0, 3), (3, 6), (6, 9)])
    monkeypatch.setattr("kabc.strategies.outliers._MOST_NUMBERS", 3 * 4 * RULER.n_features)
    assert np.allclose(told([(0, 9)]), in_parts)


def test_margins_are_never_below_the_tolerance_and_only_of_odd_arms() -> None:
    found, rng = odd_ones(6, 0.1 * STEP, 0.05), np.random.default_rng(1)
    assert not found.log_e.any()  # the wealth starts at 1
    for b in (5, 20, 50, 100):
        found.tell(np.arange(6), list(coins(np.array([0.95, *[0.3] * 5]), b, rng)))
    odd = found.odd()
    assert odd.tolist() == [True] + [False] * 5
    assert found.margins(odd)[0] > found.eps
    assert found.margins(odd)[0] == found._bets.margins(np.log(6 / (0.05 * 1)))[0]  # the level of e-BH
    assert not found.margins(odd)[1:].any()


def test_the_forecast_finds_most_arms_that_are_twice_the_tolerance_away() -> None:
    hits, runs = 0, 30
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        pilot = [rng.normal(size=(12, 1)) for _ in range(20)]
        ruler, _ = ruler_of(pilot, KernelDistance(0.2), ["value"], kernel=None, log_inverse_alpha=6, seed=0, block=1)
        everyone = np.ones(20, dtype=np.bool_)
        found = OddOnes(everyone, everyone, ruler, ruler.eps, 0.05)
        n, left = 12, int(found.needed(2 * ruler.eps))
        shift = shift_of(ruler, 2 * ruler.eps)
        found.tell(np.arange(20), [rows + shift * (arm == 0) for arm, rows in enumerate(pilot)])
        while n < left:
            b = min(max(2, n // 4), left - n)
            found.tell(np.arange(20), [rng.normal(shift * (arm == 0), 1, (b, 1)) for arm in range(20)])
            n += b
        hits += bool(found.odd()[0])
    assert hits >= binom.ppf(0.001, runs, 0.7)


def shift_of(ruler: Ruler, distance: float) -> float:
    """The shift of a standard normal law that makes this distance."""
    grid = np.quantile(np.random.default_rng(0).normal(size=20_000), np.linspace(0.0005, 0.9995, 1000))[:, None]
    shifts = np.linspace(0, 2, 81)
    made = [np.linalg.norm(ruler.of(grid + one).mean(axis=0) - ruler.of(grid).mean(axis=0)) for one in shifts]
    return float(np.interp(distance, made, shifts))
