"""How many samples each arm took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kabc.report.nodes import MOST_NODES, Nodes, nodes_of
from kabc.results.values import Result


@dataclass(frozen=True)
class SampleCounts:
    """What the picture shows: for each node the smallest, median and largest number of samples of its arms."""

    nodes: Nodes
    least: NDArray[np.int64]  # (n,)
    median: NDArray[np.float64]  # (n,)
    most: NDArray[np.int64]  # (n,)


def sample_counts(result: Result, most: int = MOST_NODES) -> SampleCounts:
    """Samples of each arm, ordered by group. With more than `most` arms there is one node for each group."""
    nodes = nodes_of(result, most)
    drawn = np.array([result.samples_per_arm[name] for name in result.names])
    behind = [drawn[arms] for arms in nodes.members]
    return SampleCounts(
        nodes,
        np.array([counts.min() for counts in behind]),
        np.array([np.median(counts) for counts in behind]),
        np.array([counts.max() for counts in behind]),
    )
