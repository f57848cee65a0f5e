"""Rounds whose samples are summed where they are: on the machines of a cluster that have the rows of a table.

What a run keeps of each arm for its report comes here as rows. All later samples stay where they are, and only their
sums come. The samples are the same, whichever way they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.embeddings import FeatureSums
from kabc.core.kernels import FiniteKernel
from kabc.running.intake import Intake
from kabc.running.sources import Sources, Table
from kabc.strategies.base import Request, Strategy, TakesSums
from kabc.study.ledger import Ledger


class Summing:
    """Sums of a strategy's samples."""

    def __init__(self, kernel: FiniteKernel, table: Table, intake: Intake) -> None:
        self._kernel, self._table, self._intake = kernel, table, intake

    def rows_of(self, request: Request) -> Request:
        """What is drawn as rows of a request: samples that are kept."""
        intake = self._intake
        kept = {arm: min(count, intake.kept.room(arm, len(intake.columns))) for arm, count in request.items()}
        rows = {arm: count for arm, count in kept.items() if count}
        self._table.expect(max((intake.drawn[arm] + count for arm, count in rows.items()), default=0))
        return rows

    def rest(self, request: Request, samples: Mapping[int, ArrayLike]) -> Request:
        """What is left of a request beside these samples."""
        rest = {arm: count - len(np.asarray(samples.get(arm, ()))) for arm, count in request.items()}
        return {arm: count for arm, count in rest.items() if count}

    def sums(self, samples: Mapping[int, ArrayLike], rest: Request) -> FeatureSums:
        """The sums of a round: of samples that came here, and of the rest."""
        wanted = np.zeros(len(self._intake), dtype=np.int64)
        wanted[list(rest)] = list(rest.values())
        found = self._table.sums(self._kernel, wanted)
        self._intake.count(rest)
        if not samples:
            return found
        none: NDArray[Any] = np.zeros((0, len(self._intake.columns)))
        rows = [self._kernel.coerce(samples[arm]) if arm in samples else none for arm in range(len(wanted))]
        return FeatureSums(self._kernel, len(wanted)).extended(rows) + found


def summing_of(strategy: Strategy, sources: Sources | None, intake: Intake, ledger: Ledger) -> Summing | None:
    """How the samples of a strategy are summed where they are; None: they are drawn.

    A study keeps all samples, so it draws them. A strategy of your own that changes `tell` alone has to see samples.
    """
    if not isinstance(strategy, TakesSums) or _made_in(strategy, "tell") is not _made_in(strategy, "tell_sums"):
        return None
    kernel, table = strategy.sums_of, None if sources is None else sources.table
    if kernel is None or table is None or not (table.can_sum and ledger.private):
        return None
    return Summing(kernel, table, intake)


def _made_in(strategy: Strategy, method: str) -> type | None:
    """The class that a method of a strategy comes from."""
    return next((one for one in type(strategy).__mro__ if method in vars(one)), None)
