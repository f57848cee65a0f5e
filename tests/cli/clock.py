from __future__ import annotations


class Clock:
    """Time that only goes on when told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now
