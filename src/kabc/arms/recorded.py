"""Arms that are a record: what was drawn of them before can be read again, and no more can be drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.errors import ArmError
from kabc.core.settings import whole_number


class RecordedArm:
    """An arm of an earlier study that cannot be drawn any more, such as last week's build. It has its record alone.

    How many samples there are was decided by looking at them, when the earlier study found its answer. So a run that
    reaches their end stops, and never goes on without the arm (docs/theory.md, section 29).

    Examples
    --------
    >>> from kabc.arms.recorded import RecordedArm
    >>> RecordedArm(250).remaining
    250
    """

    recorded = True

    def __init__(self, n_samples: int) -> None:
        self._n_samples = whole_number("n_samples", n_samples, 0)

    @property
    def remaining(self) -> int:
        return self._n_samples

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        raise ArmError(f"it has a record of {self._n_samples:,} samples, and cannot be drawn any more")

    def seek(self, start: int) -> None:
        """Nothing is drawn, so there is no place to go to."""
