"""The rule for every answer that is not certified: it agrees with what is certified."""

from __future__ import annotations

import numpy as np

from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.partitions.guesses import agreeing_partition, agrees


def agreeing(guess: Partition, evidence: Evidence, at_least: int, n_groups: int | None = None) -> Partition:
    """The guess, if it agrees with what is certified; else one from the evidence that does.

    Parameters
    ----------
    guess : what the strategy would say.
    evidence : no group may have two arms that were told apart.
    at_least : certified lower bound on the number of groups.
    n_groups : K, if it is known. A guess from the evidence has no fewer groups.
    """
    apart = evidence.told > 0
    if guess.n_groups >= at_least and agrees(np.asarray(guess.labels), apart, evidence.compared):
        return guess
    # A limit of infinity: the pair is not compared, and its value says nothing.
    strength = np.where(np.isinf(evidence.limits), np.nan, evidence.block_strength)
    return agreeing_partition(strength, apart, evidence.compared, max(at_least, n_groups or 1))
