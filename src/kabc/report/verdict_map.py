"""What is proven of each pair within the tolerance: different, same, or open; with margins, arms ordered by group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.words import counted
from kabc.report.nodes import MOST_NODES, Nodes, nodes_of
from kabc.results.values import Result
from kabc.results.within import rounded_down, rounded_up

KINDS = (DIFFERENT, SAME, OPEN)
SIGNS = {DIFFERENT: "≠", SAME: "=", OPEN: "?"}


@dataclass(frozen=True)
class VerdictMap:
    """What the picture shows. Rows and columns are arms, group after group; of many arms, they are groups.

    Attributes
    ----------
    nodes : the rows, which are also the columns.
    counts : how many pairs of a cell are different, same and open, in this order; none for an arm with itself.
    same_within : how far apart any two arms of a cell are at most, in `unit`; infinite where nothing is proven.
    apart_at_least : and at least; 0 where nothing is proven.
    close : whether all pairs of a cell are proven to be within the tolerance of each other. Arms of a certified group
        are proven to be within the tolerance of the rest of the group, which is not the same.
    tolerance, near, unit : the tolerance as it was said, what arms within it have, and the unit of the margins.
    between : rows of arms that are between groups; none if rows are groups.
    n_arms : number of arms, even if rows are groups.
    certified : whether the groups are certified, not a guess.
    void : whether an assumption does not hold, so that the verdicts are no proofs.
    """

    nodes: Nodes
    counts: NDArray[np.int64]  # (n, n, 3)
    same_within: Array  # (n, n)
    apart_at_least: Array  # (n, n)
    close: NDArray[np.bool_]  # (n, n)
    tolerance: str
    near: str
    unit: str
    between: tuple[int, ...]
    n_arms: int
    certified: bool
    void: bool

    @property
    def title(self) -> str:
        """All pairs in one line."""
        different, same, open_ = (int(np.triu(self.counts[:, :, kind]).sum()) for kind in range(len(KINDS)))
        pairs = f"{counted(same, 'pair')} same, {different:,} different, {open_:,} open"
        return f"{counted(self.n_arms, 'arm')}, tolerance {self.tolerance}: {pairs}"

    @property
    def same_pairs_are_close(self) -> bool:
        """Whether each pair that is the same is within the tolerance of each other."""
        return bool(self.close[self.counts[:, :, KINDS.index(SAME)] > 0].all())

    def verdict(self, row: int, column: int) -> str:
        """The verdict of all pairs of a cell; empty if they differ, and if there is none."""
        found = np.flatnonzero(self.counts[row, column])
        return KINDS[found[0]] if len(found) == 1 else ""

    @property
    def codes(self) -> Array:  # (n, n)
        """Places in `KINDS`; its length where the pairs of a cell have several verdicts, NaN where there is none."""
        mixed = np.where((self.counts > 0).sum(axis=2) > 1, float(len(KINDS)), self.counts.argmax(axis=2))
        return np.where(self.counts.any(axis=2), mixed, np.nan)

    def sign(self, row: int, column: int) -> str:
        """The verdict as a sign with its margin below; of several, the shares in per cent."""
        kind, counts = self.verdict(row, column), self.counts[row, column]
        if kind:
            return f"{SIGNS[kind]}\n{self.margin(row, column)}".strip()
        shares = zip(KINDS, counts.tolist(), strict=True)
        return "\n".join(f"{SIGNS[one]} {100 * count / counts.sum():.0f}%" for one, count in shares if count)

    def margin(self, row: int, column: int) -> str:
        """What is proven of the distance in short: "<2.1", ">0.9"; empty if nothing is."""
        above, below = float(self.same_within[row, column]), float(self.apart_at_least[row, column])
        if self.verdict(row, column) == DIFFERENT:
            return f">{rounded_down(below)}" if 0 < below < math.inf else ""
        return f"<{rounded_up(above)}" if math.isfinite(above) else ""

    def tip(self, row: int, column: int) -> str:
        """A cell in words, with its margins."""
        names = self.nodes.names
        whose = f"within {names[row]}" if row == column else f"{names[row]} and {names[column]}"
        return f"{whose}: {self._said(row, column)}{self._margins(row, column)}"

    def _said(self, row: int, column: int) -> str:
        if not self.nodes.are_groups:
            kind = self.verdict(row, column)
            near = self.near if self.close[row, column] else f"each {self.near} of the rest of its group"
            return f"same, {near}" if kind == SAME else kind
        counts = zip(KINDS, self.counts[row, column].tolist(), strict=True)
        return ", ".join(f"{counted(count, 'pair')} {kind}" for kind, count in counts if count)

    @property
    def in_unit(self) -> str:
        """The unit of the margins in brackets; some have them already."""
        return self.unit if self.unit.startswith("(") or not self.unit else f"({self.unit})"

    def _margins(self, row: int, column: int) -> str:
        above, below = float(self.same_within[row, column]), float(self.apart_at_least[row, column])
        said = [f"at most {rounded_up(above)}"] if math.isfinite(above) else []
        said += [f"at least {rounded_down(below)}"] if 0 < below < math.inf else []
        return f"; apart {' and '.join(said)} {self.unit}".rstrip() if said else ""


def verdict_map(result: Result, most: int = MOST_NODES) -> VerdictMap:
    """The verdicts of a result. With more than `most` arms its rows are groups, and cells sum up their pairs."""
    found = result.tolerance
    if found is None:
        raise SettingsError("this answer has no verdicts: it was found without a tolerance; pass tolerance='2%'")
    nodes = nodes_of(result, most)
    counts, above, below, close = _summed(found, nodes)
    rows = {int(arms[0]): row for row, arms in enumerate(nodes.members)} if not nodes.are_groups else {}
    return VerdictMap(
        nodes=nodes,
        counts=counts,
        same_within=above,
        apart_at_least=below,
        close=close,
        tolerance=found.tolerance,
        near=found.near,
        unit=found.unit,
        between=tuple(rows[arm] for arm in found.between if arm in rows),
        n_arms=sum(label >= 0 for label in result.labels),
        certified=result.certified,
        void=bool(result.assumptions),
    )


def _summed(found: Verdicts, nodes: Nodes) -> tuple[NDArray[np.int64], Array, Array, NDArray[np.bool_]]:
    """Of the pairs of each two nodes: the number of each verdict, how far apart at most and at least, whether close."""
    order = np.concatenate(nodes.members)
    starts = np.cumsum([0, *map(len, nodes.members)])[:-1]
    square = np.ix_(order, order)
    itself = np.eye(len(order), dtype=bool)
    verdicts = np.where(itself, "", found.verdicts[square])

    def reduced(by: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(by.reduceat(by.reduceat(values, starts, axis=0), starts, axis=1))

    counts = np.stack([reduced(np.add, (verdicts == kind).astype(np.int64)) for kind in KINDS], axis=2)
    inside = np.arange(len(starts))
    counts[inside, inside] //= 2  # a pair of one group has two entries
    above = reduced(np.maximum, np.where(itself, 0.0, found.same_within[square]))
    below = reduced(np.minimum, np.where(itself, np.inf, found.apart_at_least[square]))
    if found.quantiles:  # then groups are proven pair by pair
        close = np.ones(above.shape, dtype=bool)
    else:
        close = reduced(np.maximum, np.where(itself, 0.0, found.same_distance[square])) <= found.eps
    return counts, above, np.where(counts.sum(axis=2) > 0, below, 0.0), close
