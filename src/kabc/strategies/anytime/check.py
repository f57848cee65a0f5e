"""When to believe a settled partition: looks at the doubts about K, and what follows from them.

The evidence that a group is two is the mean of what bets have won (`doubts.py`) and of what shuffling shows
(`shuffles.py`).

| evidence      | what happens                                                                                 |
|---------------|----------------------------------------------------------------------------------------------|
| at most 1     | the partition is accepted, unless the arms of a group differ a little (below)                |
| above 1       | a few more samples of the arms in doubt, at most a tenth of all; then it is accepted         |
| above 4       | the same, at most a quarter of all: with the right K this is rare                            |
| 20 or more    | go on; after 15 % more samples and three rounds the run ends, and K is doubtful              |

"All" are the samples of the arms that have a group. With many arms a tenth of them is far too much for the few in
doubt, so that it is never more than eight times what these have.

Short runs see little. So where the last look has a small p, all arms that are looked at are drawn up to the next look.
How small: the more was drawn since the partition was settled, the smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from kabc.core.arrays import Counts, Index, Mask
from kabc.core.scores.maps import FeatureMap
from kabc.strategies.anytime import pace
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.doubts import LIMIT, NOTHING, Doubt
from kabc.strategies.anytime.shuffles import Shuffles
from kabc.strategies.anytime.teaching import Known

Verdict = Literal["passed", "open", "doubtful"]

BETS, LOOKS = 0.5, 0.5  # shares of the two kinds of evidence; they add up to 1 (17.3)
_IF_UNSURE = 0.10  # more samples, as a part of those that settled the partition
_IF_SUSPECTED = 0.25
_IF_DOUBTED = 0.15
_SUSPECTED = 4.0  # evidence
_ROUNDS = 3  # and at least so many rounds, if doubted
_CHANCE = 8  # and never more samples than so many times those of the arms in doubt
_PARTNERS = 2  # arms of the other part for each arm in doubt
_SMALL = 0.25  # p of a look at which all arms are drawn up to the next one, just after the partition was settled
_AT_MOST = 4.0  # samples over those at first
_LARGEST = 700.0  # exp of more is no number
MOST_ARMS = 4_000  # that are looked at: the first ones of the random order that the core is chosen by


class KCheck:
    """The doubts about K of one run."""

    def __init__(self, maps: Sequence[FeatureMap] | None, block: int = 1, *, paired: bool = False) -> None:
        self.doubted = False  # a group looks like two
        self._maps, self._block, self._paired = maps, block, paired
        self._arms: Index = np.zeros(0, dtype=np.intp)  # (C,), that the run started with
        self._some: Index | None = None  # arms that are looked at, where there are many; None: all
        self._seen: list[Batch] = []  # their samples
        self._doubt: Doubt | None = None
        self._labels: Index | None = None  # (N,), looked at last
        self._shuffles: Shuffles | None = None
        self._settled_at = 0  # samples of these arms when they were settled first
        self._held: int | None = None  # samples of the arms in doubt when there was a doubt first
        self._n_labelled = self._n_doubted = 0
        self._open = self._to_next_look = False

    @property
    def ratio(self) -> float | None:
        """Evidence that a group is two, to 1; None before the first look."""
        return None if self._doubt is None else math.exp(min(self._log_evidence, _LARGEST))

    @property
    def labels(self) -> Index | None:  # (N,)
        """The partition that was looked at last."""
        return self._labels

    @property
    def _log_evidence(self) -> float:
        assert self._doubt is not None
        if self._shuffles is None:  # matched samples cannot be shuffled (docs/theory.md, section 22)
            return self._doubt.log_evidence
        bets, looks = math.log(BETS) + self._doubt.log_evidence, LOOKS * self._shuffles.evidence
        return float(np.logaddexp(bets, math.log(looks))) if looks > 0 else bets

    def start(self, arms: Index, order: Index) -> None:  # (C,), (N,)
        """Before the first sample: the arms that are drawn first, and shuffled; and all arms in a random order."""
        self._arms = np.sort(arms)
        self._some = np.sort(order[:MOST_ARMS]) if len(order) > MOST_ARMS else None

    def look(
        self, labels: Index, counts: Counts, batches: Sequence[Batch], dry: Mask, kept: Mapping[int, Known] = NOTHING
    ) -> Verdict:  # (N,), -1: in no group yet; (N,), (N,)
        """Look once more, after a round that left this partition; `kept` is what learners knew after some rounds."""
        labels = self._labels = _in_order(labels)
        self._take(labels, batches, kept)
        n_labelled, n_samples = int(np.count_nonzero(labels >= 0)), int(counts[labels >= 0].sum())
        if n_labelled != self._n_labelled:
            self._n_labelled, self._settled_at, self._n_doubted, self._held = n_labelled, n_samples, 0, None
        self.doubted = self._log_evidence >= math.log(LIMIT)
        if self._held is None and self._log_evidence > 0:
            self._held = int(counts[self._in_doubt(counts, dry)[1]].sum())
        grown = n_samples / self._settled_at
        self._to_next_look = not self.doubted and self._differ_a_little(grown, dry)
        verdict = self._verdict(grown)
        self._open = verdict == "open"
        return verdict

    def _take(self, labels: Index, batches: Sequence[Batch], kept: Mapping[int, Known]) -> None:  # (N,)
        """Bring the evidence against this partition up to date."""
        groups = _in_order(labels[self._arms])
        some = labels if self._some is None else _in_order(labels[self._some])
        if self._doubt is None or (self._doubt.labels != some).any():
            self._doubt = Doubt(some, self._maps, self._block, paired=self._paired)
        if self._some is None:
            self._doubt.follow(batches, kept)
        else:
            self._doubt.follow(self._of_some(batches, len(labels)))
        if self._paired:
            return
        if self._shuffles is None or (self._shuffles.groups != groups).any():
            self._shuffles = Shuffles(self._arms, groups, self._maps, self._block)
        self._shuffles.follow(batches)

    def _of_some(self, batches: Sequence[Batch], n_arms: int) -> Sequence[Batch]:
        """The samples of the arms that are looked at, which have their places as numbers."""
        place: Index = np.full(n_arms, -1, dtype=np.intp)
        place[self._some] = np.arange(0 if self._some is None else len(self._some))
        self._seen += [batch.of_rows(place[batch.arms]) for batch in batches[len(self._seen) :]]
        return self._seen

    def _verdict(self, grown: float) -> Verdict:
        if self.doubted:
            self._n_doubted += 1
            return "doubtful" if grown >= self._enough(_IF_DOUBTED) and self._n_doubted > _ROUNDS else "open"
        enough = self._enough(_IF_SUSPECTED if self._log_evidence > math.log(_SUSPECTED) else _IF_UNSURE)
        return "open" if self._to_next_look or (self._log_evidence > 0 and grown < enough) else "passed"

    def _enough(self, more: float) -> float:
        """Samples over those that settled the partition, after which the arms in doubt have had their chance."""
        return 1 + min(more, _CHANCE * self._held / self._settled_at if self._held else more)

    def _differ_a_little(self, grown: float, dry: Mask) -> bool:  # (N,)
        """Whether it is worth to draw the arms up to the next look, and they can be drawn."""
        if self._shuffles is None or self._shuffles.next_look is None or not self._shuffles.p_values:
            return False
        if grown >= _AT_MOST or dry[self._shuffles.arms].any():
            return False
        return self._shuffles.p_values[-1] <= _SMALL / grown**2

    def request(self, counts: Counts, dry: Mask) -> dict[int, int]:  # (N,), (N,)
        """The arms in doubt and some of the rest of their group; empty if nothing is in doubt."""
        if self._doubt is None or not self._open:
            return {}
        if self._to_next_look:
            return self._up_to_next_look(counts)
        few, arms = self._in_doubt(counts, dry)
        return dict.fromkeys(arms.tolist(), pace.block(int(counts[few].min()))) if len(few) else {}

    def _in_doubt(self, counts: Counts, dry: Mask) -> tuple[Index, Index]:  # (N,), (N,) -> arms, arms
        """The smaller part of the group that looks most like two; and the same with some arms of the larger one."""
        assert self._doubt is not None
        parts = self._doubt.suspects() if self._some is None else (self._some[part] for part in self._doubt.suspects())
        few, many = (arms[~dry[arms]] for arms in parts)
        partners = many[np.argsort(counts[many], kind="stable")[: _PARTNERS * len(few)]]
        return few, np.union1d(few, partners)

    def _up_to_next_look(self, counts: Counts) -> dict[int, int]:  # (N,)
        assert self._shuffles is not None
        arms = self._shuffles.arms
        missing = (self._shuffles.next_look or 0) - counts[arms]
        return {int(arm): int(n) for arm, n in zip(arms, missing, strict=True) if n > 0}


def _in_order(labels: Index) -> Index:  # (N,) -> (N,)
    """The same groups, numbered in the order of their first arms."""
    inside = labels >= 0
    _, firsts, numbers = np.unique(labels[inside], return_index=True, return_inverse=True)
    ordered = np.full(len(labels), -1, dtype=np.intp)
    ordered[inside] = firsts.argsort().argsort()[numbers]
    return ordered
