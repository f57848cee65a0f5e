"""Components of a threshold graph from few distances: first leaders, then pairs left open by the triangle inequality.

| symbol | here                              | meaning                                                         |
|--------|-----------------------------------|-----------------------------------------------------------------|
| B_ij   | min_m (radii[m, i] + radii[m, j]) | threshold of a pair (eq. threshold: a sum of two one-arm terms) |
| r      | leader                            | the arm that a star is built around                             |

An edge means d(i, j) <= B_ij: the pair is not told apart. Groups are the connected components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array, Index
from kabc.core.errors import SampleError, SettingsError
from kabc.core.partitions import Partition, connected

Distances = Callable[[Index, Index], NDArray[np.floating[Any]]]  # (R,), (C,) -> (R, C)

_TILE = 2_000  # a block is at most 2000 x 2000 values: 32 MB of thresholds
_MIN_LEADERS = 16  # with fewer leaders the graph is never searched tile by tile
# Leaders per arm above which the rest is compared tile by tile. One thread, D = 512, N = 5000: clear groups gain from
# leaders up to 20 % of N, merging ones lose from 10 % on. At 5 % the worst case took 1.1 times the full graph (2 times
# at N = 1000, 28 ms), at 10 % it took 1.5 times.
_LEADER_SHARE = 0.05
_MAX_OPEN = 16_000_000  # open (arm, star) pairs kept for the second pass: 400 MB with two radii per arm
_MAX_BATCH = 64  # leaders compared in one product
_FIRST_LOOK = 16  # arms compared with a star before the search for an edge widens


@dataclass(frozen=True, slots=True)
class LeaderComponents:
    """The components of the threshold graph, and what the search found out about pairs.

    A pair of different groups is always told apart. A pair of one group is told apart only if the search happened to
    show that its distance is above the threshold. All other pairs count as not told apart. This errs on the safe side.
    """

    partition: Partition
    n_distances: int  # values computed, repetitions included
    compared: Index  # (C,), the arms of the columns: all arms, or the leaders with pairs=False
    distances: Array  # (N, C), NaN where not computed
    told_apart: NDArray[np.bool_]  # (N, C), d > B computed or implied


def leader_components(
    distances: Distances,
    radii: Array,  # (M, N)
    slack: float = 1e-3,
    *,
    pairs: bool = True,
) -> LeaderComponents:
    """The components of the graph with an edge where d(i, j) <= min_m (radii[m, i] + radii[m, j]), from few distances.

    Leaders: an arm without a group becomes a leader. Its star takes all other arms without a group that are within the
    threshold. This repeats until every arm is in a star. Two stars are compared only for pairs that the triangle
    inequality around the earlier leader r leaves open: d(i, r) - radii[m, i] <= d(j, r) + radii[m, j] + slack for all
    m. The comparison ends when an edge joins the two stars.

    `distances(rows, cols)` must be a metric up to rounding, and `slack` must cover the rounding of three distances. A
    square root of a sum with error 1e-7 errs by up to 3e-4 near zero; the default suits distances of order one.

    Time is about K N distances when groups are clear, N^2 / 2 when there are many groups or none is clear. Memory is
    blocks of 4 million values, about 16 million open pairs of an arm and a star, and two matrices: (N, N) with `pairs`,
    else N by the number of leaders, which is at most 5 % of N or 16, and a batch.
    """
    search = _Search(distances, _checked_radii(radii), _checked_slack(slack), pairs)
    search.run()
    return LeaderComponents(Partition.of(search.labels.tolist()), search.n_distances, *search.seen())


def _checked_radii(radii: Array) -> Array:  # (M, N)
    checked = np.asarray(radii, dtype=np.float64)
    if checked.ndim != 2 or 0 in checked.shape:
        raise SettingsError(f"radii must have shape (M, N) with M, N >= 1, got {checked.shape}; one row per bound")
    if not (checked >= 0).all():
        raise SettingsError(
            f"radii must be at least 0 and not NaN, the smallest is {checked.min()}; "
            "use inf for arms that are not known yet"
        )
    return checked


def _checked_slack(slack: float) -> float:
    if not 0 <= slack < np.inf:
        raise SettingsError(
            f"slack must be finite and at least 0, got {slack}; three times the error of a distance is enough"
        )
    return float(slack)


@dataclass(frozen=True, slots=True)
class _Star:
    """The arms of a leader, and the arms of later stars that the triangle inequality around it leaves open."""

    members: Index  # (A,), without the leader: its distances are all known
    reach: Array  # (M, A), d(j, r) + radii[m, j]
    open: Index  # (O,), nearest first
    approach: Array  # (M, O), d(i, r) - radii[m, i]


class _Search:
    """The state of one run of leader_components; arms with equal labels are known to be connected."""

    def __init__(self, distances: Distances, radii: Array, slack: float, pairs: bool) -> None:
        n_arms = radii.shape[1]
        self.distances, self.radii, self.slack = distances, radii, slack
        self.labels: Index = np.arange(n_arms)
        self.stars: list[_Star] = []
        self.n_leaders = self.n_open = self.n_distances = 0
        self.led: list[tuple[np.intp, Index, Array]] = []  # each leader, the arms compared with it, their distances
        self.known = np.where(np.eye(n_arms, dtype=bool), 0.0, np.nan) if pairs else None
        self.told_apart = np.zeros((n_arms, n_arms), dtype=bool) if pairs else None

    def run(self) -> None:
        free: Index = np.arange(self.labels.size)
        limit = max(_MIN_LEADERS, _LEADER_SHARE * free.size)
        while free.size and self.n_leaders < limit and self.n_open < _MAX_OPEN:
            free = self._lead(free)
        self._tiles(free)
        self._join_stars()

    def _lead(self, free: Index) -> Index:  # (F,) -> (F',)
        """Form stars around a few free arms at once; returns the arms that stay free."""
        # One product for several leaders is much faster than one product each. But a leader that falls into another
        # star is wasted, so start with few. Golden-section steps avoid both runs and periods in the order of the arms.
        batch = min(1 + self.n_leaders // 8, _MAX_BATCH, max(1, _TILE**2 // free.size))
        at = np.unique((np.arange(batch) * 0.6180339887498949 % 1 * free.size).astype(np.intp))
        values, edges = self._compare(free[at], free, at)
        left = np.ones(free.size, dtype=bool)
        for k, leader in enumerate(at):
            if left[leader]:
                self.led.append((free[leader], free, values[k]))
                taken = edges[k] & left
                left &= ~taken
                taken[leader] = False
                self._add_star(free[leader], free[taken], values[k, taken], free[left], values[k, left])
        return free[left]

    def _add_star(self, leader: np.intp, members: Index, inner: Array, others: Index, outer: Array) -> None:
        self.n_leaders += 1
        if not members.size:
            return
        self.labels[members] = self.labels[leader]
        reach = inner + self.radii[:, members]
        approach = outer - self.radii[:, others]
        near = (approach <= reach.max(axis=1, keepdims=True) + self.slack).all(axis=0)
        self._tell_apart(members, others[~near])
        if near.any():
            order = np.flatnonzero(near)[np.argsort(approach[:, near].max(axis=0), kind="stable")]
            self.stars.append(_Star(members, reach, others[order], approach[:, order]))
            self.n_open += order.size

    def _tiles(self, free: Index) -> None:
        """Compare all pairs of these arms. Used when more leaders would cost more than they save."""
        side = min(_TILE, -(-free.size // 8))  # small tiles on the diagonal waste little
        tiles = [free[k : k + side] for k in range(0, free.size, side or 1)]
        for k, rows in enumerate(tiles):
            self._unite(rows, rows, np.arange(rows.size))
            for cols in tiles[k + 1 :]:
                self._unite(rows, cols)

    def _join_stars(self) -> None:
        """Look for edges between stars. Try a few arms of every star first: each edge saves work for other stars."""
        stars, size = self.stars, _FIRST_LOOK
        while stars:
            stars = [rest for star in stars if (rest := self._look(star, size)) is not None]
            size = min(4 * size, _TILE)

    def _look(self, star: _Star, size: int) -> _Star | None:
        """Compare the nearest open arms with a star; returns what stays open, or None."""
        apart = np.flatnonzero(self.labels[star.open] != self.labels[star.members[0]])
        if not apart.size:
            return None
        now, later = apart[:size], apart[size:]
        nearest = star.approach[:, now].min(axis=1, keepdims=True)
        near = (nearest <= star.reach + self.slack).all(axis=0)
        self._tell_apart(star.open[now], star.members[~near])
        self._join(star.open[now], star.members[near])
        return _Star(star.members, star.reach, star.open[later], star.approach[:, later]) if later.size else None

    def _join(self, arms: Index, members: Index) -> None:
        """Compare arms with the members of one star, each arm until it is connected to it."""
        start, width = 0, 4 * _FIRST_LOOK
        while start < members.size and arms.size:
            self._unite(arms, members[start : start + width])
            arms = arms[self.labels[arms] != self.labels[members[0]]]
            start, width = start + width, min(4 * width, _TILE)

    def _unite(self, rows: Index, cols: Index, at: Index | None = None) -> None:
        """Connect the labels of all edges of a block."""
        _, edges = self._compare(rows, cols, at)
        while edges.any():
            # One new edge per row at a time, as in Boruvka's algorithm: few rounds, and dense blocks stay cheap.
            edges &= self.labels[rows][:, None] != self.labels[cols]
            some = np.flatnonzero(edges.any(axis=1))
            if some.size:
                partners = cols[edges[some].argmax(axis=1)]
                self.labels = connected(self.labels[rows[some]], self.labels[partners], self.labels.size)[self.labels]

    def _compare(self, rows: Index, cols: Index, at: Index | None = None) -> tuple[Array, NDArray[np.bool_]]:
        """Distances and edges of a block. `at` gives the positions of the row arms among the columns."""
        values: NDArray[Any] = np.asarray(self.distances(rows, cols))
        if values.shape != (rows.size, cols.size):
            raise SettingsError(
                f"distances(rows, cols) must return shape {(rows.size, cols.size)}, got {values.shape}; "
                "return one row per row arm and one column per column arm"
            )
        if not np.isfinite(values).all():
            raise SampleError("a distance is not finite; embeddings must be finite, so check samples for huge values")
        if at is not None:  # the block holds both orders of a pair, which may round differently: decide once
            values = values.copy()
            values[:, at] = np.minimum(values[:, at], values[:, at].T)
            values[np.arange(rows.size), at] = 0
        edges = values <= self._thresholds(rows, cols)
        self.n_distances += values.size
        self._record(rows, cols, values, edges)
        return values, edges

    def _thresholds(self, rows: Index, cols: Index) -> Array:  # (R, C)
        bounds: Array = self.radii[0, rows][:, None] + self.radii[0, cols]
        for radii in self.radii[1:]:
            np.minimum(bounds, radii[rows][:, None] + radii[cols], out=bounds)
        return bounds

    def _record(self, rows: Index, cols: Index, values: Array, edges: NDArray[np.bool_]) -> None:
        if self.known is not None and self.told_apart is not None:
            here, there = np.ix_(rows, cols), np.ix_(cols, rows)
            self.known[here], self.known[there] = values, values.T
            self.told_apart[here], self.told_apart[there] = ~edges, ~edges.T

    def seen(self) -> tuple[Index, Array, NDArray[np.bool_]]:  # (C,), (N, C), (N, C)
        """The arms of the columns, the distances that are known and the pairs told apart."""
        if self.known is not None and self.told_apart is not None:
            return np.arange(self.labels.size), self.known, self.told_apart
        leaders = np.array([leader for leader, _, _ in self.led], dtype=np.intp)
        known = np.full((self.labels.size, leaders.size), np.nan)
        for column, (_, arms, values) in enumerate(self.led):
            known[arms, column] = values
        known[leaders] = np.fmin(known[leaders], known[leaders].T)  # a pair of leaders was compared once
        apart = (known > self._thresholds(np.arange(self.labels.size), leaders)) | (
            self.labels[:, None] != self.labels[leaders]
        )
        return leaders, known, apart

    def _tell_apart(self, some: Index, others: Index) -> None:
        if self.told_apart is not None:
            self.told_apart[np.ix_(some, others)] = True
            self.told_apart[np.ix_(others, some)] = True
