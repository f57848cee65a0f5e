"""Classes of partitions. A task chooses one partition of its class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.partitions import Partition

Task = Literal["clustering", "odd-arm", "matching-pairs"]
_COUNTLESS = 10**12


def checked_task(task: Task, n_arms: int, n_groups: int) -> Task:
    """The task, checked: it must be possible with these numbers of arms and groups."""
    if task not in get_args(Task):
        raise SettingsError(f"task must be one of {', '.join(map(repr, get_args(Task)))}, got {task!r}")
    if task == "odd-arm" and (n_groups != 2 or n_arms < 3):
        raise SettingsError(
            f"task 'odd-arm' is one arm against at least two others, got {n_arms} arms and n_clusters={n_groups}; "
            "pass n_clusters=2 and three arms or more"
        )
    if task == "matching-pairs" and 2 * (n_arms - n_groups) > n_arms:
        raise SettingsError(
            f"task 'matching-pairs' with {n_arms} arms in {n_groups} groups is {n_arms - n_groups} pairs, too many for "
            f"{n_arms} arms; pass n_clusters from {(n_arms + 1) // 2} to {n_arms}, the arms less the pairs"
        )
    return task


def class_size(task: Task, n_arms: int, n_groups: int) -> int:
    """The number of partitions in the class of the task."""
    if task == "odd-arm":
        return n_arms
    if task == "clustering":
        return _stirling(n_arms, n_groups)
    pairs = n_arms - n_groups
    return math.comb(n_arms, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))


def _stirling(n: int, k: int) -> int:
    """The number of partitions of n arms into k groups. Counting stops at _COUNTLESS."""
    row = [1] + [0] * k
    for _ in range(n):
        row = [0] + [min(j * row[j] + row[j - 1], _COUNTLESS) for j in range(1, k + 1)]
    return row[k]


def first_of(task: Task, n_arms: int, n_groups: int) -> Index:  # -> (N,)
    """An arbitrary partition of the class."""
    if task != "matching-pairs":
        return np.minimum(np.arange(n_arms), n_groups - 1)
    pairs = n_arms - n_groups
    return np.concatenate([np.arange(2 * pairs) // 2, np.arange(pairs, n_groups)])


def partitions_of(task: Task, n_arms: int, n_groups: int) -> Index:  # -> (P, N)
    """All partitions of the class, as labels numbered by first appearance."""
    if task == "odd-arm":
        return np.array([Partition.of(row).labels for row in np.eye(n_arms, dtype=np.intp).tolist()], dtype=np.intp)
    if class_size(task, n_arms, n_groups) == 1:
        return first_of(task, n_arms, n_groups)[None]
    largest = n_arms if task == "clustering" else 2
    return np.array(list(_growing([], [], n_arms, n_groups, largest)), dtype=np.intp)


def _growing(labels: list[int], sizes: list[int], n_arms: int, n_groups: int, largest: int) -> Iterator[list[int]]:
    """Continue these labels in every way that ends with n_groups groups. No group exceeds the largest size."""
    left = n_arms - len(labels)
    room = sum(largest - size for size in sizes) + largest * (n_groups - len(sizes))
    if n_groups - len(sizes) > left or left > room:
        return
    if not left:
        yield labels
        return
    for group in range(min(len(sizes) + 1, n_groups)):
        grown = sizes + [0] * (group == len(sizes))
        if grown[group] < largest:
            grown[group] += 1
            yield from _growing([*labels, group], grown, n_arms, n_groups, largest)


def distinct_groups(partitions: Index, n_groups: int) -> tuple[Array, Index]:  # (P, N) -> (G, N), (P, K)
    """All sets of arms that are a group of at least one partition, and the numbers of the sets of each partition."""
    members = partitions[:, None, :] == np.arange(n_groups)[None, :, None]  # (P, K, N)
    sets, which = _distinct(members.reshape(-1, members.shape[2]))
    return sets, which.reshape(len(partitions), n_groups)


def rests_of(sets: Array) -> tuple[Array, Index, Index, Index]:  # (G, N) -> (R, N), (S,), (S,), (S,)
    """Remove one arm from each set of at least two: the distinct rests, then rest, arm and set of each case."""
    which, arms = np.nonzero((sets > 0) & (sets.sum(axis=1) > 1)[:, None])
    without = sets[which] > 0
    without[np.arange(len(arms)), arms] = False
    return *_distinct(without), arms, which


def _distinct(sets: NDArray[np.bool_]) -> tuple[Array, Index]:  # (S, N) -> (G, N), (S,)
    """The distinct sets, and the number of the distinct set for each given set."""
    _, first, inverse = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True, return_inverse=True)
    return sets[first].astype(np.float64), inverse.reshape(-1).astype(np.intp)
