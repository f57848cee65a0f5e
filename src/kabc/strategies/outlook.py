"""Forecasts of a strategy: shown only while they agree with each other.

A forecast says how many more samples of each arm a run takes. Early ones are often wrong by orders of magnitude, and
then they jump from round to round. So a forecast counts only if the one before agrees with it. benchmarks/forecast.py
measures how often the others are right.
"""

from __future__ import annotations

from kabc.core.arrays import Array

_AGREES = 1.5  # largest ratio of two forecasts of the total that agree


class Outlook:
    """The latest forecast, and whether it agrees with the one of the round before."""

    def __init__(self) -> None:
        self.latest: Array | None = None  # (N,), whether it agrees or not
        self._total: float | None = None  # samples at the end, by the latest forecast
        self._steady = False

    def note(self, n_samples: int, more: Array | None) -> None:  # (N,)
        """The forecast after a round; None if there is none."""
        before, total = self._total, None if more is None else n_samples + float(more.sum())
        self.latest, self._total = more, total
        self._steady = before is not None and total is not None and 1 / _AGREES <= total / before <= _AGREES

    @property
    def more(self) -> Array | None:  # (N,)
        """More samples of each arm; None: that cannot be told yet."""
        return self.latest if self._steady else None
