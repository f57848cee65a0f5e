"""Arms that are finite pools of samples, used up in random order without replacement."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.errors import ArmError


class PoolArm:
    """Rows of an array, in the random order that `rng` gives them; each row is drawn at most once.

    The order does not depend on how the rows are cut into rounds.
    """

    def __init__(self, name: object, rows: ArrayLike, rng: np.random.Generator) -> None:
        try:
            self._rows: NDArray[Any] = np.asarray(rows)
        except ValueError as error:
            raise ArmError("its rows have different lengths; a pool is an array (n,) or (n, d)").of_arm(name) from error
        if self._rows.ndim not in (1, 2) or not self._rows.size:
            raise ArmError(
                f"a pool is a non-empty array (n,) or (n, d), one row a sample, got shape {self._rows.shape}"
            ).of_arm(name)
        self._order = rng.permutation(len(self._rows))
        self._used = 0

    @property
    def remaining(self) -> int:
        return len(self._rows) - self._used

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if n > self.remaining:
            raise ArmError(f"it has {self.remaining} sample(s) left, {n} were asked for; give it more rows")
        chosen = self._order[self._used : self._used + n]
        self._used += n
        return self._rows[chosen]
