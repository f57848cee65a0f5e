"""Classes of partitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kabc import Partition
from kabc.strategies.peers.tas_fw import Task
from kabc.strategies.peers.tas_fw.classes import class_size, partitions_of
from tests.strategies.peers.tas_fw.examples import TRUTHS


@pytest.mark.parametrize("task", TRUTHS)
@pytest.mark.parametrize(("n_arms", "n_clusters"), [(4, 2), (6, 4), (6, 3), (5, 5)])
def test_a_class_is_all_partitions_of_its_kind_once(task: Task, n_arms: int, n_clusters: int) -> None:
    n_clusters = 2 if task == "odd-arm" else n_clusters
    found = list(map(tuple, partitions_of(task, n_arms, n_clusters).tolist()))

    def fits(sizes: list[int]) -> bool:
        return {"clustering": True, "odd-arm": min(sizes) == 1, "matching-pairs": max(sizes) <= 2}[task]

    every = {Partition.of(word).labels for word in itertools.product(range(n_clusters), repeat=n_arms)}
    wanted = {w for w in every if max(w) + 1 == n_clusters and fits(np.bincount(w).tolist())}
    assert set(found) == wanted
    assert len(found) == len(wanted) == class_size(task, n_arms, n_clusters)
