"""One paper, one file, one interface; one list of all of them."""

from __future__ import annotations

from kabc.strategies.anytime.strategy import AnytimeKABC
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster
from kabc.strategies.entry import BenchSetup, StrategyEntry, UnfitError
from kabc.strategies.kabc import KABC
from kabc.strategies.peers.boc import BOC
from kabc.strategies.peers.entries import PEERS, RENAMED
from kabc.strategies.registry import (
    REGISTRY,
    entry_of,
    make_strategy,
    needs_kernel,
    register,
    register_strategy,
    strategies,
)

__all__ = [
    "BOC",
    "KABC",
    "AnytimeKABC",
    "BenchSetup",
    "Cluster",
    "Strategy",
    "StrategyEntry",
    "UnfitError",
    "entry_of",
    "make_strategy",
    "needs_kernel",
    "register",
    "register_strategy",
    "strategies",
]

REGISTRY.include(PEERS, RENAMED)
