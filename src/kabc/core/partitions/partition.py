"""Partitions of the arms, and how well two partitions agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from math import comb
from numbers import Integral
from typing import Self

from kabc.core.errors import SettingsError

SET_ASIDE = -1  # the label of an arm that is in no group
_SHOWN_ARMS = 20
_SHOWN_GROUPS = 8


@dataclass(frozen=True, slots=True, repr=False)
class Partition:
    """Arms sorted into groups. Labels are numbered by first appearance in arm order, so equal groupings are equal.

    The label -1 says that an arm was set aside: it is in no group.

    Examples
    --------
    >>> import kabc
    >>> found = kabc.Partition.of(["x", "y", "x"])
    >>> found.labels, found.groups
    ((0, 1, 0), ((0, 2), (1,)))
    >>> found.adjusted_rand(kabc.Partition((0, 1, 1)))
    -0.5
    """

    labels: tuple[int, ...]
    certified: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _renumbered(self.labels))

    @classmethod
    def of(cls, labels: Iterable[Hashable], *, certified: bool = False) -> Self:
        """The partition in which arms with equal labels share a group. Labels are any hashable values; -1: no group."""
        return cls(_renumbered(labels), certified)

    @property
    def n_arms(self) -> int:
        """The number of arms, N."""
        return len(self.labels)

    @property
    def n_groups(self) -> int:
        """The number of groups, K; 0 if all arms were set aside."""
        return max(self.labels) + 1

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The arm numbers of each group, ordered by label."""
        groups: list[list[int]] = [[] for _ in range(self.n_groups)]
        for arm, label in enumerate(self.labels):
            if label != SET_ASIDE:
                groups[label].append(arm)
        return tuple(tuple(group) for group in groups)

    def __len__(self) -> int:
        return self.n_groups

    def matches(self, other: Partition) -> bool:
        """Whether both sort the same arms into the same groups, certified or not."""
        return self.labels == other.labels

    def refines(self, other: Partition) -> bool:
        """Whether every group of this partition lies inside one group of the other."""
        self._same_arms(other)
        pairs = set(zip(self.labels, other.labels, strict=True))
        return len({pair for pair in pairs if pair[0] != SET_ASIDE}) == self.n_groups

    def adjusted_rand(self, other: Partition) -> float:
        """Agreement corrected for chance (Hubert and Arabie 1985): 1 if equal, 0 on average for random partitions.

        Arms that one of the two has set aside do not count.
        """
        self._same_arms(other)
        placed = [pair for pair in zip(self.labels, other.labels, strict=True) if SET_ASIDE not in pair]
        both = _pairs_within(placed)
        mine, theirs = _pairs_within(a for a, _ in placed), _pairs_within(b for _, b in placed)
        pairs = comb(len(placed), 2)
        spread = pairs * (mine + theirs) - 2 * mine * theirs
        # 0 only if both are one group or both are singletons: mine and theirs are at most pairs.
        return 2 * (pairs * both - mine * theirs) / spread if spread else 1.0

    def _same_arms(self, other: Partition) -> None:
        if self.n_arms != other.n_arms:
            raise SettingsError(
                f"partitions of {self.n_arms} and {other.n_arms} arms cannot be compared; "
                "both must label the same arms in the same order"
            )

    def __repr__(self) -> str:
        aside = self.labels.count(SET_ASIDE)
        state = (f", {aside} set aside" if aside else "") + (", certified" if self.certified else "")
        return f"Partition({_shown(self.groups, self.n_arms)}{state})"


def _renumbered(labels: Iterable[Hashable]) -> tuple[int, ...]:
    seen: dict[Hashable, int] = {}
    try:
        numbered = tuple(
            SET_ASIDE if isinstance(label, Integral) and label == SET_ASIDE else seen.setdefault(label, len(seen))
            for label in labels
        )
    except TypeError as error:
        raise SettingsError(
            f"labels must be a sequence of hashable values, one per arm, got {type(labels).__name__}: {error}; "
            "pass a flat list such as [0, 0, 1]"
        ) from error
    if not numbered:
        raise SettingsError("a partition needs at least one arm, got no labels; pass one label per arm")
    return numbered


def _pairs_within(labels: Iterable[Hashable]) -> int:
    return sum(comb(size, 2) for size in Counter(labels).values())


def _shown(groups: tuple[tuple[int, ...], ...], n_arms: int) -> str:
    if n_arms <= _SHOWN_ARMS:
        return " | ".join(" ".join(map(str, group)) for group in groups)
    sizes = ", ".join(str(len(group)) for group in groups[:_SHOWN_GROUPS])
    more = ", ..." if len(groups) > _SHOWN_GROUPS else ""
    return f"{n_arms} arms in {len(groups)} groups of {sizes}{more}"
