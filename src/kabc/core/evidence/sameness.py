"""Bets on how far apart two mean embeddings are, for many statements side by side. Theory: docs/theory.md, section 23.

| symbol     | here               | meaning                                                                          |
|------------|--------------------|----------------------------------------------------------------------------------|
| z          | `z`                | phi(x) - phi(y), or phi(x) - the average phi(y_l) of a pool: one fresh difference |
| theta      |                    | |E z|, the distance of arm and pool: what a statement is about                   |
| s          | `sup`              | |z| <= s for every outcome                                                       |
| m          | `_centre`          | guess of E z from the past; c = s + |m|                                          |
| lambda     | `_lambda`          | how much is bet, fixed by the past, 0 < lambda <= CAP < 1                        |
| eta        | `eta`              | lambda / c                                                                       |
| v          | `weights`          | psi(eta |z - m|) / |z - m|^2, psi(x) = -log(1 - x) - x                           |
| A          | `_total`           | sum of eta                                                                       |
| b          | `_b`               | sum of eta z                                                                     |
| C          | `_C`               | sum of v (z - m)(z - m)'                                                         |
| r_k, p_k   | `RATIOS`, `SHARES` | shares of the wealth that bet r_k lambda; the p_k sum to 1                        |
| L          | `log_inverse_alpha`| log(1 / alpha): the level of a statement                                         |

If theta >= eps, there is a unit vector w with <w, E z> >= eps. For each w, exp(A eps - <w, b> - w'Cw) is then a
supermartingale. To refute "at least eps" it is enough to win against every w, each at the full level: no union over w.

The caller makes sure that the differences of one statement are made of different samples, that given the past they have
the same mean E z, and that phi was fixed before they were drawn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array, Counts, Index
from kabc.core.errors import SampleError, SettingsError
from kabc.core.evidence.sameness_tuning import CAP, likely_length, samples_needed, steepness, tuned
from kabc.core.evidence.trust_region import largest_of, spectrum
from kabc.core.settings import whole_number

Ints = NDArray[np.integer[Any]]

__all__ = ["CAP", "ApartBets", "SameBets", "samples_needed"]

RATIOS = np.array([1.0, 0.5, 0.25])  # at most 1: then psi(r x) <= r^2 psi(x), and C serves for all of them
SHARES = np.array([0.9, 0.05, 0.05])
# For all distances and numbers of samples, with equal shares.
APART_LAMBDAS: Array = np.array([CAP, *2.0 ** -np.arange(1, 9)])

_ROUNDING = 1e-6  # |z| may exceed its bound by this part: features in single precision
_STEPS = 4  # of iterations that come closer with each
_AT_ONCE = 64  # matrices in one eigendecomposition
_PRIOR = 32  # differences that the covariance known beforehand counts for, when lambda is tuned
_PRIOR_TOP = 0.3  # part of the largest eigenvalue in the trace, when nothing is known beforehand


class _Bets:
    """The past of each statement: what its next bets may depend on."""

    def __init__(self, n_statements: int, n_features: int, sup: ArrayLike) -> None:
        self.n_statements = whole_number("n_statements", n_statements, 1)
        self.n_features = whole_number("n_features", n_features, 1)
        self.sup = _each("sup", sup, self.n_statements)  # (S,)
        self._counts = np.zeros(self.n_statements, dtype=np.int64)
        self._sum = np.zeros((self.n_statements, self.n_features))
        self._squares = np.zeros(self.n_statements)

    @property
    def counts(self) -> Counts:  # (S,)
        """How many differences each statement has bet on."""
        return self._counts.copy()

    def _checked(self, statements: Ints, differences: Array) -> tuple[Index, Array]:  # (A,), (A, b, D)
        which = np.asarray(statements, dtype=np.intp)
        z = np.asarray(differences, dtype=np.float64)
        if z.ndim != 3 or which.shape != z.shape[:1] or z.shape[2] != self.n_features:
            raise SampleError(
                f"differences must have shape (A, b, {self.n_features}) for A statements, got {z.shape} "
                f"for statements of shape {which.shape}"
            )
        if len(np.unique(which)) != len(which):
            raise SampleError(f"each statement may bet once in a call, got {which.tolist()}")
        longest = np.sqrt(np.einsum("abd,abd->ab", z, z).max(axis=1, initial=0.0))
        if not (longest <= self.sup[which] * (1 + _ROUNDING)).all():
            worst = int(np.argmax(longest / self.sup[which]))
            raise SampleError(
                f"a difference of statement {which[worst]} has length {longest[worst]:.6g}, above its bound "
                f"{self.sup[which[worst]]:.6g}; give the bound that the features keep for every sample"
            )
        return which, z

    def _centre(self, which: Index) -> tuple[Array, Array]:  # (A,) -> (A, D), (A,)
        """m and c = sup + |m|: the past mean, drawn towards 0 unless it is clearly not 0 (James and Stein)."""
        n = np.maximum(self._counts[which], 1)[:, None]
        mean = self._sum[which] / n
        length = np.square(mean).sum(axis=1)
        noise = np.maximum(self._squares[which] / n[:, 0] - length, 0.0) / n[:, 0]
        centre = mean * np.maximum(1 - 2 * noise / np.maximum(length, 1e-300), 0.0)[:, None]
        return centre, self.sup[which] * (1 + _ROUNDING) + np.sqrt(np.square(centre).sum(axis=1))

    def _remember(self, which: Index, z: Array) -> None:
        self._counts[which] += z.shape[1]
        self._sum[which] += z.sum(axis=1)
        self._squares[which] += np.einsum("abd,abd->a", z, z)


class SameBets(_Bets):
    """Evidence for "the distance is smaller than eps", for S statements.

    Parameters
    ----------
    n_statements, n_features : S and D. Memory is 8 S D^2 bytes.
    sup : bound of |z|, one number or one for each statement (`kabc.core.embeddings.farthest` of the features).
    eps, alpha : the margin and the error probability that the bets are tuned for, one number or one for each statement.
        They only tune. `margins` is valid for every margin and every alpha.
    covariance : covariance of z in a pilot, (D, D), to tune the first bets.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.evidence.sameness import SameBets
    >>> bets = SameBets(n_statements=1, n_features=2, sup=2.0, eps=0.4, alpha=0.05)
    >>> x, y = np.random.default_rng(0).choice([-0.7, 0.7], (2, 1, 500, 2))
    >>> bets.bet(np.array([0]), x - y)
    >>> bool(bets.margins(np.log(20))[0] < 0.4)
    True
    """

    def __init__(
        self,
        n_statements: int,
        n_features: int,
        sup: ArrayLike,
        eps: ArrayLike,
        alpha: ArrayLike,
        covariance: Array | None = None,
    ) -> None:
        super().__init__(n_statements, n_features, sup)
        self.eps = _each("eps", eps, self.n_statements)
        self.alpha = _each("alpha", alpha, self.n_statements)
        self._total = np.zeros(self.n_statements)
        self._b = np.zeros((self.n_statements, self.n_features))
        self._C = np.zeros((self.n_statements, self.n_features, self.n_features))
        self._fourth = np.zeros(self.n_statements)  # sum of |z - m|^4
        self._prior = self._first_spectrum(covariance)
        self._lambda = self._tune(np.arange(self.n_statements))
        self._tune_at = np.full(self.n_statements, _PRIOR)
        self._best: dict[float, tuple[Array, Counts]] = {}  # at each level: smallest margins, and when they were made

    def bet(self, which: Ints, z: Array) -> None:  # (A,), (A, b, D)
        """Bet on b new differences for each of these statements, with lambda and centre as the past left them."""
        which, z = self._checked(which, z)
        centre, c = self._centre(which)
        eta = self._lambda[which] / c
        self._total[which] += eta * z.shape[1]
        self._b[which] += eta[:, None] * z.sum(axis=1)
        around = z - centre[:, None]
        squares = np.einsum("abd,abd->ab", around, around)
        weights = np.square(eta)[:, None] * steepness(eta[:, None] * np.sqrt(squares))  # (A, b)
        around *= np.sqrt(weights)[:, :, None]
        for s, rows in zip(which, around, strict=True):  # in place: five times faster than all statements at once
            self._C[s] += rows.T @ rows
        self._fourth[which] += np.square(squares).sum(axis=1)
        self._remember(which, z)
        due = which[self._counts[which] >= self._tune_at[which]]
        if len(due):  # each time the number of differences has doubled
            self._lambda[due] = self._tune(due)
            self._tune_at[due] = 2 * self._counts[due]

    def margins(self, log_inverse_alpha: float, below: float = math.inf) -> Array:  # -> (S,)
        """The smallest margin certified now, for each statement: inf before the first bet.

        With `below`, a margin that is certainly not below it is given as inf, without an eigendecomposition.
        """
        return self._margins_of(np.arange(self.n_statements), log_inverse_alpha, below)

    def best(self, log_inverse_alpha: float, below: float = math.inf) -> Array:  # -> (S,)
        """The smallest margin at this level so far: over this look and all earlier ones."""
        never = np.full(self.n_statements, np.inf), np.zeros(self.n_statements, dtype=np.int64)
        found, counts = self._best.setdefault(log_inverse_alpha, never)
        new = np.flatnonzero(self._counts > counts)  # the margins of all others are as they were
        now = self._margins_of(new, log_inverse_alpha, below)
        found[new] = np.minimum(found[new], now)
        made = new[np.isfinite(now)]  # and not put off, as they were not below
        counts[made] = self._counts[made]
        return found.copy()

    def _margins_of(self, which: Index, log_inverse_alpha: float, below: float) -> Array:  # (A,) -> (A,)
        margins = np.full(len(which), np.inf)
        asked = np.flatnonzero(self._counts[which] > 0)
        if below < math.inf:
            asked = asked[self._hopes(which[asked], log_inverse_alpha) < below]
        for start in range(0, len(asked), _AT_ONCE):
            part = asked[start : start + _AT_ONCE]
            beta, eigenvalues = spectrum(self._b[which[part]], self._C[which[part]])
            heights = largest_of(beta[:, None], RATIOS[:, None] * eigenvalues[:, None])  # (A, R)
            margins[part] = self._smallest(log_inverse_alpha, heights, which[part])
        return margins

    def _hopes(self, which: Index, log_inverse_alpha: float) -> Array:  # (A,) -> (A,)
        """No margin can be smaller than this: from one direction w instead of all."""
        b, C = self._b[which], self._C[which]
        w = _unit(b)
        for _ in range(_STEPS):  # each makes <w, b> + w'Cw larger, as C has no negative eigenvalue
            w = _unit(b + 2 * _times(C, w))
        linear, quadratic = np.einsum("ai,ai->a", w, b), np.einsum("ai,ai->a", w, _times(C, w))
        return self._smallest(log_inverse_alpha, linear[:, None] + RATIOS * quadratic[:, None], which)

    def _smallest(self, log_inverse_alpha: float, heights: Array, which: Index) -> Array:  # (A, R), (A,) -> (A,)
        """The smallest margin over the ratios, with heights = max over w of <w, b> + r w'Cw."""
        levels = (log_inverse_alpha - np.log(SHARES)) / RATIOS
        return np.asarray((levels + heights).min(axis=1) / self._total[which])

    def _first_spectrum(self, covariance: Array | None) -> Array:  # -> (S, D)
        if covariance is not None:
            return np.broadcast_to(np.linalg.eigvalsh(covariance).astype(np.float64), self._b.shape)
        shape = np.full(self.n_features, (1 - _PRIOR_TOP) / max(1, self.n_features - 1))
        shape[-1] = _PRIOR_TOP
        return np.asarray(np.square(self.sup)[:, None] / 4 * shape)

    def _tune(self, which: Index) -> Array:  # (A,) -> (A,)
        """The lambda that needs the fewest samples for the wanted eps, by what is known of the covariance."""
        prior, n = self._prior[which], self._counts[which]
        squares = self._squares[which] / np.maximum(n, 1)  # the mean of |z|^2
        shape = np.zeros(prior.shape)  # C has the covariance's shape, but not its size
        shape[n > 0] = np.linalg.eigvalsh(self._C[which[n > 0]])
        found = shape * (squares / np.maximum(shape.sum(axis=1), 1e-300))[:, None]
        known = (_PRIOR * prior + n[:, None] * found) / (_PRIOR + n)[:, None]
        # In C long differences count more: their mean square, weighted with the square.
        second = _PRIOR * prior.sum(axis=1)
        fourth = second * np.square(likely_length(prior, self.sup[which])) + self._fourth[which]
        lengths = np.sqrt(fourth / np.maximum(second + self._squares[which], 1e-300))
        _, lam = tuned(known, self.eps[which], -np.log(self.alpha[which]), self.sup[which], lengths)
        return lam


