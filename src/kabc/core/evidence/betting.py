"""Betting: evidence against "arms i and j are the same". It stays valid if you check it after every round.

| symbol | here                | meaning                                                                          |
|--------|---------------------|----------------------------------------------------------------------------------|
| nu_i   |                     | distribution of arm i; H0: nu_i = nu_j                                           |
| l      | `x`, `y`, `ys`      | score of the pair, an estimate of log(dnu_i/dnu_j), at fresh samples of arm i    |
|        |                     | (`x`) and of arm j (`y`; `ys` for m samples that are matched with one of arm i)  |
| h, r   |                     | tanh(l/2) and exp(l)                                                             |
| f_e    | `log_factors`       | what a round multiplies the wealth of expert e by                                |
| W_e    | `log_wealth`        | wealth of expert e: 1 at the start, then the product of its factors              |
| w_e    | `log_weights`       | share of expert e in the evidence, fixed before what it weighs is seen           |
| s      | `share`             | part of the weights that is dealt out evenly                                     |
| E_ij   | `running_maximum`   | evidence against the pair, the largest so far: a weighted average of wealths     |

The score may be learnt from all samples of all arms. It only has to be fixed before the samples that it is applied to
are drawn. Then every factor below has conditional mean <= 1 under H0, the wealth is a non-negative supermartingale that
starts at 1, and P(sup_t W(t) >= 1/a) <= a (Ville), for all distributions. The caller must make sure that

- samples of an arm are i.i.d., and under H0 the samples in one factor are exchangeable (product: independent);
- a sample is used in at most one factor of an expert. Factors without a common sample are multiplied (their logs are
  added). Factors with a common sample may only be averaged.

All quantities are logarithms, work over leading axes, and are finite. A score that is NaN counts as 0. A score beyond
+-HUGE counts as +-HUGE. So a lost wealth is a number far below 0 but not -inf, and sums of wealths are never NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError

LOG_2 = math.log(2)
HUGE = 1e100  # exp(-HUGE) is 0 and a score of HUGE acts as infinity, yet HUGE times any number of rounds is finite
ROUNDING = 1e-12  # the sum of weights may differ from 1 by this much


# ---------------------------------------------------------------- factors: one bet


def log_product(x: Array, y: Array) -> Array:  # (...,), (...,) -> (...,)
    """Bet on each sample separately: log of (1 + h(x)) (1 - h(y))."""
    # Mean under H0: (1 + a)(1 - a) <= 1 with a = E h, for any function h of one sample with values in [-1, 1].
    return np.asarray(log_alone(x) + log_alone(np.negative(y)))


def log_alone(x: Array) -> Array:  # (...,) -> (...,)
    """The part of one sample in such a bet: log of 1 + h(x) = 2 sigmoid(x)."""
    x = _scores(x)
    return np.asarray(LOG_2 + np.minimum(x, 0.0) - np.log(1.0 + np.exp(-np.abs(x))))


def log_one_vs_many(x: Array, ys: Array) -> Array:  # (...,), (..., m) -> (...,)
    """Bet on which of m + 1 samples is arm i's: log of (m + 1) r(x) / (r(x) + sum_l r(y_l))."""
    return log_one_vs_pooled(x, pooled(ys, axis=-1))


@dataclass(frozen=True)
class Pooled:
    """The sum of r over samples that one sample is matched with, as a number times exp(top)."""

    top: Array
    total: Array
    size: int | Index  # m

    def at(self, *places: Any) -> Pooled:
        """These entries of many sums."""
        return Pooled(self.top[places], self.total[places], self.size)


def pooled(ys: Array, axis: int) -> Pooled:  # (..., m, ...)
    """The samples that others are matched with, along this axis."""
    ys = _scores(ys)
    top = ys.max(axis=axis, initial=-HUGE)
    return Pooled(top, np.exp(ys - np.expand_dims(top, axis)).sum(axis=axis), ys.shape[axis])


def pooled_parts(ys: Array, sizes: Index) -> Pooled:  # (m, K, ...), (P,) -> (K, P, ...)
    """The same for parts of the first axis that follow each other and have these sizes."""
    ys, start = _scores(ys), 0
    top, total = (np.empty((ys.shape[1], len(sizes), *ys.shape[2:])) for _ in range(2))
    for part, size in enumerate(sizes.tolist()):
        some = pooled(ys[start : start + size], axis=0)
        top[:, part], total[:, part], start = some.top, some.total, start + size
    return Pooled(top, total, sizes.reshape(-1, *[1] * (ys.ndim - 2)))


def log_one_vs_pooled(x: Array, ys: Pooled) -> Array:  # (...,), (...,) -> (...,)
    """The same bet, against samples that were summed up before."""
    x = _scores(x)
    # Mean under H0: each of the m + 1 samples is equally likely to be arm i's, and their shares r / (sum of all r) add
    # up to 1. Scores are measured from the highest of all, not from x. So all of them are rounded alike, and the shares
    # add up to 1 for large scores too. Several infinite scores at the top have equal shares.
    top = np.maximum(x, ys.top)
    own = x - top
    total = np.exp(own) + np.exp(ys.top - top) * ys.total  # >= 1
    return np.asarray(np.log(ys.size + 1) + own - np.log(total))


