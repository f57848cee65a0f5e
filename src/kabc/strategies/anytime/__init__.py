"""KABC's question answered by betting: the default strategy."""

from kabc.strategies.anytime.strategy import AnytimeKABC

__all__ = ["AnytimeKABC"]
