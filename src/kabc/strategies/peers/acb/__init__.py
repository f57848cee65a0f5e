"""ACB, ACB-dagger and ACB* (Thuot, Carpentier, Giraud and Verzelen 2025). The main file is algorithm.py."""

from kabc.strategies.peers.acb.strategies import ACB, ACBDagger, ACBStar

__all__ = ["ACB", "ACBDagger", "ACBStar"]