def log_of_arm(x: Array, m: Array) -> Array:  # (...,), (...,) -> (...,)
    """The part of a sample of arm i in a bet against a pool of m arms: log of (m + 1) r(x) / (r(x) + m).

    A whole bet has a sample of arm i and one of each arm of the pool. Its log is the sum of their parts.
    """
    # With g = (m + 1) / (r + m): r g + m g = m + 1. If nu_i is the average of the m laws, a = E r(x) g(x) and the
    # average b of the E g(y_l) have a + m b = m + 1, so the mean of the bet is a times the product of the E g(y_l), at
    # most a b^m <= 1: twice the inequality of means (docs/theory.md, Lemma 23.8).
    return np.asarray(_scores(x) + log_of_pool(x, m))


def log_of_pool(y: Array, m: Array) -> Array:  # (...,), (...,) -> (...,)
    """The part of a sample of one of the m arms of the pool: log of (m + 1) / (r(y) + m)."""
    return np.asarray(np.log(m + 1) - np.logaddexp(_scores(y), np.log(m)))


# ---------------------------------------------------------------- experts: several bets at once


def mixture(log_wealth: Array, log_weights: Array, axis: int = -1) -> Array:  # (..., E, ...), (E,) -> (..., ...)
    """Evidence of all experts together: log of sum_e w_e W_e, with weights fixed before the first round."""
    return mixed_factor(np.moveaxis(log_wealth, axis, -1), log_weights)


def mixed_factor(log_factors: Array, log_weights: Array) -> Array:  # (..., E), (..., E) or (E,) -> (...,)
    """One bet spread over the experts: log of sum_e w_e f_e, with weights fixed before the round."""
    # Mean under H0: sum_e w_e E f_e <= sum_e w_e <= 1, for any weights computed from the past.
    _check_weights(log_weights, log_factors.shape[-1])
    terms = np.maximum(log_weights + log_factors, -HUGE)  # a weight of 0 is log 0 = -inf
    top = terms.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(terms - top).sum(axis=-1)))


def fixed_share(log_wealth: Array, share: float) -> Array:  # (..., E) -> (..., E)
    """Log weights for the next round: (1 - s) W_e / sum_e W_e + s / E, even if all experts have lost everything.

    With the whole wealths and s = 0 the product of the mixed factors is the plain average of the wealths; s > 0 costs
    at most log 1/(1 - s) per round. With the last weights times the last factors instead of the whole wealths, the past
    fades: the weights follow the expert that is good now.
    """
    if not 0 <= share <= 1:
        raise SettingsError(f"share must lie in [0, 1], got {share!r}; 0.01 deals out a hundredth of the weight evenly")
    log_wealth = np.maximum(log_wealth, -HUGE)
    behind = log_wealth - log_wealth.max(axis=-1, keepdims=True)
    posterior = behind - np.log(np.exp(behind).sum(axis=-1, keepdims=True))
    with np.errstate(divide="ignore"):  # s = 0 or 1: one of the two parts has weight 0, log 0 = -inf
        return np.asarray(np.logaddexp(np.log1p(-share) + posterior, np.log(share / log_wealth.shape[-1])))


# ---------------------------------------------------------------- decision


def log_threshold(n_arms: int, delta: float) -> float:
    """The probability that log evidence of any of N(N-1)/2 equal pairs ever reaches this value is at most delta."""
    return math.log(n_arms * (n_arms - 1) / (2 * delta))  # Ville at a = delta / (N(N-1)/2), union over pairs


def told_apart(running_maximum: Array, n_arms: int, delta: float) -> NDArray[np.bool_]:  # (...,) -> (...,)
    """Which pairs are different: E_ij >= N(N-1)/(2 delta) at some time so far."""
    return np.asarray(running_maximum >= log_threshold(n_arms, delta))


# ---------------------------------------------------------------- guards


def _scores(values: Array) -> Array:
    """Finite scores. A change depends only on the value of a score, not on its arm, so the result is still a score."""
    values = np.asarray(values, dtype=np.float64)
    if np.vdot(values, values) <= HUGE:
        return values  # none of them is NaN or large: one quick look at many
    values = np.minimum(np.maximum(values, -HUGE), HUGE)  # NaN stay
    return np.where(np.isnan(values), 0.0, values)


def _check_weights(log_weights: Array, n_experts: int) -> None:
    # A single weight for many experts would be broadcast. It would count once in the sum but many times in the bet.
    if log_weights.shape[-1:] != (n_experts,):
        raise SettingsError(
            f"{n_experts} experts need {n_experts} weights on the last axis, got weights of shape {log_weights.shape}"
        )
    with np.errstate(over="ignore"):
        total = float(np.exp(log_weights).sum(axis=-1).max(initial=0.0))
    if not total <= 1 + ROUNDING:  # also refuses NaN
        raise SettingsError(f"weights of experts must sum to at most 1, got {total!r}; divide them by their sum")
