"""What an effect is: frozen values with numbers in the units of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

_ODD_SHARE = 0.1  # of the arms, in the group of an arm that is called odd

What = Literal["ratio", "difference", "spread", "above", "below", "share"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One way in which a group differs from the reference group, in one column.

    Attributes
    ----------
    what : {"ratio", "difference", "spread", "above", "below", "share"}
        "ratio" and "difference" are of medians. "spread" is a ratio of the distances from the 5 % to the 95 % quantile.
        "above" and "below" are differences of the shares of values beyond `at`. "share" is the difference of the shares
        of the category `at`.
    value : float
        The ratio or difference.
    low, high : float
        Bootstrap interval of 95 %; NaN for "spread".
    size : float
        The standardised effect, to rank by. Medians: their difference in robust standard deviations. Spread: the
        logarithm of the ratio. Shares: Cohen's h.
    at : float, str or None
        The limit of a tail, or the category.
    shares : pair of float or None
        Shares in this group and in the reference group.
    """

    what: What
    value: float
    low: float
    high: float
    size: float
    at: float | str | None = None
    shares: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ColumnEffect:
    """One column of a group or arm: where its values lie, and how they differ from the reference group.

    `low` and `high` are the 5 % and the 95 % quantile. For categories the numbers are NaN, and there are `shares`, the
    largest first. `contrasts` come with the largest standardised effect first. The reference group and single arms have
    none.
    """

    column: str
    n: int
    median: float
    low: float
    high: float
    mean: float
    sd: float
    shares: tuple[tuple[str, float], ...] = ()
    contrasts: tuple[Contrast, ...] = ()

    @property
    def size(self) -> float:
        """The largest standardised effect."""
        return max((contrast.size for contrast in self.contrasts), default=0.0)


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """A group, numbered from 1 as in texts, with all its columns."""

    number: int
    n: int
    columns: tuple[ColumnEffect, ...]

    @property
    def distinguishes(self) -> tuple[str, Contrast] | None:
        """The column and the contrast with the largest standardised effect; None in the reference group."""
        found = max(self.columns, key=lambda column: column.size, default=None)
        return None if found is None or not found.contrasts else (found.column, found.contrasts[0])


@dataclass(frozen=True, slots=True)
class ArmEffect:
    """An arm against all other arms together, descriptive only.

    `distance` is the largest Kolmogorov-Smirnov distance of its columns (for categories: the largest difference of a
    share), and `column` is where. `oddness` is the part of it that chance does not explain, at a level of 5 % for all
    arms and columns together; at most 0: the arm does not stand out.
    """

    arm: Hashable
    group: int
    n: int
    oddness: float
    distance: float
    column: str
    columns: tuple[ColumnEffect, ...]


@dataclass(frozen=True)
class Effects:
    """How the groups differ, in the units of the data, from the samples kept. Print it.

    These are estimates. They are no part of the guarantee, because the samples were drawn adaptively. Arms that were
    set aside are left out. Without samples, all is empty.

    Attributes
    ----------
    reference : int or None
        The number of the group that the others are compared with: the largest one.
    groups : tuple of GroupEffect
        In the order of their numbers, which start at 1.
    arms : tuple of ArmEffect
        Each arm against all others together, the odd ones first.
    dependent : bool
        Whether samples may depend on each other: they came in blocks, or refute that they come in no particular order.
        Intervals take them as independent, so they are too narrow then.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}
    >>> effects = kabc.cluster(arms, n_clusters=2, seed=0).effects
    >>> effects.reference
    1
    >>> column, contrast = effects.groups[1].distinguishes
    >>> column, contrast.what, round(contrast.value, 2)
    ('value', 'ratio', 9.0)
    """

    reference: int | None = None
    groups: tuple[GroupEffect, ...] = ()
    arms: tuple[ArmEffect, ...] = field(default=(), repr=False)
    dependent: bool = False

    @property
    def in_small_groups(self) -> tuple[ArmEffect, ...]:
        """Arms of groups with one arm or at most a tenth of all arms, the oddest first; all, if there is one group.

        Arms of large groups only differ from the other groups.
        """
        sizes = Counter(arm.group for arm in self.arms)
        few, most = max(_ODD_SHARE * len(self.arms), 1), max(sizes.values(), default=0)
        return tuple(arm for arm in self.arms if len(sizes) < 2 or sizes[arm.group] <= few < most)

    @property
    def ranked_columns(self) -> tuple[str, ...]:
        """Names of the columns, those that distinguish the groups most first."""
        sizes: dict[str, float] = {}
        for group in self.groups:
            for column in group.columns:
                sizes[column.column] = max(sizes.get(column.column, 0.0), column.size)
        return tuple(sorted(sizes, key=lambda name: -sizes[name]))

    def __str__(self) -> str:
        from kabc.results.effects.words import text

        return text(self)
