"""What must be true between the fields of a saved answer. A file from anywhere may say anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.results.schema import ArrayPart, Document

_MOST_VALUES = 2**27  # that all arrays of a file stand for: 1 GB
_MOST_TRACED = 2**22  # values of a trace: ten times those of 256 rounds of 40 arms


def expect_consistent(document: Document, labels: Sequence[int]) -> None:
    """ValueError says which field does not fit the others."""
    n_arms = len(document.names)
    drawn = sum(document.samples_per_arm.values())
    if document.n_samples != drawn:
        raise ValueError(f"n_samples: it is {document.n_samples}, the arms have {drawn}")
    if document.n_pilot + document.n_unused > drawn:
        raise ValueError(f"n_pilot, n_unused: they are more than the {drawn} samples of all arms")
    if document.n_recorded > drawn:
        raise ValueError(f"n_recorded: it is {document.n_recorded}, of {drawn} samples")
    verdict = document.verdict if document.reference else None
    may_be = verdict in ("same", "different")  # of a check that had not decided, versions before said false
    if document.certified != (document.status == "decided") and not (document.certified and may_be):
        raise ValueError(f"certified: it is {document.certified}, with the status {document.status!r}")
    if document.n_groups_at_least > n_arms:
        raise ValueError(f"n_groups_at_least: it is {document.n_groups_at_least}, of {n_arms} arms")
    if document.n_clusters is not None and document.n_clusters > n_arms:
        raise ValueError(f"n_clusters: it is {document.n_clusters}, of {n_arms} arms")
    if document.reference and n_arms != 2:
        raise ValueError(f"reference: a check has two arms, not {n_arms}")
    if sum(label < 0 for label in labels) != len(document.set_aside):
        raise ValueError("set_aside: these are not the arms without a group")
    if not math.isfinite(document.price * (drawn + document.n_lost)):
        raise ValueError("price: the sum is no number")


def expect_small(document: Document) -> None:
    """A small file cannot stand for so many values that an answer would take hours or all memory."""
    trace = document.trace and document.trace.strength
    if trace and _size(trace) > _MOST_TRACED:
        raise ValueError(f"trace.strength: shape is {trace.shape}, which is more than {_MOST_TRACED:,} values")
    evidence = document.evidence
    parts = [] if evidence is None else [evidence.told, evidence.values, evidence.limits, evidence.measured]
    sizes = [_size(part) for part in [*parts, *(document.samples or ())] if part is not None]
    if sum(sizes) > _MOST_VALUES:
        raise ValueError(f"evidence, samples: they stand for {sum(sizes):,} values, more than {_MOST_VALUES:,}")


def _size(part: ArrayPart) -> int:
    return math.prod(part.shape)


def expect_pairs(told: NDArray[Any], compared: NDArray[Any]) -> NDArray[Any]:  # (N, C), (C,)
    """The rounds that told pairs apart, if no arm is told apart from itself and a pair has one round."""
    square = told[compared]
    if square.diagonal().any():
        raise ValueError("evidence.told: an arm is told apart from itself")
    if not np.array_equal(square, square.T):
        raise ValueError("evidence.told: a pair of arms has two different rounds")
    return told
