"""One paper, one file, one interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kabc.errors import SettingsError
from kabc.kernels import Kernel
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster
from kabc.strategies.kabc import KABC

__all__ = ["KABC", "STRATEGIES", "Cluster", "Strategy", "make_strategy"]

# name -> maker (n_arms, n_clusters, delta, kernel, **options)
STRATEGIES: dict[str, Callable[..., Strategy]] = {"kabc": KABC, "kabc-tight": KABC.tight}


def make_strategy(
    name: str,
    n_arms: int | None,
    n_clusters: int | None,
    delta: float,
    kernel: Kernel,
    options: Mapping[str, Any] | None = None,
) -> Strategy:
    """The strategy of that name; its own checks refuse bad values."""
    if name not in STRATEGIES:
        raise SettingsError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {name!r}")
    try:
        return STRATEGIES[name](n_arms, n_clusters, delta, kernel, **(options or {}))
    except TypeError as error:
        raise SettingsError(f"strategy_options do not fit {name!r}: {error}") from error
