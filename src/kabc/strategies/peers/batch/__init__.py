"""Methods that draw once and group mean embeddings. The main file is strategy.py."""

from kabc.strategies.peers.batch.permutation import MMDPermutation
from kabc.strategies.peers.batch.strategy import BATCH, Batch

__all__ = ["BATCH", "Batch", "MMDPermutation"]
