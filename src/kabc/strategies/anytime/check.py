"""When to believe a settled partition: looks at the doubts about K, and what follows from them.

| evidence      | what happens                                                                                 |
|---------------|----------------------------------------------------------------------------------------------|
| at most 1     | the partition is accepted                                                                    |
| above 1       | a few more samples of the arms in doubt, at most a tenth of all; then it is accepted         |
| above 4       | the same, at most a quarter of all: with the right K this is rare                            |
| 20 or more    | go on; after 15 % more samples and three rounds the run ends, and K is doubtful              |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from kabc.core.arrays import Counts, Index, Mask
from kabc.core.scores.maps import FeatureMap
from kabc.strategies.anytime import pace
from kabc.strategies.anytime.doubts import LIMIT, Doubt
from kabc.strategies.anytime.learning import Batch

Verdict = Literal["passed", "open", "doubtful"]

_IF_UNSURE = 0.10  # more samples, as a part of those that settled the partition
_IF_SUSPECTED = 0.25
_IF_DOUBTED = 0.15
_SUSPECTED = 4.0  # evidence
_ROUNDS = 3  # and at least so many rounds, if doubted
_PARTNERS = 2  # arms of the other part for each arm in doubt
_LARGEST = 700.0  # exp of more is no number


class KCheck:
    """The doubts about K of one run."""

    def __init__(self, maps: Sequence[FeatureMap] | None, block: int = 1, *, paired: bool = False) -> None:
        self.doubted = False  # a group looks like two
        self._maps, self._block, self._paired = maps, block, paired
        self._doubt: Doubt | None = None
        self._settled_at = 0  # samples when these arms were settled first
        self._n_labelled = self._n_doubted = 0
        self._open = False

    @property
    def ratio(self) -> float | None:
        """Evidence that a group is two, to 1; None before the first look."""
        return None if self._doubt is None else math.exp(min(self._doubt.log_evidence, _LARGEST))

    @property
    def labels(self) -> Index | None:  # (N,)
        """The partition that was looked at last."""
        return None if self._doubt is None else self._doubt.labels

    def look(self, labels: Index, batches: Sequence[Batch]) -> Verdict:  # (N,), -1: in no group yet
        """Look once more, after a round that left this partition."""
        labels = _in_order(labels)
        if self._doubt is None or (self._doubt.labels != labels).any():
            self._doubt = Doubt(labels, self._maps, self._block, paired=self._paired)
        self._doubt.follow(batches)
        n_samples = sum(len(batch.samples) for batch in batches)
        if np.count_nonzero(labels >= 0) != self._n_labelled:
            self._n_labelled, self._settled_at, self._n_doubted = int(np.count_nonzero(labels >= 0)), n_samples, 0
        verdict = self._verdict(self._doubt.log_evidence, n_samples / self._settled_at - 1)
        self._open = verdict == "open"
        return verdict

    def _verdict(self, log_evidence: float, more: float) -> Verdict:
        self.doubted = log_evidence >= math.log(LIMIT)
        if self.doubted:
            self._n_doubted += 1
            return "doubtful" if more >= _IF_DOUBTED and self._n_doubted > _ROUNDS else "open"
        enough = _IF_SUSPECTED if log_evidence > math.log(_SUSPECTED) else _IF_UNSURE
        return "open" if log_evidence > 0 and more < enough else "passed"

    def request(self, counts: Counts, dry: Mask) -> dict[int, int]:  # (N,), (N,)
        """The arms in doubt and some of the rest of their group; empty if nothing is in doubt."""
        if self._doubt is None or not self._open:
            return {}
        few, many = (arms[~dry[arms]] for arms in self._doubt.suspects())
        partners = many[np.argsort(counts[many], kind="stable")[: _PARTNERS * len(few)]]
        arms = np.union1d(few, partners)
        return dict.fromkeys(arms.tolist(), pace.block(int(counts[arms].min()))) if len(arms) else {}


def _in_order(labels: Index) -> Index:  # (N,) -> (N,)
    """The same groups, numbered in the order of their first arms."""
    inside = labels >= 0
    _, firsts, numbers = np.unique(labels[inside], return_index=True, return_inverse=True)
    ordered = np.full(len(labels), -1, dtype=np.intp)
    ordered[inside] = firsts.argsort().argsort()[numbers]
    return ordered
