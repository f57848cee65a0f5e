"""Tolerances: the smallest difference that matters, said so that people understand it, and made into numbers."""

from kabc.core.tolerances.parsing import of_dict, parse
from kabc.core.tolerances.quantiles import QuantileTolerance
from kabc.core.tolerances.tolerance import KernelDistance, Tolerance
from kabc.core.tolerances.translating import Equivalents, equivalents

__all__ = ["Equivalents", "KernelDistance", "QuantileTolerance", "Tolerance", "equivalents", "of_dict", "parse"]
