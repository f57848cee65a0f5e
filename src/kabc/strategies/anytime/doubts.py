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
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence import betting
from kabc.core.scores.discriminant import RIDGES, Moments
from kabc.core.scores.maps import FeatureMap, all_features
from kabc.core.scores.paired import centred
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.splits import KINDS, Splits, guessed
from kabc.strategies.anytime.teaching import Known, fitted_maps, is_fit_due, is_kept, moments_of, teach

LIMIT = 20.0  # evidence: a right K is ever doubted with probability at most 1/20 (Proposition 17.3)
_SCALES = (0.1, 0.3, 1.0)  # of a score: guesses from few samples in many dimensions are too sure
_FADING = 0.2  # of what an expert has won before, when guesses are made anew
_SHARE = 0.05  # part of the experts' weights that is dealt out evenly at each guess
NOTHING: Mapping[int, Known] = MappingProxyType({})


class Doubt:
    """The evidence that a group of one fixed partition is two, brought up to date batch by batch.

    Guesses rest on what the learners of the run knew at the time (`Learning.kept`). Where that is not kept, it is made
    again from the samples, and is the same.
    """

    # not part of a frozen state: it can be made again from the samples
    left_out = ("_kept", "_own", "_n_taught", "_n_fit")
    _kept: Mapping[int, Known] = NOTHING  # by the number of rounds
    _own: tuple[Moments, ...] = ()  # learners that know the first rounds, where nothing is kept
    _n_taught = _n_fit = 0  # how many rounds, and with how many of them maps were fitted

    def __init__(
        self, labels: Index, maps: Sequence[FeatureMap] | None, block: int = 1, *, paired: bool = False
    ) -> None:  # (N,), -1: in no group
        self.labels = labels
        self._maps, self._block, self._paired = maps, block, paired
        self._fitted: tuple[FeatureMap, ...] = ()  # maps at the guess
        self._splits: list[Splits] = []  # for each learner
        self._seen: list[Batch] = []
        self._n_seen = self._n_guessed = 0
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

    def follow(self, batches: Sequence[Batch], kept: Mapping[int, Known] = NOTHING) -> None:
        """Take in all batches of the run that are new; `kept` is what learners knew after some of its rounds."""
        self._kept = kept
        for some in self._up_to_guesses(batches[len(self._seen) :]):
            self._guess_if_due()
            if self._splits:  # bet before it is learnt from
                features = all_features(self._fitted, np.concatenate([batch.samples for batch in some]))
                self._since = self._since + self._log_factors(some, features)  # (17.1)
            self._seen += some
            self._n_seen += sum(len(batch.samples) for batch in some)

    def _up_to_guesses(self, batches: Sequence[Batch]) -> Iterator[list[Batch]]:
        """The rounds between two guesses, which are bet on together."""
        some: list[Batch] = []
        n_seen = self._n_seen
        for batch in batches:
            some.append(batch)
            n_seen += len(batch.samples)
            if self._is_guess_due(n_seen):
                yield some
                some = []
        if some:
            yield some

    def _is_guess_due(self, n_seen: int) -> bool:
        return is_kept(n_seen, self._n_guessed)

    def suspects(self) -> tuple[Index, Index]:
        """The two parts that the best expert sees in the group that looks most like two; the smaller one first."""
        self._guess_if_due()
        if not self._splits:
            return self.labels[:0], self.labels[:0]
        best = int((self._gains + self._since)[:-1].argmax())
        learner, way = best // self._n_bets, best % self._n_ways
        splits = self._splits[learner]
        group = int(splits.strength[way].argmax())
        sides = np.where(self.labels == group, splits.sides[way], 0)
        parts = np.flatnonzero(sides > 0), np.flatnonzero(sides < 0)
        return parts if len(parts[0]) <= len(parts[1]) else parts[::-1]

    def _log_factors(self, batches: Sequence[Batch], features: Sequence[Array]) -> Array:  # (n, D) each -> (E,)
        """What these rounds multiply the wealth of each expert by."""
        owners = np.concatenate([batch.owners for batch in batches])
        rounds = np.repeat(np.arange(len(batches)), [len(batch.samples) for batch in batches])
        groups = self.labels[owners]
        if (groups < 0).any():
            inside = groups >= 0
            owners, rounds, groups = owners[inside], rounds[inside], groups[inside]
            features = [values[inside] for values in features]
        each = zip(self._splits, features, strict=True)
        scores = np.concatenate(
            [splits.scores(values, groups) for splits, values in each], axis=1
        )  # (n, learners ways)
        sides = np.concatenate([splits.sides for splits in self._splits])[:, owners].T
        scaled = scores * np.array(_SCALES)[:, None, None]
        if not self._paired:  # the parts of a group in each round
            total = log_factor(scaled, sides, rounds * (int(self.labels.max()) + 1) + groups, self._cap)
        else:
            total = np.zeros((len(_SCALES), scores.shape[1]))
            for number, batch in enumerate(batches):
                at = rounds == number
                given = sides[at], groups[at], self._cap, batch.base
                total += [paired_log_factor(one[at], *given) for one in scaled]
        by_learner = total.reshape(len(_SCALES), len(self._splits), -1).swapaxes(0, 1)
        return np.append(by_learner, 0.0)

    @property
    def _n_ways(self) -> int:
        """Splits of each group that a learner sees."""
        return len(RIDGES) * KINDS

    @property
    def _n_bets(self) -> int:
        """Experts of a learner: each split at each scale."""
        return self._n_ways * len(_SCALES)

    @property
    def _cap(self) -> float:
        """The largest score that is believed. One sample must not ruin an expert."""
        return math.log1p(self._n_guessed)

    def _guess_if_due(self) -> None:
        """Guess, once there is something to bet on: the last guess of a run would be in vain."""
        if self._n_seen and self._is_guess_due(self._n_seen) and (self.labels >= 0).any():
            self._guess()

    def _guess(self) -> None:
        """Guess from all samples so far how groups could be split."""
        self._before = self.log_evidence
        self._gains = _FADING * self._gains + self._since
        known = self._kept.get(len(self._seen)) or self._learnt()
        self._fitted, self._splits = known.maps, guessed(known.spaces, known.counts, self.labels)
        self._n_guessed = self._n_seen
        n_experts = len(self._splits) * self._n_bets + 1  # the last one never bets
        self._since = np.zeros(n_experts)
        if len(self._gains) != n_experts:
            self._gains = np.zeros(n_experts)

    def _learnt(self) -> Known:
        """What learners of a run know after the rounds so far: taught as `Learning` teaches its own."""
        n_fit = _last_fit(self._seen)
        if n_fit != self._n_fit:
            past = np.concatenate([batch.samples for batch in self._seen[:n_fit]])
            maps = fitted_maps(past, self._maps, self._block)
            self._own = tuple(moments_of(one, len(self.labels), self._paired) for one in maps)
            teach(self._own, self._seen[:n_fit])
            self._n_taught = self._n_fit = n_fit
        for batch in self._seen[self._n_taught :]:
            teach(self._own, [batch])
        self._n_taught = len(self._seen)
        return Known.of(self._own)


def _last_fit(batches: Sequence[Batch]) -> int:
    """After how many of these rounds maps were fitted last."""
    found = n_samples = n_fitted = 0
    for number, batch in enumerate(batches, 1):
        n_samples += len(batch.samples)
        if is_fit_due(n_samples, n_fitted):
            found, n_fitted = number, n_samples
    return found


def log_factor(scores: Array, sides: Index, groups: Index, cap: float) -> Array:  # (.., n, T), (n, T), (n,) -> (.., T)
    """Log of (17.1) for each kind of split, all groups together."""
    scores = np.clip(scores, -cap, cap)
    in_a, in_any = sides > 0, sides != 0
    member = (np.arange(int(groups.max(initial=0)) + 1)[:, None] == groups).astype(np.float64)  # (G, n)
    a, both = member @ in_a, member @ in_any  # (G, T)
    share = (a / np.maximum(both, 1))[groups]  # (n, T), w
    mixed = np.log(share * np.exp(scores) + (1 - share))  # scores are capped
    return np.asarray(np.where(in_any, np.where(in_a, scores, 0.0) - mixed, 0.0).sum(axis=-2))


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
