"""One paper, one file, one interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kabc.core.errors import SettingsError
from kabc.core.kernels import Kernel
from kabc.strategies.anytime.strategy import AnytimeKABC
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster
from kabc.strategies.kabc import KABC
from kabc.strategies.peers.acb import ACB, ACBDagger, ACBStar
from kabc.strategies.peers.bandit_clustering import BanditClustering
from kabc.strategies.peers.batch import BATCH
from kabc.strategies.peers.boc import BOC
from kabc.strategies.peers.pair_tests.bernstein import BernsteinKABC
from kabc.strategies.peers.pair_tests.manole_ramdas import ManoleRamdasKABC
from kabc.strategies.peers.pair_tests.permutation import PermutationKABC
from kabc.strategies.peers.pair_tests.witness import WitnessKABC
from kabc.strategies.peers.single_linkage import ATBOC, LUCBBOC, BOCElim
from kabc.strategies.peers.tas_fw import TaSFW

__all__ = ["BOC", "KABC", "STRATEGIES", "AnytimeKABC", "Cluster", "Strategy", "make_strategy", "needs_kernel"]

# name -> maker (n_arms, n_clusters, delta, **options); those in _BY_KERNEL take a kernel as well
_BY_KERNEL: dict[str, Callable[..., Strategy]] = {
    "kabc": KABC,
    "kabc-tight": KABC.tight,
    "kabc-witness": WitnessKABC,
    "kabc-manole-ramdas": ManoleRamdasKABC,
    "kabc-bernstein": BernsteinKABC,
    "kabc-permutation": PermutationKABC,
    **BATCH,
}
STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "anytime": AnytimeKABC,
    **_BY_KERNEL,
    "boc": BOC,
    "boc-heuristic": partial(BOC, threshold="heuristic"),
    "boc-uniform": partial(BOC, sampling="uniform"),
    "boc-linear": partial(BOC, exploration="linear"),
    "acb": ACB,
    "acb-dagger": ACBDagger,
    "acb-star": ACBStar,
    "atboc": ATBOC,
    "ebc": partial(ATBOC, proportions="gradient"),
    "lucbboc": LUCBBOC,
    "boc-elim": BOCElim,
    "tas-fw": TaSFW,
    "bandit-clustering": BanditClustering,
}


def needs_kernel(name: str) -> bool:
    """Whether the strategy of that name tests with a kernel; an unknown name is refused."""
    if name not in STRATEGIES:
        raise SettingsError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {name!r}")
    return name in _BY_KERNEL


def make_strategy(
    name: str,
    n_arms: int | None,
    n_clusters: int | None,
    delta: float,
    kernel: Kernel | None,
    options: Mapping[str, Any] | None = None,
) -> Strategy:
    """The strategy of that name; its own checks refuse bad values."""
    settings = dict(options or {}) | ({"kernel": kernel} if needs_kernel(name) else {})
    try:
        return STRATEGIES[name](n_arms, n_clusters, delta, **settings)
    except TypeError as error:
        raise SettingsError(f"strategy_options do not fit {name!r}: {error}") from error
