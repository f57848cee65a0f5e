"""Ready-made tests for your own arms and strategies. Subclass one in a test file, and pytest runs it."""

from __future__ import annotations

from kabc.testing.arms import ArmConformance
from kabc.testing.strategies import StrategyConformance

__all__ = ["ArmConformance", "StrategyConformance"]
