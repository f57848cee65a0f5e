"""How many more samples it takes to decide, if evidence goes on growing as it did. An estimate, no promise."""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence.pairs import Evidence


def more_samples(evidence: Evidence, labels: Index, *, discards: bool) -> Array:  # (N,) -> (N,)
    """Samples of each arm that are missing to tell it apart from the other groups; infinite if nothing has grown.

    Parameters
    ----------
    evidence : of all pairs, after the latest round.
    labels : the groups shown, -1 for arms that were set aside.
    discards : whether each round starts anew, without the samples of earlier rounds.
    """
    pairs = _missing(evidence, discards)
    more = np.zeros(len(labels))
    for group in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == group)
        others = np.flatnonzero((labels != group) & (labels >= 0))  # -1: set aside
        across = pairs[np.ix_(others, members)]
        # bets need one arm of a group to tell another arm apart from all of it; components need all of them
        chosen = across.argmin(axis=1) if evidence.by_bets else across.argmax(axis=1)
        missing = across[np.arange(len(others)), chosen]
        np.maximum.at(more, others, missing)
        np.maximum.at(more, members[chosen], np.where(np.isfinite(missing), missing, 0.0))  # a pair takes two
    return more


def _missing(evidence: Evidence, discards: bool) -> Array:  # (N, N)
    """Samples of both arms that each pair still needs; 0 once it is told apart."""
    held = np.minimum(evidence.counts[:, None], evidence.counts[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.clip(np.nan_to_num(evidence.strength, nan=0.0), 0.0, 1.0)
        # bets: log evidence grows with n; distances: thresholds shrink with 1/sqrt(n)
        total = held / strength if evidence.by_bets else held / strength**2
    kept = 0 if discards else held
    return np.where(evidence.told_apart, 0.0, np.where(strength > 0, np.maximum(total - kept, 1.0), np.inf))