class ApartBets(_Bets):
    """Evidence for "the distance is at least so much", for S statements. Memory is 8 S D bytes.

    The direction w of a bet is the past mean of z. If the distance is at most tau, then <w, E z> <= tau, and
    (1 + eta <w, z - m>) exp(-eta (tau - <w, m>)) has mean at most 1: one direction needs no quadratic form.
    """

    def __init__(self, n_statements: int, n_features: int, sup: ArrayLike) -> None:
        super().__init__(n_statements, n_features, sup)
        self._total = np.zeros((self.n_statements, len(APART_LAMBDAS)))  # sum of eta
        self._gain = np.zeros((self.n_statements, len(APART_LAMBDAS)))
        self._best: dict[float, Array] = {}

    def bet(self, which: Ints, z: Array) -> None:  # (A,), (A, b, D)
        """Bet on b new differences for each of these statements, along the past mean. The first ones are not bet on."""
        which, z = self._checked(which, z)
        length = np.sqrt(np.square(self._sum[which]).sum(axis=1))
        going = length > 0
        self._bet_along(which[going], z[going], self._sum[which[going]] / length[going, None])
        self._remember(which, z)

    def _bet_along(self, which: Index, z: Array, w: Array) -> None:  # (A,), (A, b, D), (A, D)
        centre, c = self._centre(which)
        along, middle = np.einsum("abd,ad->ab", z, w), np.einsum("ad,ad->a", centre, w)
        eta = APART_LAMBDAS / c[:, None]  # (A, Q)
        around = along - middle[:, None]
        self._total[which] += eta * z.shape[1]
        self._gain[which] += (
            np.log1p(eta[:, :, None] * around[:, None]).sum(axis=2) + eta * middle[:, None] * z.shape[1]
        )

    def log_wealth(self, margin: float) -> Array:  # -> (S,)
        """Log of the wealth now, of bets against "the distance is at most the margin": an e-value, no maximum."""
        logs = self._gain - margin * self._total
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).mean(axis=1)))

    def margins(self, log_inverse_alpha: float) -> Array:  # -> (S,)
        """The largest distance certified now ("at least so far apart"), for each statement: 0 if none is."""
        level = log_inverse_alpha + math.log(len(APART_LAMBDAS))
        total = np.maximum(self._total, 1e-300)  # before the first bet: a margin far below 0
        margins = ((self._gain - level) / total).max(axis=1)  # where the best lambda alone has reached the level
        for _ in range(_STEPS):
            # The log of the average wealth is convex and decreasing in the margin: Newton stays below the root.
            logs = self._gain - margins[:, None] * total
            top = logs.max(axis=1, keepdims=True)
            wealth = np.exp(logs - top)
            excess = top[:, 0] + np.log(wealth.sum(axis=1)) - level
            margins += np.maximum(excess, 0.0) / ((wealth * total).sum(axis=1) / wealth.sum(axis=1))
        return np.asarray(np.maximum(margins, 0.0))

    def best(self, log_inverse_alpha: float) -> Array:  # -> (S,)
        """The largest distance certified at this level so far: over this look and all earlier ones."""
        now = self.margins(log_inverse_alpha)
        self._best[log_inverse_alpha] = np.maximum(self._best.get(log_inverse_alpha, now), now)
        return self._best[log_inverse_alpha].copy()


def _each(name: str, value: ArrayLike, n_statements: int) -> Array:
    """One positive finite number for each statement."""
    values = np.asarray(value, dtype=np.float64)
    if values.shape not in ((), (n_statements,)) or not ((values > 0) & (values < np.inf)).all():
        raise SettingsError(
            f"{name} must be a positive finite number, or one for each of {n_statements} statements, got {value!r}"
        )
    return np.broadcast_to(values, (n_statements,)).copy()


def _unit(vectors: Array) -> Array:  # (A, D) -> (A, D)
    return np.asarray(vectors / np.maximum(np.sqrt(np.square(vectors).sum(axis=1)), 1e-300)[:, None])


def _times(matrices: Array, vectors: Array) -> Array:  # (A, D, D), (A, D) -> (A, D)
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])
