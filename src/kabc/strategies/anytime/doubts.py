"""Doubts about K: does a group of the partition hold arms of two distributions?

| symbol | here          | meaning                                                                                |
|--------|---------------|----------------------------------------------------------------------------------------|
| D      | `labels`      | the partition in doubt                                                                 |
| X_D(t) | `log_evidence`| evidence after round t that some group of D is two                                     |
| a, b   |               | samples of a round from part A and part B of a split group                             |
| w      |               | a / (a + b)                                                                            |
| W_e    | `_gains`      | what each expert has won: a kind of split, a scorer, and a scale                       |

All rounds are replayed with the groups of D taken for granted. Before a round, each group is split in some way that
earlier samples suggest. In the round, a and b samples of the parts multiply the evidence by

    prod_A r(x) / (w r(x) + 1 - w)  *  prod_B 1 / (w r(y) + 1 - w),    r = exp(l).                              (17.1)

If all arms of each group of D are the same, X_D is a supermartingale that starts at 1 (docs/theory.md, section 17).
Half of the evidence about K is X_D. The other half comes from shuffling samples (`shuffles.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence import betting
from kabc.core.scores.discriminant import RIDGES, Moments
from kabc.core.scores.maps import FeatureMap
from kabc.core.scores.paired import centred
from kabc.strategies.anytime.learning import Batch, fitted_maps, moments_of, teach
from kabc.strategies.anytime.splits import KINDS, Splits, guessed

LIMIT = 20.0  # evidence: a right K is ever doubted with probability at most 1/20 (Proposition 17.3)
_GROWTH = 1.4  # samples at a guess over those at the guess before
_SCALES = (0.1, 0.3, 1.0)  # of a score: guesses from few samples in many dimensions are too sure
_FADING = 0.2  # of what an expert has won before, when guesses are made anew
_SHARE = 0.05  # part of the experts' weights that is dealt out evenly at each guess


class Doubt:
    """The evidence that a group of one fixed partition is two, brought up to date batch by batch."""

    def __init__(
        self, labels: Index, maps: Sequence[FeatureMap] | None, block: int = 1, *, paired: bool = False
    ) -> None:  # (N,), -1: in no group
        self.labels = labels
        self._maps, self._block, self._paired = maps, block, paired
        self._learners: tuple[Moments, ...] = ()
        self._splits: list[Splits] = []  # for each learner and ridge
        self._seen: list[Batch] = []
        self._n_seen = self._n_fitted = self._n_guessed = 0
        self._learnt = 0  # batches that the guess knows
        self._gains: Array = np.zeros(0)  # (E,), before the guess
        self._since: Array = np.zeros(0)  # (E,), since the guess
        self._before = 0.0  # log evidence before the guess

    @property
    def log_evidence(self) -> float:
        """log X_D now."""
        if not len(self._since):
            return 0.0
        won = float(betting.mixture(self._since, betting.fixed_share(self._gains, _SHARE)))
        return self._before + won

    def follow(self, batches: Sequence[Batch]) -> None:
        """Take in all batches of the run that are new."""
        for batch in batches[len(self._seen) :]:
            if self._splits:
                self._since = self._since + self._log_factors(batch)  # (17.1), bet before it is learnt from
            self._seen.append(batch)
            self._n_seen += len(batch.samples)
            if self._n_seen >= _GROWTH * self._n_guessed:
                self._guess()

    def suspects(self) -> tuple[Index, Index]:
        """The two parts that the best expert sees in the group that looks most like two; the smaller one first."""
        if not self._splits:
            return self.labels[:0], self.labels[:0]
        scorer, kind = divmod(int((self._gains + self._since)[:-1].argmax()), KINDS)
        splits = self._splits[scorer // len(_SCALES)]
        group = int(splits.strength[kind].argmax())
        sides = np.where(self.labels == group, splits.sides[kind], 0)
        parts = np.flatnonzero(sides > 0), np.flatnonzero(sides < 0)
        return parts if len(parts[0]) <= len(parts[1]) else parts[::-1]

    def _log_factors(self, batch: Batch) -> Array:  # -> (E,)
        """What this round multiplies the wealth of each expert by."""
        owners = batch.owners
        groups = self.labels[owners]
        inside = groups >= 0
        factor = partial(paired_log_factor, n_matches=batch.base) if self._paired else log_factor
        found = []
        for number, learner in enumerate(self._learners):
            features = learner.map(batch.samples[inside])
            for splits in self._splits[number * len(RIDGES) : (number + 1) * len(RIDGES)]:
                scores, sides = splits.scores(features, groups[inside]), splits.sides[:, owners[inside]].T
                found += [factor(scale * scores, sides, groups[inside], self._cap) for scale in _SCALES]
        return np.concatenate([*found, [0.0]])

    @property
    def _cap(self) -> float:
        """The largest score that is believed. One sample must not ruin an expert."""
        return math.log1p(self._n_guessed)

    def _guess(self) -> None:
        """Learn from all samples so far, and guess how groups could be split."""
        self._before = self.log_evidence
        self._gains = _FADING * self._gains + self._since
        self._learn()
        self._splits = [splits for learner in self._learners for splits in guessed(learner, self.labels)]
        self._n_guessed = self._n_seen
        n_experts = len(self._splits) * KINDS * len(_SCALES) + 1  # the last one never bets
        self._since = np.zeros(n_experts)
        if len(self._gains) != n_experts:
            self._gains = np.zeros(n_experts)

    def _learn(self) -> None:
        if self._n_seen >= 2 * self._n_fitted:
            past = np.concatenate([batch.samples for batch in self._seen])
            maps = fitted_maps(past, self._maps, self._block)
            self._learners = tuple(moments_of(one, len(self.labels), self._paired) for one in maps)
            self._n_fitted, self._learnt = self._n_seen, 0
        for learner in self._learners:
            teach(learner, self._seen[self._learnt :])
        self._learnt = len(self._seen)


def log_factor(scores: Array, sides: Index, groups: Index, cap: float) -> Array:  # (n, T), (n, T), (n,) -> (T,)
    """Log of (17.1) for each kind of split, all groups together."""
    scores = np.clip(scores, -cap, cap)
    in_a, in_b = sides > 0, sides < 0
    member = groups[:, None] == np.arange(int(groups.max(initial=0)) + 1)  # (n, G)
    a, b = member.T.astype(float) @ in_a, member.T.astype(float) @ in_b  # (G, T)
    share = (a / np.maximum(a + b, 1))[groups]  # (n, T), w
    with np.errstate(divide="ignore"):  # log 0 = -inf where a part has no samples: its factor is 1
        mixed = np.logaddexp(np.log(share) + scores, np.log1p(-share))
    return np.asarray(np.where(in_a, scores - mixed, np.where(in_b, -mixed, 0.0)).sum(axis=0))


def paired_log_factor(
    scores: Array, sides: Index, groups: Index, cap: float, n_matches: int
) -> Array:  # (n, T), (n, T), (n,) -> (T,)
    """The same for matched samples (22.2): in each match, one sample of the smaller part against some of the larger."""
    found = np.zeros(scores.shape[1])
    for group in range(int(groups.max(initial=-1)) + 1):
        inside = groups == group
        if not inside.any():
            continue
        by_arm = centred(scores[inside].reshape(-1, n_matches, scores.shape[1]))  # (A, b, T)
        its_sides = sides[inside][::n_matches]  # (A, T)
        for kind in range(scores.shape[1]):
            part = by_arm[its_sides[:, kind] > 0, :, kind], -by_arm[its_sides[:, kind] < 0, :, kind]  # (a, b), (c, b)
            few, many = part if len(part[0]) <= len(part[1]) else part[::-1]
            if len(few):
                each = len(many) // len(few)
                others = -many[: each * len(few)].reshape(len(few), each, n_matches)
                bets = betting.log_one_vs_many(np.clip(few, -cap, cap), np.clip(np.moveaxis(others, 1, 2), -cap, cap))
                found[kind] += float(bets.sum())
    return found
