"""How many more samples it takes to decide, where that can be told. An estimate, no promise.

Strategies that can tell have a property `forecast`: about how many more samples of each arm, an array (N,), or None for
"cannot tell yet". All that people see comes from here: snapshots, the live line, results, JSON and reports.
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Counts
from kabc.strategies.base import Strategy

_MOST = 20  # times what was drawn: further ahead nobody can see


def more_samples(strategy: Strategy) -> Counts | None:  # (N,)
    """More samples of each arm that it takes; None if that cannot be told, or nothing is left."""
    over = strategy.status not in (None, "exhausted")  # with more rows it would have gone on
    more = None if over else getattr(strategy, "forecast", None)  # strategies of others may have none
    if more is None:
        return None
    counts = np.ceil(np.asarray(more, dtype=np.float64))
    total = float(counts.sum())
    if not (counts >= 0).all() or not 0 < total <= _MOST * strategy.n_samples:
        return None
    return counts.astype(np.int64)
