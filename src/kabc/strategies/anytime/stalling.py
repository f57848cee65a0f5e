"""When a run without K has nothing more to learn.

| symbol | here         | meaning                                                                             |
|--------|--------------|-------------------------------------------------------------------------------------|
| n      | `n_samples`  | all samples so far                                                                  |
| n_0    | `_last`      | n when a pair was last told apart                                                   |
| p      | `patience`   | how much n must grow without a new pair                                             |
| b      | `budget`     | how many samples the run may take, if it has a limit                                |
| c      | `_checked`   | n at the check before                                                               |
| E_ij   | `wealth.log` | log evidence against a pair                                                         |

The run stalls as soon as no pair was told apart while n grew from n_0 to p n_0, but not before there are `FEWEST`
samples of each arm, and not before a tenth of b.

It goes on while an open pair is on its way: it reaches its limit before the samples have tripled if its log evidence
goes on growing as it did between the last two checks. There is a check each time that n has grown by half, and before
it stalls. Once a pair was told apart this holds only without a limit b, and only up to `MOST` samples of each arm.

Stopping is free: pairs told apart are certified at every time (docs/theory.md, Theorem 11.3).
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array
from kabc.strategies.anytime.wealth import Wealth

PATIENCE = 2.0
FEWEST = 100  # samples of each arm: learning takes a while
MOST = 1000  # samples of each arm, up to which pairs on their way are waited for after others were told apart
OF_BUDGET = 0.1  # share of the budget that is drawn in any case
CHECK = 1.5  # n at a check over n at the check before
AHEAD = 2.0  # how far to look ahead, in units of n


class Stalling:
    """Watches the evidence of a run without K."""

    budget = 0  # how many samples the run may take; 0: no limit

    def __init__(self, n_arms: int, patience: float) -> None:
        self._n_arms, self._patience = n_arms, patience
        self._last = self._n_told = 0
        self._checked = 0
        self._log: Array | None = None  # (N, C), log evidence at the check before
        self._hopeful = True  # whether an open pair was on its way at the last check

    def stalled(self, n_samples: int, wealth: Wealth) -> bool:
        """Whether nothing new is being learned. Call it once after each round."""
        n_told = int(np.count_nonzero(wealth.told))
        if n_told > self._n_told:
            self._n_told, self._last = n_told, n_samples
        enough = n_samples >= max(FEWEST * self._n_arms, OF_BUDGET * self.budget, self._patience * self._last)
        if n_samples >= CHECK * self._checked or (enough and not self._hopeful):  # the last check may be long ago
            self._hopeful = self._log is None or self._on_their_way(self._log, n_samples, wealth)
            self._checked, self._log = n_samples, wealth.log.copy()
        waits = not self._last or (not self.budget and n_samples < MOST * self._n_arms)
        return enough and not (waits and self._hopeful)

    def _on_their_way(self, before: Array, n_samples: int, wealth: Wealth) -> bool:  # (N, C)
        """Whether an open pair is on its way."""
        growth = (wealth.log - before) / (n_samples - self._checked)  # of each sample
        ahead = wealth.log + growth * AHEAD * n_samples
        own = wealth.compared[None, :] == np.arange(len(ahead))[:, None]  # an arm with itself
        return bool(((ahead >= wealth.limits) & (wealth.told == 0) & ~own).any())
