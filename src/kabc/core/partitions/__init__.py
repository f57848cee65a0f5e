"""Partitions of the arms, and how they follow from pairs told apart or from distances."""

from kabc.core.partitions.graphs import components, connected, single_linkage
from kabc.core.partitions.partition import Partition

__all__ = ["Partition", "components", "connected", "single_linkage"]
