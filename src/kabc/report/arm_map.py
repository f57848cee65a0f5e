"""Arms as points in a plane. Arms with similar distributions are close to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.report.nodes import by_group, names_of
from kabc.results.values import Result

_MOST_VALUES = 4_000_000  # values of the kept samples that are used; further rows are left out
_MOST_STEPS = 512  # steps of a distribution function
_DIRECTIONS = 64
_SUBSPACE, _ITERATIONS = 10, 30


@dataclass(frozen=True)
class ArmMap:
    """What the picture shows.

    Attributes
    ----------
    names, groups : name and group of each arm that has a group, in arm order. Groups are numbered from 0.
    places : coordinates of each arm. Only the distances between arms have a meaning.
    shown : the part of all squared distances that two dimensions can show, from 0 to 1.
    measure : what the distances are, in words.
    certified : whether the groups are certified, not a guess.
    """

    names: tuple[str, ...]
    groups: tuple[int, ...]
    places: Array  # (N, 2)
    shown: float
    measure: str
    certified: bool


def arm_map(result: Result) -> ArmMap:
    """Classical scaling. It uses distances of mean embeddings if known, else energy distances of the kept samples."""
    arms = np.sort(by_group(result))
    distances = result.evidence.distances[np.ix_(arms, arms)]
    if np.isfinite(distances).all():
        squared, measure = distances**2, "distance of the mean embeddings"
    else:
        rows = kept_rows(result)
        squared = energy_distances([rows[arm] for arm in arms.tolist()])
        measure = "energy distance of the samples kept, columns as ranks"
    places, shown = classical_scaling(squared)
    names, groups = names_of(result), result.labels
    return ArmMap(
        tuple(names[arm] for arm in arms),
        tuple(groups[arm] for arm in arms),
        places,
        shown,
        measure,
        result.certified,
    )


def kept_rows(result: Result) -> dict[int, NDArray[Any]]:  # arm -> (m_i, d)
    """The first samples of each arm that has a group. There are few enough to be processed in seconds."""
    arms = by_group(result).tolist()
    rows = {arm: np.asarray(result.samples.get(result.names[arm], ())) for arm in arms}
    if not rows or any(block.ndim != 2 or not block.size for block in rows.values()):
        raise SettingsError(
            "this result keeps no samples of at least one arm, so its values cannot be drawn; run it again"
        )
    most = max(2, _MOST_VALUES // (len(rows) * rows[arms[0]].shape[1]))
    return {arm: block[:most] for arm, block in rows.items()}


def classical_scaling(squared: Array) -> tuple[Array, float]:  # (N, N) -> (N, 2)
    """Points of the plane with distances close to the given ones, and the part of the squared distances they show."""
    if len(squared) == 1:
        return np.zeros((1, 2)), 1.0
    centred = squared - squared.mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    values, vectors = _largest_two((gram + gram.T) / 2)
    places = vectors * np.sqrt(values)
    largest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(largest < 0, -1.0, 1.0)  # always choose the same mirror image
    return places, float(values.sum() / gram.trace()) if values.sum() > 0 else 1.0


def _largest_two(gram: Array) -> tuple[Array, Array]:  # (N, N), no negative eigenvalues -> (2,), (N, 2)
    """Its two largest eigenvalues with their vectors, by subspace iteration. Computing all would take seconds."""
    basis = np.random.default_rng(0).standard_normal((len(gram), min(len(gram), _SUBSPACE)))
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(gram @ basis)[0]
    values, vectors = np.linalg.eigh(basis.T @ gram @ basis)
    return np.maximum(values[:-3:-1], 0.0), basis @ vectors[:, :-3:-1]


def energy_distances(rows: list[NDArray[Any]]) -> Array:  # N arrays (m_i, d) -> (N, N)
    """Squared energy distances of the ranks: 2 E|x - y| - E|x - x'| - E|y - y'|. For d > 1 a mean over directions.

    In one dimension this is 2 times the integral of (F_x - F_y)^2. So distribution functions on a grid give all pairs.
    """
    ends = np.cumsum([len(block) for block in rows])
    ranks = np.column_stack([_ranks(column) for column in np.concatenate(rows).T])
    d = ranks.shape[1]
    normal = np.random.default_rng(0).standard_normal((d, _DIRECTIONS))
    directions = np.eye(1) if d == 1 else normal / np.linalg.norm(normal, axis=0)
    squared = np.zeros((len(rows), len(rows)))
    for line in (ranks @ directions).T:
        squared += _energy_on_a_line(np.split(line, ends[:-1])) / directions.shape[1]
    return squared


def _energy_on_a_line(arms: list[Array]) -> Array:  # N arrays (m_i,) -> (N, N)
    points = np.unique(np.concatenate(arms))
    if len(points) > _MOST_STEPS:
        points = points[np.linspace(0, len(points) - 1, _MOST_STEPS).astype(int)]
    steps = [np.searchsorted(np.sort(arm), points[:-1], side="right") / len(arm) for arm in arms]
    curves = np.array(steps) * np.sqrt(2 * np.diff(points))  # (N, grid)
    norms = (curves**2).sum(axis=1)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * curves @ curves.T, 0.0))


def _ranks(column: NDArray[Any]) -> Array:  # (n,)
    """Middle ranks among all samples, from 0 to 1. Units and outliers have no effect, and equal values stay equal."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    return np.asarray(((below + (counts - 1) / 2) / max(len(column) - 1, 1))[place])
