"""One arm against a reference: the same within a tolerance, or not (docs/theory.md, section 26)."""

from kabc.strategies.gate.quantiles import QuantileGate
from kabc.strategies.gate.strategy import Gate

__all__ = ["Gate", "QuantileGate"]
