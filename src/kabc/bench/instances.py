"""An instance: N arms with K laws, what makes it hard, and the truth by construction; people's own ones from a file."""

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
    """Arms by group size; laws are made on first use, as real data must be loaded."""

    name: str
    hard: str  # what makes it hard
    sizes: tuple[int, ...]  # arms of each group
    make: Callable[[], Sequence[Law]]
    cap: int = 50_000  # samples in all after which a run is given up

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
        """Truth: the group of each arm, in a fixed random order."""
        groups = np.repeat(np.arange(self.n_groups), self.sizes)
        return tuple(np.random.default_rng(self.n_arms).permutation(groups).tolist())

    @cached_property
    def laws(self) -> list[Law]:
        """The law of each group."""
        laws = list(self.make())
        if len(laws) != self.n_groups:
            raise SettingsError(f"instance {self.name!r} has {self.n_groups} sizes but {len(laws)} laws; give as many")
        return laws

    @property
    def arms(self) -> list[Draw]:
        """How to draw from each arm."""
        return [self.laws[group].draw for group in self.labels]

    def with_sizes(self, *sizes: int) -> Instance:
        """The same laws with other group sizes."""
        return replace(self, sizes=sizes)

    def standardised(self) -> Instance:
        """The same in units of the largest standard deviation that any group has in each column; 1 for a constant."""
        spreads = [law.spreads for law in self.laws if law.spreads is not None]
        if len(spreads) < self.n_groups:
            raise SettingsError(f"instance {self.name!r} has no standard deviation")
        widest = np.max(spreads, axis=0)
        units = np.where(widest > 0, widest, 1.0)
        return replace(self, make=lambda: [law.divided(units) for law in self.laws])

    # ------------------------------------------------------------ what strategies assume, or have to be told

    @property
    def sigma(self) -> float | None:
        """The largest standard deviation of any group along any direction, if there is one."""
        spreads = [law.sd for law in self.laws]
        return None if None in spreads else max(sd for sd in spreads if sd is not None)

    @property
    def gaps(self) -> Array | None:  # (K (K - 1) / 2,)
        """Distances of the means of groups, if there are means; 0 where they agree but for rounding."""
        means = [law.mean for law in self.laws if law.mean is not None]
        if len(means) < self.n_groups or self.n_groups < 2:
            return None
        points = np.stack(means)
        first, second = np.triu_indices(self.n_groups, 1)
        gaps = np.linalg.norm(points[first] - points[second], axis=1)
        return np.where(gaps > 1e-9 * np.abs(points).max(), gaps, 0.0)

    @property
    def min_share(self) -> float:
        """The smallest share of the arms that a group has."""
        return min(self.sizes) / self.n_arms

    @property
    def symbols(self) -> int | None:
        """The size of the alphabet, where all samples are of one."""
        sizes = [law.symbols for law in self.laws]
        return None if None in sizes else max(size for size in sizes if size is not None)

    @cached_property
    def facts(self) -> frozenset[str]:
        """What is true of the instance that some strategies assume."""
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
    """The instances of a Python file, which has them in a list INSTANCES."""
    module = load_module(path, "a list INSTANCES of kabc.bench.Instance")
    found = getattr(module, "INSTANCES", None)
    if not isinstance(found, list) or not found or not all(isinstance(one, Instance) for one in found):
        raise SettingsError(f"{path} must have a list INSTANCES of kabc.bench.Instance, got {found!r}")
    return {one.name: one for one in found}
