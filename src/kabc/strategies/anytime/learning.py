"""What the experts know: all samples so far, the learners that were taught with them, and the scores they fix.

| symbol | here       | meaning                                                                                 |
|--------|------------|-----------------------------------------------------------------------------------------|
| u_g    | `scorers`  | scores of a sample for each group, fixed before the round that they are applied to      |
| e      | expert     | a scorer at one of the `SCALES`: expert e uses scorer e // len(SCALES)                  |

A scorer is a discriminant: a feature map with a ridge. Each map has len(RIDGES) scorers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Array, Counts, Index
from kabc.core.errors import SettingsError
from kabc.core.evidence.blocks import Block
from kabc.core.scores.discriminant import RIDGES, Moments, Scorer, groups_of, products_of, scorers_of
from kabc.core.scores.grouping import likeliest, likeliest_in_all
from kabc.core.scores.maps import FeatureMap
from kabc.core.scores.paired import centred, in_matches
from kabc.strategies.anytime import teaching
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.far import FarArms
from kabc.strategies.anytime.outside import Scoring
from kabc.strategies.anytime.teaching import (
    Known,
    fitted_maps,
    is_fit_due,
    is_kept,
    is_learnt,
    moments_of,
    seen_by,
    teach,
)

_MANY = 2_000  # arms; of more, those outside the core are not remembered one by one
_IN_PART = 1 << 11  # samples of arms outside the core that are bet together: what is made of them is much larger
_OVER_CORE = 4  # and at least so many for each sample of the core, which all parts have
_MOST_KEPT = 200  # arms; of more, it would take too much memory
_SHARPER = 2.0  # how much more those experts count for a guess that have won more
_LEAST_TRUST = 0.01  # of that in the best one: others are not asked
SCALES = (0.5, 1.0)  # a score is bet at half strength with a ceiling, and at full strength without one


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """A batch as the learners see it, computed before anything is changed.

    Features of many samples would take too much memory. They are then made again where they are used, part by part.
    """

    batch: Batch
    features: tuple[Array, ...]  # (n, D) for each learner; empty where there are too many samples
    refitted: tuple[Moments, ...]  # learners with new maps that know this batch already; empty if it is too early


class Learning:
    """Samples, learners and scorers. Only `absorb` and `rescore` change it.

    `paired`: the k-th samples of all arms of a round share something, and every arm of a round has as many.
    `keeps`: what the learners knew is kept from time to time, for doubts about K (`doubts.py`). It is not part of a
    frozen state: it can be made again from the samples.
    """

    left_out = ("_kept",)  # of frozen states

    def __init__(
        self,
        n_arms: int,
        maps: Sequence[FeatureMap] | None,
        block: int = 1,
        *,
        paired: bool = False,
        keeps: bool = False,
    ) -> None:
        self.counts: Counts = np.zeros(n_arms, dtype=np.int64)  # samples (blocks, if they are blocks) of each arm
        self.paired = paired
        self._block = block
        self.learners: tuple[Moments, ...] = ()
        self.scorers: tuple[Scorer, ...] = ()
        if maps is not None and not (isinstance(maps, Sequence) and all(isinstance(one, FeatureMap) for one in maps)):
            raise SettingsError(
                f"maps must be a list of feature maps, which are Python objects, got {maps!r}; leave it out"
            )
        self._maps = None if maps is None else tuple(maps)
        self._batches: list[Batch] = []
        self._n_fitted = 0  # samples at the last fit of the maps
        self._n_learnt = 0  # samples when scores were made last; 0: the maps have changed since
        self._asked: tuple[Index, Index, int] | None = None  # the core and groups that they were made for
        self._best = 0  # the scorer that is trusted most
        self._grouped: tuple[list[int], int, Index] | None = None  # what `_all_groups` found between two rounds
        self._is_open = True  # whether the last scores had to find their groups by themselves
        self._far: FarArms | None = None  # with many arms: who is outside the core
        self._keeps, self._n_kept = keeps and n_arms <= _MOST_KEPT, 0
        self._kept: dict[int, Known] = {}

    def begin(self, core: Index, n_groups: int | None) -> None:  # (C,)
        """These arms are compared with each other from now on; there are `n_groups` groups, if that is known.

        With many arms the learners know those of the core by themselves. The others are known by their groups.
        """
        if n_groups is None or self.paired or len(self.counts) <= _MANY:
            return
        before, self._grouped, self._far = self._far, None, FarArms(len(self.counts), core, n_groups)
        if before is not None:
            self.scorers = tuple(replace(one, labels=self._far.carried(one.labels, before)) for one in self.scorers)
        maps = [learner.map for learner in self.learners]
        self.learners = tuple(moments_of(one, self._n_rows, self.paired) for one in maps)
        if maps:
            teach(self.learners, self._known(self._batches))

    @property
    def _n_rows(self) -> int:
        """Arms, and groups of arms, that the learners know."""
        return len(self.counts) if self._far is None else self._far.n_rows

    def _known(self, batches: Sequence[Batch]) -> list[Batch]:
        """The samples that learners know, with their rows for arms."""
        return list(batches) if self._far is None else [self._far.known(batch) for batch in batches]

    @property
    def n_samples(self) -> int:
        """All samples so far."""
        return int(self.counts.sum())

    @property
    def n_experts(self) -> int:
        """The number of scorers at all scales."""
        return len(self.scorers) * len(SCALES)

    @property
    def columns(self) -> int | None:
        """The number of columns of a sample, or of a row of a block; None before the first."""
        return self._batches[0].samples.shape[1] // self._block if self._batches else None

    @property
    def batches(self) -> Sequence[Batch]:
        """All rounds so far."""
        return self._batches

    @property
    def kept(self) -> dict[int, Known]:
        """What the learners knew after this many rounds, at some times; another state may have less of it."""
        if not hasattr(self, "_kept"):  # it was frozen
            self._kept = {}
        return self._kept

    @property
    def is_due(self) -> bool:
        """Whether it is time to guess and to score anew. It depends on the numbers of samples alone."""
        return is_learnt(self.n_samples, self._n_learnt) or self._is_kept

    @property
    def _is_kept(self) -> bool:
        return self._keeps and self._far is None and is_kept(self.n_samples, self._n_kept)

    def _keep(self) -> None:
        if self._is_kept:
            self._n_kept = self.n_samples
            self.kept[len(self._batches)] = Known.of(self.learners)

    def samples(self, *later: Batch) -> tuple[Array, Index]:  # -> (n, d), (n,)
        """All samples in the order they were told, with their arms; then those of later batches."""
        batches = [*self._batches, *later]
        return np.concatenate([b.samples for b in batches]), np.concatenate([b.owners for b in batches])

    def read(self, batch: Batch, *, whole: bool = True) -> Lesson:
        """What a batch would teach. Changes nothing; fails if a feature map does.

        Unless it is to be `whole`, the features of many samples are left out. Maps of your own may fail, and matched
        samples are scored together: they see all of it at once.
        """
        many = teaching.AT_ONCE if self._far is None else _IN_PART  # with far arms, features are used once
        whole = whole or len(batch.samples) <= many or self._maps is not None or self.paired
        return Lesson(batch, seen_by(self.learners, batch.samples) if whole else (), self._refitted(batch))

    def parts(self, lesson: Lesson, core: Index) -> tuple[Lesson, Iterator[Batch]]:  # (C,)
        """A lesson in parts that fit into memory: some of the other arms each, and all arms of the core.

        The first one is a lesson again; the others come without features.
        """
        if lesson.features:
            return lesson, iter(())
        inside = np.isin(lesson.batch.arms, core)
        others, kept = np.flatnonzero(~inside), np.flatnonzero(inside)
        n_samples = max(_IN_PART, _OVER_CORE * int(lesson.batch.counts[kept].sum()))
        step = max(1, n_samples // lesson.batch.base)
        places = (
            np.sort(np.concatenate([kept, others[start : start + step]]))
            for start in range(0, max(1, len(others)), step)
        )
        batches = (lesson.batch.part(some) for some in places)
        first = next(batches)
        return Lesson(first, seen_by(self.learners, first.samples), ()), batches

    def _refitted(self, batch: Batch) -> tuple[Moments, ...]:
        """Learners with maps fitted anew, if that is due."""
        if not is_fit_due(self.n_samples + len(batch.samples), self._n_fitted):
            return ()
        past, _ = self.samples(batch)
        maps = fitted_maps(past, self._maps, self._block)
        before = self.learners or [None] * len(maps)
        learners = tuple(
            moments_of(one, self._n_rows, self.paired, other) for one, other in zip(maps, before, strict=True)
        )
        teach(learners, self._known([*self._batches, batch]))
        return learners

    def scoring(self, n_groups: int) -> Scoring:
        """How the next round is scored; all of it was fixed before the round."""
        # Samples of one value have no variance. Scores are then huge, and one other value would ruin every expert.
        ceiling = math.log1p(self.n_samples / n_groups)
        caps = tuple(math.inf if scale == 1 else ceiling for scale in SCALES)
        return Scoring(tuple(learner.map for learner in self.learners), self.scorers, SCALES, caps, self._best)

    def block(self, lesson: Lesson, scoring: Scoring) -> Block:
        """The round as the experts see it."""
        batch, scores = lesson.batch, scoring.scores(lesson.features)
        if self._far is not None:
            self.note(batch, scoring.fits(scores, batch))
        if self.paired:
            scores = np.stack([self._of_matches(one, batch) for one in scores])
        return scoring.block(scores, self.groups(batch.arms), batch, paired=self.paired)

    def note(self, batch: Batch, fits: Array) -> None:  # (A, G)
        """How well the arms of a batch fit into each group. It counts from the next round on."""
        if self._far is not None:
            self._far.note(batch.arms, fits)

    def groups(self, arms: Index) -> Index:  # (A,) -> (S, A)
        """The groups of these arms as each scorer sees them."""
        return np.stack([self._groups(scorer, arms) for scorer in self.scorers])

    def _groups(self, scorer: Scorer, arms: Index) -> Index:  # (A,) -> (A,)
        """The groups of these arms as a scorer sees them."""
        return scorer.labels[arms] if self._far is None else self._far.groups(scorer.labels, arms)

    def _of_matches(self, scores: Array, batch: Batch) -> Array:  # (n, G) -> (n, G)
        return centred(in_matches(scores, batch.owners)[0]).reshape(scores.shape)

    def absorb(self, lesson: Lesson) -> None:
        """Keep the samples of a batch and learn from them."""
        batch, self._grouped = lesson.batch, None
        self.counts[batch.arms] += batch.counts
        self._batches.append(batch)
        if self._far is not None:
            self._far.add()
        if lesson.refitted:
            self.learners = lesson.refitted
            self._n_fitted, self._n_learnt = self.n_samples, 0
        elif self._far is not None or not lesson.features:
            teach(self.learners, self._known([batch]))
        else:
            teach(self.learners, [batch], lesson.features)

    def rescore(self, core: Index, known: Index, n_groups: int, expert: int = 0) -> None:  # (C,), (N,)
        """Fix the scores of the next round; `known` are groups that are taken for granted, -1 where there is none.

        Those of the last round stay until it is time for others, unless something else is known by now. With many arms,
        those outside the core look to all like they do to this expert.
        """
        if not self.is_due and self._is_asked_again(core, known, n_groups):
            return
        self._asked, self._n_learnt = (core, known.copy(), n_groups), self.n_samples
        self._best = expert // len(SCALES)
        if self._far is not None:
            self._learn_groups(known)
            core, known = self._far.rows(core), self._far.of_rows(known)
        self._is_open = bool((known < 0).all())
        groups = self._all_groups(core, n_groups) if self._is_open else None
        self.scorers = tuple(scorers_of(self.learners, core, known, n_groups, groups))
        self._grouped = None
        self._keep()

    def _is_asked_again(self, core: Index, known: Index, n_groups: int) -> bool:  # (C,), (N,)
        """Whether the last scores were made for the same."""
        if self._asked is None or self._asked[2] != n_groups:
            return False
        return np.array_equal(core, self._asked[0]) and np.array_equal(known, self._asked[1])

    def _learn_groups(self, known: Index) -> None:  # (N,)
        """From now on arms whose group has become clear are known by it."""
        assert self._far is not None
        new = self._far.join(known, self.counts)
        if len(new):
            places = [np.flatnonzero(np.isin(batch.arms, new)) for batch in self._batches]
            parts = [batch.part(some) for batch, some in zip(self._batches, places, strict=True) if len(some)]
            teach(self.learners, self._known(parts))

    def hear_looks(self) -> None:
        """What arms outside look like by samples that were drawn before the groups were known, at a look."""
        if self._far is None:
            return
        new = np.isin(np.arange(len(self.counts)), self._far.unheard(self.counts))
        learner, scorer = self.learners[self.trusted_map], self.scorers[self._best]
        for batch in self._batches if new.any() else ():
            places, step = np.flatnonzero(new[batch.arms]), max(1, teaching.AT_ONCE // int(batch.counts.max()))
            for start in range(0, len(places), step):
                part = batch.part(places[start : start + step])
                self._far.note(part.arms, part.sums(scorer.scores(*seen_by([learner], part.samples))))
        self._far.add()

    @property
    def trusted_map(self) -> int:
        """The number of the map that is trusted most."""
        return self._best // len(RIDGES)

    def of_learners(self, labels: Index) -> Index:  # (N,) -> (rows,)
        """The groups of the arms that the learners know, in their order."""
        return labels if self._far is None else self._far.of_rows(labels)

    def groups_seen(self, expert: int) -> Index:  # (N,)
        """The groups that the scores of an expert rest on."""
        return self._groups(self.scorers[expert // len(SCALES)], np.arange(len(self.counts)))

    def guess(self, gains: Array, core: Index, n_groups: int) -> tuple[Index, float] | None:  # (E,), (C,) -> (N,)
        """The groups of the core as the experts see them now, -1 outside, and the odds against; None: fewer than K.

        `gains` are what the experts have won. Those that have won most are listened to most.
        """
        won = gains.reshape(-1, len(SCALES)).max(axis=1)
        trust = np.exp(_SHARPER * (won - won.max()))
        best, some = int(won.argmax()), np.flatnonzero(trust > _LEAST_TRUST)
        rows = core if self._far is None else self._far.rows(core)
        if self._is_open:  # the next scores are likely to need the groups of all scorers
            starts = self._all_groups(rows, n_groups)[:, rows]
        else:
            own = likeliest(products_of(self.learners, rows, [best]), self.learners[0].counts[rows], n_groups)
            starts = np.concatenate([own, self.scorers[best].labels[None, rows]])
        starts, trust = starts[(starts >= 0).all(axis=1)], trust[some] / trust[some].sum()
        if not len(starts):  # some arms have no samples yet
            return None
        products = products_of(self.learners, rows, some.tolist())
        found, odds = likeliest_in_all(products, trust, self.learners[0].counts[rows], starts, n_groups)
        labels = np.full(len(self.counts), -1, dtype=np.intp)
        labels[core] = found
        return None if len(np.unique(found)) < n_groups else (labels, odds)

    def _all_groups(self, rows: Index, n_groups: int) -> Index:  # (C,) -> (S, rows)
        """The groups of some rows as all scorers see them now."""
        asked = rows.tolist()
        if self._grouped is None or self._grouped[:2] != (asked, n_groups):
            nothing = np.full(self._n_rows, -1, dtype=np.intp)
            self._grouped = asked, n_groups, groups_of(self.learners, rows, nothing, n_groups)
        return self._grouped[2]
