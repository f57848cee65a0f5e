"""ATBOC, EBC, LUCBBOC and BOC-Elim (Chandran, Reddy and Bhashyam 2025), reconstructed. The main file is strategy.py."""

from kabc.strategies.peers.single_linkage.atboc import ATBOC
from kabc.strategies.peers.single_linkage.elimination import BOCElim
from kabc.strategies.peers.single_linkage.lucbboc import LUCBBOC

__all__ = ["ATBOC", "LUCBBOC", "BOCElim"]
