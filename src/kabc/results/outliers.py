"""What `kabc.outliers` finds: the odd arms, how surely, and how far they are from the rest."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Mask
from kabc.core.tolerances import Equivalents
from kabc.results.effects.compute import against_rest
from kabc.results.effects.values import ColumnEffect
from kabc.results.values import Assumption

OutliersStatus = Literal["odd", "none", "open", "doubtful"]

MOST_DESCRIBED = 10  # odd arms whose effects are computed and printed


@dataclass(frozen=True, eq=False)
class OutliersResult:
    """Which arms differ from the rest. Print it.

    Among the arms that are listed as odd, the expected share of false ones is at most `fdr`. The same holds for the
    statements "at least so far from the rest". The rest of an arm is the average of the others, without arms that stood
    out in the pilot or have few samples. Odd arms that were not seen in the pilot are a part of it.

    Attributes
    ----------
    names : tuple
        All arms.
    status : {"odd", "none", "open", "doubtful"}
        "odd": some arms are odd. "none": none is shown to be odd, and an arm twice as far away as the tolerance would
        most likely have been found. "open": none is shown to be odd, and there were too few samples for that.
        "doubtful": the samples speak against an assumption, so nothing is promised.
    odd : array of bool, (N,)
        The arms that are listed as odd.
    rest : array of bool, (N,)
        The arms whose average is the rest; an arm itself is no part of its own rest.
    log_e_values : array, (N,)
        Log evidence that an arm is farther from the rest than the tolerance; NaN for arms that were not measured.
    at_least : array, (N,)
        How far each odd arm is from the rest at least, as a kernel distance; 0 for all others.
    fdr : float
        The bound of the expected share of false ones among the odd arms.
    tolerance : str or None
        The tolerance in words. None: any difference counts.
    not_measured : mapping
        Arms with too few samples, and why they were left out.
    assumptions : tuple of Assumption
        What the samples speak against.

    Examples
    --------
    >>> import kabc, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> hosts = {f"h{i}": rng.normal(13.0 if i == 7 else 10.0, 1.0, 150) for i in range(20)}
    >>> result = kabc.outliers(hosts, tolerance="10%", seed=0)
    >>> result.status, [result.names[arm] for arm in result.ranking[:1]]
    ('odd', ['h7'])
    """

    names: tuple[Hashable, ...] = field(repr=False)
    status: OutliersStatus
    odd: Mask = field(repr=False)  # (N,)
    rest: Mask = field(repr=False)  # (N,)
    log_e_values: Array = field(repr=False)  # (N,)
    at_least: Array = field(repr=False)  # (N,)
    fdr: float
    tolerance: str | None
    units: Equivalents | None = field(repr=False)
    samples_per_arm: Mapping[Hashable, int] = field(repr=False)
    n_enough: int | None  # samples of each arm that would most likely find one that is twice as far as the tolerance
    seed: int
    block: int = 1
    not_measured: Mapping[Hashable, str] = field(default_factory=dict, repr=False)
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    columns: tuple[str, ...] = ()
    levels: Mapping[str, Mapping[float, str]] = field(default_factory=dict, repr=False)
    samples: Mapping[Hashable, NDArray[Any]] = field(default_factory=dict, repr=False)

    @property
    def n_samples(self) -> int:
        """All samples drawn."""
        return sum(self.samples_per_arm.values())

    @property
    def n_tested(self) -> int:
        """Arms that were measured."""
        return int(np.count_nonzero(np.isfinite(self.log_e_values)))

    @property
    def labels(self) -> tuple[int, ...]:
        """1 for odd arms, 0 for others, -1 for those that were not measured."""
        odd, known = self.odd.tolist(), np.isfinite(self.log_e_values).tolist()
        return tuple(int(one) if measured else -1 for one, measured in zip(odd, known, strict=True))

    @property
    def e_values(self) -> Array:  # (N,)
        """Evidence as a betting ratio: 400 means 400 : 1. Infinite where it is larger than a number can be."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_e_values))

    @property
    def ranking(self) -> tuple[int, ...]:
        """The numbers of the measured arms, the strongest evidence first: odd ones come before all others."""
        order = np.argsort(-self.log_e_values, kind="stable").tolist()
        return tuple(arm for arm in order if math.isfinite(self.log_e_values[arm]))

    @property
    def odd_names(self) -> tuple[Hashable, ...]:
        """The names of the odd arms, the strongest evidence first."""
        return tuple(self.names[arm] for arm in self.ranking if self.odd[arm])

    def effects(self, most: int = MOST_DESCRIBED) -> dict[Hashable, tuple[ColumnEffect, ...]]:
        """The first odd arms against all others together, in the units of the data: estimates, not part of the promise.

        Intervals do not know that these arms were chosen because they stand out.
        """
        arms = [arm for arm in self.ranking if self.odd[arm]][:most]
        return {self.names[arm]: found for arm, found in against_rest(self, arms).items()}

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """For JSON: all arms, odd ones first; `full` with all that `load` needs."""
        from kabc.results.outliers_files import document_of

        return document_of(self, full=full)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the answer to one JSON file, whole or not at all. `kabc show` prints it, `load` reads it."""
        from kabc.results.outliers_files import save_outliers

        save_outliers(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> OutliersResult:
        """Read an answer that `save` wrote.

        Examples
        --------
        >>> import kabc, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> result = kabc.outliers([rng.normal(3.0 * (arm == 7), 1.0, 90) for arm in range(9)], seed=0)
        >>> result.save("odd.json")
        >>> kabc.OutliersResult.load("odd.json").odd_names == result.odd_names
        True
        """
        from kabc.results.outliers_files import load_outliers

        return load_outliers(path)

    def __str__(self) -> str:
        from kabc.results.outliers_words import text

        return text(self)
