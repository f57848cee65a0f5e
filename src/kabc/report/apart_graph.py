"""A graph of the pairs: arms are nodes, placed by group. Lines join arms that are not told apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kabc.report.group_evidence import group_evidence
from kabc.report.nodes import MOST_NODES, Nodes, nodes_of
from kabc.results.values import Result

Link = Literal["together", "open", "conflict"]
_GAP = 2.2  # room between two groups, in units of the room between two arms of a group


class Edge(NamedTuple):
    """Two nodes and what connects them.

    together: the arms are not told apart and are in one group.
    open: the arms are not told apart but are in different groups. If the nodes are groups, no pair across them is
    told apart.
    conflict: the arms are told apart but are in one group. That group is then only a guess.
    """

    first: int
    second: int
    link: Link


@dataclass(frozen=True)
class ApartGraph:
    """What the picture shows: nodes with their places in the plane, and edges. Pairs without an edge are told apart.

    `certified` says whether the groups are certified. If so, the other pairs prove that open pairs differ.
    """

    nodes: Nodes
    places: NDArray[np.float64]  # (n, 2)
    edges: tuple[Edge, ...]
    certified: bool

    def pairs(self, link: Link) -> int:
        """The number of edges of that kind."""
        return sum(edge.link == link for edge in self.edges)


def apart_graph(result: Result, most: int = MOST_NODES) -> ApartGraph:
    """The graph of a result. With more than `most` arms its nodes are groups."""
    nodes = nodes_of(result, most)
    return ApartGraph(nodes, _places(nodes.groups), _edges(result, nodes), result.certified)


def _edges(result: Result, nodes: Nodes) -> tuple[Edge, ...]:
    told_pairs = group_evidence(result.evidence, nodes.members).told
    edges = []
    for first, second in combinations(range(len(nodes.names)), 2):
        told = bool(told_pairs[first, second])
        same = nodes.groups[first] == nodes.groups[second]
        if same or not told:
            edges.append(Edge(first, second, "open" if not same else "conflict" if told else "together"))
    return tuple(edges)


def _places(groups: tuple[int, ...]) -> NDArray[np.float64]:  # (n, 2)
    """Place the arms of each group on a small circle, and the small circles on a large one."""
    sizes = [groups.count(group) for group in sorted(set(groups))]
    radii = [0.0 if size == 1 else 0.5 / math.sin(math.pi / size) for size in sizes]  # neighbours are 1 apart
    widths = [2 * radius + _GAP for radius in radii]
    large = 0.0 if len(sizes) == 1 else max(sum(widths) / (2 * math.pi), max(widths) / 2)
    places, passed = [], -widths[0] / 2  # the first group is on the left
    for size, radius, width in zip(sizes, radii, widths, strict=True):
        turn = 2 * math.pi * (passed + width / 2) / sum(widths) - math.pi
        passed += width
        angles = turn + 2 * math.pi * np.arange(size) / size
        centre = large * np.array([math.cos(turn), math.sin(turn)])
        places.append(centre + radius * np.column_stack([np.cos(angles), np.sin(angles)]))
    return np.concatenate(places)
