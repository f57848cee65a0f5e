"""How the evidence of each pair grew with the samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.report.nodes import names_of
from kabc.results.values import Result

_MOST_LINES = 40  # lines of each kind; more would hide each other
_MOST_POINTS = 120


def power_of_two(power: int) -> str:
    """The label of a power of two on an axis."""
    return str(2**power) if power >= 0 else f"1/{2**-power}"


class Line(NamedTuple):
    """One pair: the names of its arms, whether they are in one group, and its evidence in units of its threshold."""

    first: str
    second: str
    together: bool
    strength: NDArray[np.float64]  # (T,)


@dataclass(frozen=True)
class EvidenceTrace:
    """What the picture shows: lines over the total number of samples, and the number of pairs left out.

    The lines are spread evenly from the weakest to the strongest evidence. This is done separately for pairs of one
    group and for pairs of different groups.
    """

    n_samples: NDArray[np.int64]  # (T,)
    lines: tuple[Line, ...]
    left_out: int


def evidence_trace(result: Result) -> EvidenceTrace:
    """The trace of a result, with as many lines as a reader can distinguish."""
    trace = result.trace
    if trace is None or not len(trace.n_samples):
        raise SettingsError(
            f"these {len(result.names)} arms have no trace of their evidence; a run keeps one if it has at most "
            "40 arms and finishes a round"
        )
    n_rounds = len(trace.n_samples)
    kept = _spread(n_rounds, _MOST_POINTS)
    strength, labels, names = trace.strength[kept], result.labels, names_of(result)
    lines = [
        Line(names[i], names[j], labels[i] == labels[j], strength[:, i, j])
        for i, j in combinations([arm for arm, label in enumerate(labels) if label >= 0], 2)
    ]
    shown = tuple(line for together in (True, False) for line in _evenly([x for x in lines if x.together is together]))
    return EvidenceTrace(trace.n_samples[kept], shown, len(lines) - len(shown))


def _evenly(lines: list[Line]) -> list[Line]:
    ranked = sorted(lines, key=_latest)
    return [ranked[place] for place in _spread(len(ranked), _MOST_LINES)]


def _spread(n: int, most: int) -> list[int]:
    """A limited number of the n places, evenly spread, with the first and the last."""
    return np.linspace(0, n - 1, min(n, most)).astype(int).tolist() if n else []


def _latest(line: Line) -> float:
    known = line.strength[~np.isnan(line.strength)]
    return float(known[-1]) if known.size else 0.0
