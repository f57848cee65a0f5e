"""Doubts about K: does a group of the partition hold arms of two distributions?

This is a heuristic. It can only delay an answer. Half of the samples of each arm teach scores for K + 1 groups. The
other half is bet on these scores: where a group was split, arms of one part are matched with arms of the other. If all
arms of each group are the same, these factors have mean at most 1 (kabc.core.evidence.betting).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence import betting
from kabc.core.evidence.blocks import Block
from kabc.core.scores.discriminant import Moments
from kabc.strategies.anytime.learning import SCALES, Learning

_LIMIT = math.log(20)  # log evidence that K is too small, above which a settled partition is not accepted yet


def looks_split(learning: Learning, common: Array, labels: Index) -> bool:  # (E,), (N,)
    """Whether a group looks like two; `common` is what each expert has won, labels are -1 for other arms."""
    won = common.reshape(-1, len(SCALES)).max(axis=1)  # by each scorer, at its better scale
    return log_doubt(learning.learners, betting.fixed_share(won, 0.5), *learning.samples(), labels) > _LIMIT


def log_doubt(
    learners: Sequence[Moments], log_weights: Array, samples: Array, owners: Index, labels: Index
) -> float:  # (S,), (n, d), (n,), (N,)
    """Log evidence that one of the groups is two, scorers averaged by weight; labels are -1 for other arms."""
    core = np.flatnonzero(labels >= 0)
    n_groups = int(labels.max()) + 1
    later = _turns(owners) % 2 == 1
    matched, starts, base = _by_arm(owners, later, core)
    found = []
    for learner in learners:
        half = Moments(learner.map, len(labels))
        features = learner.map(samples)
        half.absorb(features[~later], owners[~later])
        for scorer in half.scorers(core, np.full(len(labels), -1, dtype=np.intp), n_groups + 1):
            split = scorer.labels[core]
            block = Block(scorer.scores(features[matched]), split, starts, base, math.inf)
            found.append(_of_parts(block.pairs(np.arange(len(core))), labels[core], split))
    return float(betting.mixture(np.array(found), log_weights))


def _of_parts(pairs: Array, groups: Index, split: Index) -> float:  # (C, C), (C,), (C,)
    """Log factor of arms matched across the two largest parts of each split group, averaged over these groups."""
    each = []
    for group in np.unique(groups):
        parts, sizes = np.unique(split[groups == group], return_counts=True)
        if len(parts) > 1:
            first, second = parts[np.argsort(-sizes, kind="stable")[:2]]
            one, other = (np.flatnonzero((groups == group) & (split == part)) for part in (first, second))
            each.append(pairs[one[: len(other)], other].sum())
    return float(betting.mixture(np.array(each), np.full(len(each), -math.log(len(each))))) if each else 0.0


def _turns(owners: Index) -> Index:  # (n,) -> (n,)
    """For each sample, how many earlier samples its arm has."""
    order = np.argsort(owners, kind="stable")
    firsts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    turns = np.empty(len(owners), dtype=np.intp)
    turns[order] = np.arange(len(owners)) - np.repeat(firsts, np.diff(firsts, append=len(owners)))
    return turns


def _by_arm(owners: Index, later: Mask, core: Index) -> tuple[Index, Index, int]:
    """Rows of the later half, sorted by arm, the same number for each arm; where each arm starts; that number."""
    rows = [np.flatnonzero(later & (owners == arm)) for arm in core.tolist()]
    base = min(len(each) for each in rows)
    return np.concatenate([each[:base] for each in rows]), np.arange(len(core) + 1) * base, base
