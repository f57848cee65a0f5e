"""What a run will cost, before it is paid for."""

from kabc.planning.rehearsal import SimulatedPlan
from kabc.planning.schedule import Plan
from kabc.planning.tolerances import TolerancePlan

__all__ = ["Plan", "SimulatedPlan", "TolerancePlan"]
