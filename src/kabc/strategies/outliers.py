"""Odd ones out: each arm against the average of the others. Proofs: docs/theory.md, section 27.

| symbol | here          | meaning                                                                               |
|--------|---------------|---------------------------------------------------------------------------------------|
| R_i    | `reference`   | the rest of arm i: arms with as many samples as most that do not stand out in the     |
|        |               | pilot, without arm i                                                                  |
| z      |               | features of a sample of arm i, minus the average over one new sample of each of R_i   |
| eps    | `eps`         | the tolerance as a kernel distance; 0: any difference counts                          |
| e_i    | `log_e`       | wealth of bets against "arm i is within eps of R_i", now: no running maximum          |
| q      | `fdr`         | bound of the expected share of false ones among the arms called odd                   |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence.ebh import e_bh, log_limit
from kabc.core.evidence.sameness import APART_LAMBDAS, ApartBets
from kabc.strategies.tolerance.ruler import Ruler

_MOST_NUMBERS = 4_000_000  # features at a time: 32 MB
_STANDS_OUT = 2.5  # times the median distance from the middle of the fleet
_LEARNING = 2.0  # samples that it takes to learn a direction, in units of trace / distance^2


def usual(ruler: Ruler, pilot: Sequence[Array]) -> Mask:  # A arrays (b_i, block x d) -> (A,)
    """The arms that do not stand out in the pilot, at least half of them.

    An arm that is far away would pull the average of the others along, and make ordinary arms look odd.
    """
    means = np.stack([ruler.of(rows).mean(axis=0) for rows in pilot])
    away = np.sqrt(np.square(means - np.median(means, axis=0)).sum(axis=1))
    return np.asarray(away <= _STANDS_OUT * np.median(away))


class OddOnes:
    """Bets on all arms at once. The first samples told are the pilot: directions begin with them, nothing is bet."""

    def __init__(self, reference: Mask, tested: Mask, ruler: Ruler, eps: float, fdr: float) -> None:  # (N,), (N,)
        self._reference, self._tested = reference, tested
        self._ruler, self.eps, self.fdr = ruler, eps, fdr
        self._bets = ApartBets(len(reference), ruler.n_features, ruler.sup)

    def tell(self, arms: Index, samples: Sequence[Array]) -> None:  # A arrays (b_i, block x d)
        """New samples. Arms of the reference have equally many, others at most as many."""
        most = max(map(len, samples))
        step = max(1, _MOST_NUMBERS // (len(arms) * self._ruler.n_features))
        for start in range(0, most, step):
            part = [(arm, rows[start : start + step]) for arm, rows in zip(arms, samples, strict=True)]
            self._tell_part([(arm, rows) for arm, rows in part if len(rows)])

    def _tell_part(self, given: list[tuple[int, Array]]) -> None:
        arms = np.array([arm for arm, _ in given], dtype=np.intp)
        counts = np.array([len(rows) for _, rows in given])
        features = self._ruler.of(np.concatenate([rows for _, rows in given]))  # (sum of counts, D)
        starts = np.cumsum(counts) - counts
        own = self._reference[arms]
        # one sample of each arm of the reference: the same ones serve for all arms, which e-BH allows
        first, b = starts[own], int(counts[own][0])
        total = features[first[:, None] + np.arange(b)].sum(axis=0)  # (b, D)
        for count in np.unique(counts).tolist():
            which = np.flatnonzero(counts == count)
            x = features[starts[which][:, None] + np.arange(count)]  # (A, count, D)
            mine = own[which][:, None, None]
            rest = (total[:count] - mine * x) / (len(first) - mine)
            self._bets.bet(arms[which], x - rest)

    @property
    def farthest(self) -> float:
        """No arm can be farther from the rest."""
        return self._ruler.sup

    @property
    def log_e(self) -> Array:  # (N,)
        """Log evidence that each arm is farther than eps from its rest."""
        return self._bets.log_wealth(self.eps)

    def odd(self) -> Mask:  # (N,)
        """The arms that are called odd."""
        found = np.zeros(len(self._tested), dtype=np.bool_)
        found[self._tested] = e_bh(self.log_e[self._tested], self.fdr)
        return found

    def margins(self, odd: Mask) -> Array:  # (N,) -> (N,)
        """The distance that each odd arm is said to have at least; 0 for others. It is never below eps."""
        n_odd = int(np.count_nonzero(odd))
        if not n_odd:
            return np.zeros(len(odd))
        margins = self._bets.margins(log_limit(int(self._tested.sum()), n_odd, self.fdr))
        return np.where(odd, np.maximum(margins, self.eps), 0.0)

    def needed(self, distance: float) -> float:
        """About how many samples of each arm find a single arm that is so far from the rest; infinite: never."""
        spectrum = np.maximum(np.linalg.eigvalsh(self._ruler.covariance), 0.0)
        c = self._ruler.sup + distance
        rates = APART_LAMBDAS / c * (distance - self.eps) - np.square(APART_LAMBDAS / c) * spectrum[-1] / 2
        if rates.max() <= 0:
            return math.inf
        level = log_limit(int(self._tested.sum()), 1, self.fdr) + math.log(len(APART_LAMBDAS))
        return float(level / rates.max() + _LEARNING * spectrum.sum() / distance**2)
