"""BOC, Bandit Online Clustering (Yang, Zhong and Tan 2024). Its main file is strategy.py."""

from kabc.strategies.peers.boc.allocation import hardness, optimal_shares
from kabc.strategies.peers.boc.strategy import BOC, ThresholdName
from kabc.strategies.peers.boc.thresholds import heuristic_threshold, proven_threshold

__all__ = ["BOC", "ThresholdName", "hardness", "heuristic_threshold", "optimal_shares", "proven_threshold"]
