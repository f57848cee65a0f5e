"""Which of N statements to reject so that few rejections are false: e-BH (Wang and Ramdas 2022).

| symbol | here         | meaning                                                                                    |
|--------|--------------|--------------------------------------------------------------------------------------------|
| e_i    | `log_e`      | evidence against statement i: not negative, with mean at most 1 if the statement is true   |
| q      | `fdr`        | bound of the expected share of false ones among the rejected                               |
| k      |              | how many are rejected: the largest k such that k of the e_i are at least N / (q k)         |

The e_i may depend on each other in any way. They must be values at one look, at a time that does not depend on the
future; a running maximum has a mean above 1, and is not allowed. Proof: docs/theory.md, section 27.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Mask


def log_limit(n_statements: int, n_rejected: int, fdr: float) -> float:
    """The log evidence that each of k rejected statements has: log of N / (q k)."""
    return math.log(n_statements / (fdr * n_rejected))


def e_bh(log_e: Array, fdr: float) -> Mask:  # (N,) -> (N,)
    """The statements that are rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.evidence.ebh import e_bh
    >>> e_bh(np.log([50.0, 1.0, 45.0, 0.2]), fdr=0.05)  # two of 4 / (0.05 x 2) = 40
    array([ True, False,  True, False])
    """
    n = len(log_e)
    order = np.argsort(-log_e, kind="stable")
    limits = math.log(n / fdr) - np.log(np.arange(1, n + 1))
    enough = np.flatnonzero(log_e[order] >= limits)
    rejected = np.zeros(n, dtype=np.bool_)
    if len(enough):
        rejected[order[: enough[-1] + 1]] = True
    return rejected
