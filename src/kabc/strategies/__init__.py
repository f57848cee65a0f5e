"""One paper, one file, one interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kabc.errors import SettingsError
from kabc.kernels import Kernel
from kabc.strategies.anytime import AnytimeKABC
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster
from kabc.strategies.kabc import KABC

__all__ = ["KABC", "STRATEGIES", "AnytimeKABC", "Cluster", "Strategy", "make_strategy", "needs_kernel"]

# name -> maker (n_arms, n_clusters, delta, **options); those in _WITH_KERNEL take a kernel as well
STRATEGIES: dict[str, Callable[..., Strategy]] = {"anytime": AnytimeKABC, "kabc": KABC, "kabc-tight": KABC.tight}
_WITH_KERNEL = {"kabc", "kabc-tight"}


def needs_kernel(name: str) -> bool:
    """Whether the strategy of that name tests with a kernel; an unknown name is refused."""
    if name not in STRATEGIES:
        raise SettingsError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {name!r}")
    return name in _WITH_KERNEL


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
