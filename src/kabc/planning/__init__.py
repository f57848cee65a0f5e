"""What a run will cost, before paying."""

from kabc.planning.rehearsal import SimulatedPlan
from kabc.planning.schedule import Plan, plan

__all__ = ["Plan", "SimulatedPlan", "plan"]
