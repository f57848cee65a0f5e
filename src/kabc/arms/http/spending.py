"""What the calls of all arms cost together, and the limit on it."""

from __future__ import annotations

import math
import threading
from collections import Counter

from kabc.arms.checks import expect, is_positive
from kabc.arms.failures import SpendError
from kabc.core.errors import SettingsError


class Spending:
    """Counts the calls of all arms. A call is paid before it is made."""

    def __init__(self, price: float, most: float | None) -> None:
        expect(is_positive(price) or price == 0, "price", price, "a finite number, 0 or more")
        expect(most is None or is_positive(most), "max_spend", most, "a finite number above 0, or None")
        if most is not None and not price:
            raise SettingsError(f"max_spend={most!r} needs the price of one call; set price=")
        self.price, self._most = price, most
        self._calls: Counter[str] = Counter()
        # slightly more than the limit, so that 0.3 pays for three calls at 0.1
        self._most_calls = math.inf if most is None else math.floor(most / price * (1 + 1e-9))
        self._lock = threading.Lock()

    def pay(self, name: str) -> None:
        """Count one call of that arm, or refuse it."""
        with self._lock:
            if self._calls.total() >= self._most_calls:
                raise SpendError(f"the next call at {self.price:g} would go over max_spend={self._most:g}; raise it")
            self._calls[name] += 1

    def calls(self, name: str) -> int:
        """How many calls of that arm were paid so far."""
        return self._calls[name]

    def of(self, name: str) -> float:
        """What the calls of that arm cost so far."""
        return self.price * self._calls[name]
