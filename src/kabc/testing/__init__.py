"""Ready-made tests for your own arms, strategies and stores. Subclass one in a test file, and pytest runs it."""

from __future__ import annotations

from kabc.testing.arms import ArmConformance
from kabc.testing.stores import StorageConformance
from kabc.testing.strategies import StrategyConformance

__all__ = ["ArmConformance", "StorageConformance", "StrategyConformance"]
