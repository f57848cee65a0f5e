"""Same within a tolerance: groups without K, each arm proven to be close to its group (docs/theory.md, 25 and 26)."""

from kabc.strategies.tolerance.quantiles import QuantileKABC
from kabc.strategies.tolerance.strategy import ToleranceKABC

__all__ = ["QuantileKABC", "ToleranceKABC"]
