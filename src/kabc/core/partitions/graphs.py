"""From pairs to partitions: connected components, and the best guess at K groups by single linkage."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.partitions.partition import Partition


def components(adjacency: NDArray[np.bool_]) -> Partition:  # (N, N)
    """The connected components of an undirected graph. One of the two entries of an edge is enough."""
    _square(np.shape(adjacency), "adjacency")
    rows, cols = np.nonzero(adjacency)
    return Partition.of(connected(rows, cols, len(adjacency)).tolist())


def connected(rows: Index, cols: Index, n_nodes: int) -> Index:  # (E,), (E,) -> (n_nodes,)
    """Component number of each node of the graph with these edges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(rows.size, dtype=np.int8), (rows, cols)), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=False)[1].astype(np.intp)


def single_linkage(dissimilarity: ArrayLike, n_groups: int) -> Partition:  # (N, N)
    """A best guess at n_groups groups: the minimum spanning tree without its longest edges.

    Dissimilarities must be symmetric; the diagonal is not read. Among equally long edges, those that joined the tree
    last are cut. It takes O(N^2) time, and O(N) memory in addition to the matrix.
    """
    weights = np.asarray(dissimilarity, dtype=np.float64)
    n_arms = _square(weights.shape, "dissimilarity")
    if not 1 <= n_groups <= n_arms:
        raise SettingsError(f"n_groups must lie between 1 and the number of arms, {n_arms}, got {n_groups}")
    if np.isnan(weights).any():
        raise SettingsError("dissimilarity holds NaN; use inf for pairs that must not be joined")
    tree = _spanning_tree(weights)
    order = np.argsort([length for _, _, length in tree], kind="stable")
    cut = set(order[n_arms - n_groups :].tolist())
    labels = list(range(n_arms))
    for k, (arm, parent, _) in enumerate(tree):
        labels[arm] = arm if k in cut else labels[parent]
    return Partition.of(labels)


def _spanning_tree(weights: Array) -> list[tuple[int, int, float]]:  # (N, N)
    """Prim's tree from arm 0: (arm, the arm that it hangs from, length), in order of joining."""
    outside = np.arange(1, len(weights))  # numbers, not a mask: the nearest arm may be at distance inf
    nearest = np.zeros(len(weights), dtype=np.intp)
    lengths = weights[0].copy()
    tree = []
    while outside.size:
        best = int(lengths[outside].argmin())
        arm = int(outside[best])
        tree.append((arm, int(nearest[arm]), float(lengths[arm])))
        outside = np.delete(outside, best)
        closer = weights[arm] < lengths
        nearest[closer] = arm
        lengths[closer] = weights[arm, closer]
    return tree


def _square(shape: tuple[int, ...], name: str) -> int:
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise SettingsError(f"{name} must have shape (N, N) with N >= 1, got {shape}; pass one row and column per arm")
    return shape[0]
