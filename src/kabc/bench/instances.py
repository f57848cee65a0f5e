"""Instances: N arms with K laws, where the truth is known by construction. Users can load their own from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from kabc.bench.laws import Draw, Law
from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.strategies.plugins import load_module


@dataclass(frozen=True)
class Instance:
    """Arms by group size. Laws are made on first use, because real data must be loaded."""

    name: str
    hard: str  # what makes it hard
    sizes: tuple[int, ...]  # arms of each group
    make: Callable[[], Sequence[Law]]
    cap: int = 50_000  # a run is stopped after this many samples in total

    @property
    def n_arms(self) -> int:
        """N."""
        return sum(self.sizes)

    @property
    def n_groups(self) -> int:
        """K."""
        return len(self.sizes)

    @property
    def labels(self) -> tuple[int, ...]:
        """The truth: the group of each arm, in a fixed random order."""
        groups = np.repeat(np.arange(self.n_groups), self.sizes)
        return tuple(np.random.default_rng(self.n_arms).permutation(groups).tolist())

    @cached_property
    def laws(self) -> list[Law]:
        """The law of each group."""
        laws = list(self.make())
        if len(laws) != self.n_groups:
            raise SettingsError(
                f"instance {self.name!r} has {self.n_groups} sizes but {len(laws)} laws; give one law for each size"
            )
        return laws

    @property
    def arms(self) -> list[Draw]:
        """How to draw from each arm."""
        return [self.laws[group].draw for group in self.labels]

    def with_sizes(self, *sizes: int) -> Instance:
        """The same laws with other group sizes."""
        return replace(self, sizes=sizes)

    def standardised(self) -> Instance:
        """The same instance, each column divided by its largest standard deviation in any group (1 if constant)."""
        spreads = [law.spreads for law in self.laws if law.spreads is not None]
        if len(spreads) < self.n_groups:
            raise SettingsError(f"instance {self.name!r} has no standard deviation")
        widest = np.max(spreads, axis=0)
        units = np.where(widest > 0, widest, 1.0)
        return replace(self, make=lambda: [law.divided(units) for law in self.laws])

    # ------------------------------------------------------------ what strategies assume, or need to know

    @property
    def sigma(self) -> float | None:
        """The largest standard deviation of any group along any direction, if there is one."""
        spreads = [law.sd for law in self.laws]
        return None if None in spreads else max(sd for sd in spreads if sd is not None)

    @property
    def gaps(self) -> Array | None:  # (K (K - 1) / 2,)
        """Distances of the group means, if means exist. Distances that are only rounding errors are set to 0."""
        means = [law.mean for law in self.laws if law.mean is not None]
        if len(means) < self.n_groups or self.n_groups < 2:
            return None
        points = np.stack(means)
        first, second = np.triu_indices(self.n_groups, 1)
        gaps = np.linalg.norm(points[first] - points[second], axis=1)
        return np.where(gaps > 1e-9 * np.abs(points).max(), gaps, 0.0)

    @property
    def min_share(self) -> float:
        """The share of the arms in the smallest group."""
        return min(self.sizes) / self.n_arms

    @property
    def symbols(self) -> int | None:
        """The size of the alphabet, if all samples come from one."""
        sizes = [law.symbols for law in self.laws]
        return None if None in sizes else max(size for size in sizes if size is not None)

    @cached_property
    def facts(self) -> frozenset[str]:
        """Facts about the instance that some strategies assume."""
        spreads = {law.sd for law in self.laws if law.normal}
        held = {
            "normal": all(law.normal for law in self.laws) and len(spreads) == 1,
            "means differ": self.gaps is not None and bool(self.gaps.min() > 0),
            "one column": self.laws[0].draw(1, np.random.default_rng(0)).shape[1] == 1,
            "finite alphabet": self.symbols is not None,
            "two groups": self.n_groups == 2,
        }
        return frozenset(fact for fact, holds in held.items() if holds)


def load_instances(path: str | Path) -> dict[str, Instance]:
    """The instances of a Python file. The file must define a list INSTANCES."""
    module = load_module(path, "a list INSTANCES of kabc.bench.Instance")
    found = getattr(module, "INSTANCES", None)
    if not isinstance(found, list) or not found or not all(isinstance(one, Instance) for one in found):
        raise SettingsError(f"{path} must have a list INSTANCES of kabc.bench.Instance, got {found!r}")
    return {one.name: one for one in found}
