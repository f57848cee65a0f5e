"""When a run without K has nothing more to learn.

| symbol | here         | meaning                                                                             |
|--------|--------------|-------------------------------------------------------------------------------------|
| n      | `n_samples`  | all samples so far                                                                  |
| n_0    | `_last`      | n when a pair was last told apart, at least `FEWEST` samples of each arm            |
| p      | `patience`   | how much n must grow without a new pair                                             |
| c      | `_checked`   | n at the check before                                                               |
| E_ij   | `wealth.log` | log evidence against a pair                                                         |

Each time that n has grown by half there is a check. The run stalls there if both hold:

- no pair was told apart while n grew from n_0 to p n_0;
- no open pair is on its way: none reaches its limit before the samples have tripled if its log evidence goes on growing
  as it did since the check before.

Stopping is free: pairs told apart are certified at every time (docs/theory.md, Theorem 11.3).
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array
from kabc.strategies.anytime.wealth import Wealth

PATIENCE = 2.5
FEWEST = 40  # samples of each arm, below which n_0 does not count: learning takes a while
CHECK = 1.5  # n at a check over n at the check before
AHEAD = 2.0  # how far to look ahead, in units of n


class Stalling:
    """Watches the evidence of a run without K."""

    def __init__(self, n_arms: int, patience: float) -> None:
        self._patience = patience
        self._last = FEWEST * n_arms
        self._n_told = 0
        self._checked = 0
        self._log: Array | None = None  # (N, C), log evidence at the check before

    def stalled(self, n_samples: int, wealth: Wealth) -> bool:
        """Whether nothing new is being learned. Call it once after each round."""
        n_told = int(np.count_nonzero(wealth.told))
        if n_told > self._n_told:
            self._n_told, self._last = n_told, max(self._last, n_samples)
        if n_samples < CHECK * self._checked:
            return False
        hopeful = self._log is None or self._hopeful(self._log, n_samples, wealth)
        self._checked, self._log = n_samples, wealth.log.copy()
        return not hopeful and n_samples >= self._patience * self._last

    def _hopeful(self, before: Array, n_samples: int, wealth: Wealth) -> bool:  # (N, C)
        """Whether an open pair is on its way."""
        growth = (wealth.log - before) / (n_samples - self._checked)  # of each sample
        ahead = wealth.log + growth * AHEAD * n_samples
        own = wealth.compared[None, :] == np.arange(len(ahead))[:, None]  # an arm with itself
        return bool(((ahead >= wealth.limits) & (wealth.told == 0) & ~own).any())
