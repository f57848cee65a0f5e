"""Arms as points in a plane. Arms with similar distributions are close to each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.report.nodes import by_group, names_of, odd_arms
from kabc.results.values import Result

_MOST_VALUES = 4_000_000  # values of the kept samples that are used; further rows are left out
_MOST_STEPS, _FEWEST_STEPS = 512, 16  # of a distribution function
_DIRECTIONS = (12, 64)  # fewest and most
_MOST_PLACES = 8_000_000  # of samples on directions
_ENOUGH = 50_000  # samples to choose the steps from
_SUBSPACE, _ITERATIONS = 10, 30


@dataclass(frozen=True)
class ArmMap:
    """What the picture shows.

    Attributes
    ----------
    names, groups : name and group of each arm that has a group (and samples), in arm order. Groups are numbered from 0.
    places : coordinates of each arm. Only the distances between arms have a meaning.
    shown : the part of all squared distances that two dimensions can show, from 0 to 1.
    measure : what the distances are, in words.
    certified : whether the groups are certified, not a guess.
    odd : places in `names` of the arms that stand out, the oddest first.
    """

    names: tuple[str, ...]
    groups: tuple[int, ...]
    places: Array  # (N, 2)
    shown: float
    measure: str
    certified: bool
    odd: tuple[int, ...] = ()


def arm_map(result: Result) -> ArmMap:
    """Classical scaling. It uses distances of mean embeddings if known, else energy distances of the kept samples."""
    arms = np.sort(by_group(result))
    known = result.evidence.values if not result.evidence.by_bets else result.evidence.measured
    if known is not None and result.evidence.all_compared and np.isfinite(known[np.ix_(arms, arms)]).all():
        measure = "distance of the mean embeddings"
        places, shown = classical_scaling(known[np.ix_(arms, arms)] ** 2)
    else:
        rows = kept_rows(result)
        arms = np.array(list(rows))
        measure = "energy distance of the samples kept, columns as ranks"
        places, shown = principal_plane(energy_points(list(rows.values())))
    names, odd = names_of(result), [one.arm for one in odd_arms(result)]
    number_of = {result.names[arm]: place for place, arm in enumerate(arms.tolist())}
    return ArmMap(
        tuple(names[arm] for arm in arms),
        tuple(result.labels[arm] for arm in arms),
        places,
        shown,
        measure,
        result.certified,
        tuple(number_of[name] for name in odd if name in number_of),
    )


def kept_rows(result: Result) -> dict[int, NDArray[Any]]:  # arm -> (m_i, d)
    """The first samples of each arm that has a group and samples. There are few enough to be processed in seconds."""
    rows = {arm: np.asarray(result.samples.get(result.names[arm], ())) for arm in np.sort(by_group(result)).tolist()}
    rows = {arm: block for arm, block in rows.items() if block.ndim == 2 and block.size}
    if not rows or len({block.shape[1] for block in rows.values()}) > 1:
        raise SettingsError("no samples were kept in this result, so its values cannot be drawn")
    most = max(2, _MOST_VALUES // (len(rows) * next(iter(rows.values())).shape[1]))
    return {arm: block[:most] for arm, block in rows.items()}


# ------------------------------------------------------------ planes


def classical_scaling(squared: Array) -> tuple[Array, float]:  # (N, N) -> (N, 2)
    """Points of the plane with distances close to the given ones, and the part of the squared distances they show."""
    if len(squared) == 1:
        return np.zeros((1, 2)), 1.0
    centred = squared - squared.mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    gram = (gram + gram.T) / 2
    return _plane(lambda basis: gram @ basis, len(gram), float(gram.trace()))


def principal_plane(points: Array) -> tuple[Array, float]:  # (N, F) -> (N, 2)
    """The same for the distances of points, without a matrix of all pairs."""
    centred = points - points.mean(axis=0)
    return _plane(lambda basis: centred @ (centred.T @ basis), len(points), float((centred**2).sum()))


def _plane(gram: Callable[[Array], Array], n: int, trace: float) -> tuple[Array, float]:  # (n, m) -> (n, m)
    """The plane of the two largest eigenvalues of a matrix, by subspace iteration. Computing all would take seconds."""
    basis = np.random.default_rng(0).standard_normal((n, min(n, _SUBSPACE)))
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(gram(basis))[0]
    found, vectors = np.linalg.eigh(basis.T @ gram(basis))
    values = np.maximum(found[:-3:-1], 0.0)
    places = np.zeros((n, 2))
    places[:, : len(values)] = basis @ vectors[:, :-3:-1] * np.sqrt(values)
    largest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(largest < 0, -1.0, 1.0)  # always choose the same mirror image
    return places, float(values.sum() / trace) if values.sum() > 0 else 1.0


# ------------------------------------------------------------ distances of samples


def energy_points(rows: list[NDArray[Any]]) -> Array:  # N arrays (m_i, d) -> (N, F)
    """A point for each arm. Squared distances of points are energy distances of ranks, for d > 1 over directions.

    The energy distance is 2 E|x - y| - E|x - x'| - E|y - y'|. In one dimension it is 2 times the integral of
    (F_x - F_y)^2. So a point holds the steps of a distribution function.
    """
    sizes = np.array([len(block) for block in rows])
    arms = np.repeat(np.arange(len(rows)), sizes)
    ranks = np.column_stack([_ranks(column) for column in np.concatenate(rows).T])
    d = ranks.shape[1]
    n_directions = int(np.clip(_MOST_PLACES // len(ranks), *_DIRECTIONS))
    normal = np.random.default_rng(0).standard_normal((d, n_directions))
    directions = np.eye(1) if d == 1 else normal / np.linalg.norm(normal, axis=0)
    n_lines = directions.shape[1]
    most = int(np.clip(_MOST_VALUES // (len(rows) * n_lines), _FEWEST_STEPS, _MOST_STEPS))
    lines = (_steps(ranks @ direction, arms, sizes, most) for direction in directions.T)
    return np.concatenate(list(lines), axis=1) / math.sqrt(n_lines)


def _steps(line: Array, arms: NDArray[np.intp], sizes: NDArray[np.intp], most: int) -> Array:  # (n,), (n,), (N,)
    """The distribution function of each arm at points of a line, weighted by the distance to the next: (N, grid)."""
    points = np.unique(line[:: max(len(line) // _ENOUGH, 1)])
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).astype(int)]
    first = np.searchsorted(points, line, side="left")  # the first point that is not below a sample
    counts = np.bincount(arms * (len(points) + 1) + first, minlength=len(sizes) * (len(points) + 1))
    below = np.cumsum(counts.reshape(len(sizes), -1)[:, : len(points) - 1], axis=1) / sizes[:, None]
    return np.asarray(below * np.sqrt(2 * np.diff(points)))


def _ranks(column: NDArray[Any]) -> Array:  # (n,)
    """Middle ranks among all samples, from 0 to 1. Units and outliers have no effect, and equal values stay equal."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    return np.asarray(((below + (counts - 1) / 2) / max(len(column) - 1, 1))[place])
