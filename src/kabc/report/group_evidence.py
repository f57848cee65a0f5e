"""The evidence of pairs, summed up by groups. It is made from blocks, so memory stays small with thousands of arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.evidence.pairs import Evidence


class GroupEvidence(NamedTuple):
    """For each two of G groups, and for each group with itself.

    Attributes
    ----------
    strongest : the strongest evidence of their pairs in units of its threshold. NaN if none was compared.
    told : number of pairs that are told apart.
    compared : number of pairs that have evidence of their own.
    """

    strongest: Array  # (G, G)
    told: NDArray[np.int64]  # (G, G)
    compared: NDArray[np.int64]  # (G, G)


def group_evidence(evidence: Evidence, members: Sequence[NDArray[np.intp]]) -> GroupEvidence:
    """The evidence between groups of arms."""
    group = np.full(evidence.n_arms, -1)
    for number, arms in enumerate(members):
        group[arms] = number
    strength = evidence.block_strength
    itself = (evidence.compared, np.arange(len(evidence.compared)))
    known, told = ~np.isnan(strength), evidence.told > 0
    known[itself] = told[itself] = False
    known |= told
    columns = group[evidence.compared]
    values = np.where(known & ~np.isnan(strength), strength, -np.inf)
    half = np.array([_largest(values[arms], columns, len(members)) for arms in members])
    strongest = np.fmax(half, half.T)
    return GroupEvidence(
        np.where(np.isinf(strongest), np.nan, strongest),
        _pairs(told, group, evidence.compared, len(members)),
        _pairs(known, group, evidence.compared, len(members)),
    )


def _largest(block: Array, columns: NDArray[np.intp], n_groups: int) -> Array:  # (m, C), (C,) -> (G,)
    """The largest value of the columns of each group."""
    best = block.max(axis=0, initial=-np.inf)
    found = np.full(n_groups, -np.inf)
    shown = columns >= 0
    np.fmax.at(found, columns[shown], best[shown])
    return found


def _pairs(
    marked: NDArray[np.bool_], group: NDArray[np.intp], compared: NDArray[np.intp], n_groups: int
) -> NDArray[np.int64]:  # (N, C), (N,), (C,) -> (G, G)
    """Number of marked pairs between groups. Where both arms are compared ones, a pair has two entries."""
    entries = _entries(marked, group, group[compared], n_groups)
    twice = _entries(marked[compared], group[compared], group[compared], n_groups)
    pairs = entries + entries.T - twice
    np.fill_diagonal(pairs, entries.diagonal() - twice.diagonal() // 2)
    return pairs


def _entries(
    marked: NDArray[np.bool_], rows: NDArray[np.intp], columns: NDArray[np.intp], n_groups: int
) -> NDArray[np.int64]:
    i, c = np.nonzero(marked)
    seen = (rows[i] >= 0) & (columns[c] >= 0)
    cells = rows[i[seen]] * n_groups + columns[c[seen]]
    return np.bincount(cells, minlength=n_groups**2).reshape(n_groups, n_groups)
