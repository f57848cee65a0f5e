"""The nodes of a picture: single arms, or whole groups if there are too many arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kabc.core.words import counted, shown
from kabc.results.effects.values import ArmEffect
from kabc.results.values import Result

MOST_NODES = 40  # in a picture, more cannot be distinguished
MOST_ODD = 12  # arms that are shown one by one; arms of larger groups are not odd


@dataclass(frozen=True)
class Nodes:
    """Arms ordered by group, or whole groups.

    Attributes
    ----------
    names : one text for each node.
    groups : the group of each node, numbered from 0.
    members : the numbers of the arms behind each node.
    are_groups : whether each node is a whole group.
    left_out : number of groups that are not among the nodes.
    """

    names: tuple[str, ...]
    groups: tuple[int, ...]
    members: tuple[NDArray[np.intp], ...]
    are_groups: bool = False
    left_out: int = 0

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Group after group: where each begins, and where the last one ends."""
        changes = [row for row in range(1, len(self.groups)) if self.groups[row] != self.groups[row - 1]]
        return (0, *changes, len(self.groups))


def arms_of_groups(result: Result) -> list[NDArray[np.intp]]:
    """Numbers of the arms of each group."""
    order = by_group(result)
    labels = np.asarray(result.labels)[order]
    return np.split(order, np.cumsum(np.bincount(labels))[:-1]) if len(order) else []


def by_group(result: Result) -> NDArray[np.intp]:
    """Numbers of the arms that have a group, ordered by group. Arms that were set aside are in no picture."""
    labels = np.asarray(result.labels)
    order = np.argsort(labels, kind="stable")
    return order[labels[order] >= 0]


def nodes_of(result: Result, most: int = MOST_NODES) -> Nodes:
    """All arms, ordered by group. With more than `most` arms: the groups."""
    order = by_group(result).tolist()
    if len(order) > most:
        return group_nodes(result, most)
    texts = names_of(result)
    names = tuple(texts[arm] for arm in order)
    return Nodes(names, tuple(result.labels[arm] for arm in order), tuple(np.array([arm]) for arm in order))


def group_nodes(result: Result, most: int = MOST_NODES) -> Nodes:
    """The largest `most` groups, in the order of their numbers."""
    members = arms_of_groups(result)
    shown = sorted(sorted(range(len(members)), key=lambda group: -len(members[group]))[:most])
    return Nodes(
        tuple(f"group {group + 1} ({counted(len(members[group]), 'arm')})" for group in shown),
        tuple(shown),
        tuple(members[group] for group in shown),
        True,
        len(members) - len(shown),
    )


def odd_arms(result: Result) -> tuple[ArmEffect, ...]:
    """Arms of small groups, the smallest groups and the oddest arms first; of a single group, arms that stand out.

    Where the groups are a guess, only arms that stand out by themselves.
    """
    small, sizes = result.effects.in_small_groups, [len(group) for group in result.groups]
    if len(sizes) == 1:
        return tuple(arm for arm in small if arm.oddness > 0)
    few = [arm for arm in small if sizes[arm.group - 1] <= MOST_ODD and (arm.oddness > 0 or result.certified)]
    return tuple(sorted(few, key=lambda arm: sizes[arm.group - 1]))


def names_of(result: Result) -> tuple[str, ...]:
    """The names of the arms as they can be drawn and written."""
    return tuple(map(plain, result.text_names))


def plain(text: str) -> str:
    """The text on one line. Characters that cannot be seen, drawn or encoded are escaped."""
    return shown(text)


def shorten(names: Sequence[str], most: int) -> list[str]:
    """Names of at most `most` letters. If two beginnings are equal, the ends are kept as well."""
    short = [_cut(name, most, 0) for name in names]
    return short if len(set(short)) == len(set(names)) else [_cut(name, most, (most - 1) // 2) for name in names]


def _cut(name: str, most: int, end: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1 - end]}…{name[len(name) - end :]}"
