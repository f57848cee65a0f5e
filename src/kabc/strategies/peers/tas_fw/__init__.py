"""TaS-FW (Yavas, Huang, Tan and Scarlett 2025), reconstructed. The main file is strategy.py."""

from kabc.strategies.peers.tas_fw.classes import Task
from kabc.strategies.peers.tas_fw.strategy import TaSFW

__all__ = ["TaSFW", "Task"]
