"""Same within a tolerance: groups without K, each arm proven to be close to its group (docs/theory.md, section 25)."""

from kabc.strategies.tolerance.strategy import ToleranceKABC

__all__ = ["ToleranceKABC"]
