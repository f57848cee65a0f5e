"""Same within a tolerance: groups without K, each arm proven to be close to its group (docs/theory.md, 24.3 and 25)."""

from kabc.strategies.tolerance.quantiles import QuantileKABC
from kabc.strategies.tolerance.strategy import ToleranceKABC

__all__ = ["QuantileKABC", "ToleranceKABC"]
