"""BanditClustering (Graf, Thuot and Verzelen 2025). The main file is strategy.py."""

from kabc.strategies.peers.bandit_clustering.search import Query, Search
from kabc.strategies.peers.bandit_clustering.strategy import BanditClustering

__all__ = ["BanditClustering", "Query", "Search"]
