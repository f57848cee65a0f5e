"""Bets of all experts on one round's samples: all pairs of arms at once, and all arms against whole groups.

| symbol | here      | meaning                                                                             |
|--------|-----------|-------------------------------------------------------------------------------------|
| u_g    | `scores`  | score of a sample for each group of the expert; u_g - u_h is the score of a pair    |
| b      | `base`    | matches of an arm in a round; an arm with b m samples gives m samples to each match |
| f      |           | log factors of kabc.core.evidence.betting, summed over the matched samples          |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence import betting

_AT_ONCE = 1 << 16  # scores; what is made of them stays in the cache of the processor


@dataclass(frozen=True)
class Block:
    """Scores of the samples of a round, arm after arm, by each scorer; an expert bets scores of a scorer at a scale.

    Experts are in the order of their scorers, each at one scale after the other; `caps` bound the bets at each scale.
    `paired`: matched samples share something. Then only bets on which of them is whose are made (docs/theory.md,
    section 22). Groups that a scorer does not have may have any score.
    """

    scores: Array  # (S, n, G)
    groups: Index  # (S, A) group of each sampled arm, as the scorer sees it; -1: none yet
    starts: Index  # (A + 1,) where the samples of each arm start
    base: int
    scales: tuple[float, ...] = (1.0,)
    caps: tuple[float, ...] = (np.inf,)
    paired: bool = False

    @property
    def n_experts(self) -> int:
        """E."""
        return len(self.scores) * len(self.scales)

    def pairs(self, partners: Index) -> Array:  # (P,) -> (A, P, E)
        """Log factors of all sampled arms with each partner."""
        return np.concatenate([some.pairs(partners) for some in self._experts()]).transpose(1, 2, 0)

    def joins(self, claimed: Index, n_groups: int) -> Array:  # (A,) -> (A, K, E)
        """Log factors of each arm against the sampled arms of each claimed group (one against many), except its own."""
        return np.concatenate([some.joins(claimed, n_groups) for some in self._experts()]).transpose(1, 2, 0)

    def of(self, some: Index) -> Block:  # (A',), places of arms
        """The same for some of the sampled arms."""
        lengths = np.diff(self.starts)[some]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.starts[some] - starts[:-1], lengths) + np.arange(starts[-1])
        return replace(self, scores=self.scores[:, rows], groups=self.groups[:, some], starts=starts)

    def _experts(self) -> Iterator[_Experts]:
        """All experts, some at a time."""
        n_scales = len(self.scales)
        step = max(1, _AT_ONCE // max(1, n_scales * self.scores[0].size))
        for start in range(0, len(self.scores), step):
            scores, groups = self.scores[start : start + step], self.groups[start : start + step]
            at_scales = scores[:, None] * np.array(self.scales)[:, None, None]
            yield _Experts(
                at_scales.reshape(-1, *scores.shape[1:]),
                np.repeat(groups, n_scales, axis=0),
                self.starts,
                self.base,
                np.tile(self.caps, len(scores)),
                self.paired,
            )


@dataclass(frozen=True)
class _Experts:
    """The same for some experts; the first axis is theirs."""

    scores: Array  # (E, n, G)
    groups: Index  # (E, A)
    starts: Index  # (A + 1,)
    base: int
    caps: Array  # (E,)
    paired: bool

    def pairs(self, partners: Index) -> Array:  # (P,) -> (E, A, P)
        """Log factors of all sampled arms with each partner."""
        groups, theirs = self.groups, self.groups[:, partners]
        bets = self._against(self._matched(), groups)  # (E, A, b, G)
        often = np.diff(self.starts) > self.base  # representatives
        if self.paired:
            out, by_match = np.zeros((*groups.shape, len(partners))), np.arange(len(partners))
        else:
            alone = betting.log_alone(bets).sum(axis=2)  # (E, A, G)
            out = _picked(alone, theirs) + _picked(alone[:, partners], groups).transpose(0, 2, 1)
            by_match = np.flatnonzero(often[partners])
        for column in by_match.tolist():
            out[:, :, column] = self._against_one(bets, int(partners[column]))
        if often.any():
            columns = np.flatnonzero(often[partners])
            out[:, np.flatnonzero(often)[:, None], columns] = 0.0  # two representatives are not matched
            # A pair has one evidence, so the row of a representative is a copy of its column.
            out[:, partners[columns]] = out[:, partners[:, None], columns].transpose(0, 2, 1)
        out[groups < 0] = 0.0
        out.transpose(0, 2, 1)[theirs < 0] = 0.0
        return np.asarray(out)

    def _against_one(self, bets: Array, partner: int) -> Array:  # (E, A, b, G) -> (E, A)
        """One sample of each arm against the samples of a partner that it is matched with."""
        start, theirs = self.starts[partner], self.groups[:, partner]
        many = (self.starts[partner + 1] - start) // self.base
        answers = self.scores[:, start : start + self.base * many].reshape(len(theirs), self.base, many, -1)
        against = self._capped(answers - _column(answers, theirs)[..., None])  # (E, b, m, G)
        others = betting.pooled(against, axis=2).at(np.arange(len(theirs))[:, None], slice(None), self.groups)
        return np.asarray(betting.log_one_vs_pooled(_column(bets, theirs), others).sum(axis=2))

    def joins(self, claimed: Index, n_groups: int) -> Array:  # (A,) -> (E, A, K)
        """Log factors of each arm against the sampled arms of each claimed group."""
        places = self._columns(claimed, n_groups)  # (E, K)
        own = np.take_along_axis(self._matched(), places[:, None, None, :], axis=3)  # (E, A, b, K)
        bets = self._against(own, np.broadcast_to(claimed, self.groups.shape))
        out = np.zeros((len(bets), len(claimed), n_groups))
        order = np.argsort(claimed, kind="stable")[np.count_nonzero(claimed < 0) :]  # group after group
        groups, starts = np.unique(claimed[order], return_index=True)
        if len(groups):
            members = betting.pooled_parts(-bets[:, order], starts, axis=1)  # u_own - u_group at samples of the group
            others = members.at(slice(None), slice(None), slice(None), claimed)  # (E, P, b, A)
            mine = bets.transpose(0, 3, 2, 1)[:, groups]
            out[:, :, groups] = betting.log_one_vs_pooled(mine, others).sum(axis=2).transpose(0, 2, 1)
        out[:, np.arange(len(claimed)), claimed] = 0.0
        return out

    def _matched(self) -> Array:  # (E, A, b, G)
        n_arms = len(self.starts) - 1
        if self.scores.shape[1] == n_arms * self.base:
            return self.scores.reshape(len(self.scores), n_arms, self.base, -1)
        return np.asarray(self.scores[:, self.starts[:-1, None] + np.arange(self.base)])

    def _against(self, own: Array, groups: Index) -> Array:  # (E, A, b, G), (E, A) -> (E, A, b, G)
        """How much a sample favours the group of its arm over each other group."""
        return self._capped(np.take_along_axis(own, groups[:, :, None, None], axis=3) - own)

    def _capped(self, bets: Array) -> Array:  # (E, ...) -> (E, ...)
        caps = self.caps.reshape(-1, *[1] * (bets.ndim - 1))
        return np.asarray(np.minimum(np.maximum(bets, -caps), caps))

    def _columns(self, claimed: Index, n_groups: int) -> Index:  # (A,) -> (E, K)
        """For each claimed group, the expert's group of most of its sampled arms. Any group if none was sampled."""
        votes = np.arange(n_groups)[:, None] == claimed  # (K, A)
        seen = self.groups[:, :, None] == np.arange(self.scores.shape[2])  # (E, A, G)
        return np.asarray((votes.astype(np.float64) @ seen.astype(np.float64)).argmax(axis=2))


def _picked(values: Array, groups: Index) -> Array:  # (E, A, G), (E, P) -> (E, A, P)
    """The columns of these groups."""
    return np.take_along_axis(values, groups[:, None, :], axis=2)


def _column(values: Array, groups: Index) -> Array:  # (E, x, y, G), (E,) -> (E, x, y)
    """The scores for one group of each expert."""
    return np.take_along_axis(values, groups[:, None, None, None], axis=3)[..., 0]
