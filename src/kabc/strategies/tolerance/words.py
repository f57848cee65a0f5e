"""The guarantee of Tolerance KABC in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kabc.strategies.answers import Guarantee

if TYPE_CHECKING:
    from kabc.strategies.tolerance.strategy import ToleranceKABC


def guarantee(strategy: ToleranceKABC) -> Guarantee:
    """Claim, assumptions and rule."""
    return Guarantee("Tolerance KABC", "", (), ())
