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

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence import betting

_AT_ONCE = 1 << 13  # scores; what is made of them stays in the cache of the processor


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

    def pairs(self, partners: Index, arms: Index | None = None) -> Array:  # (P,) -> (A, P, E)
        """Log factors of all sampled arms with each partner; or of `arms` and `partners` of any shapes that fit."""
        arms = np.arange(len(self.starts) - 1)[:, None] if arms is None else arms
        return _together([some.pairs(arms, partners) for some in self._experts()])

    def joins(self, claimed: Index, n_groups: int) -> Array:  # (A,) -> (A, K, E)
        """Log factors of each arm against the sampled arms of each claimed group (one against many), except its own."""
        return _together([some.joins(claimed, n_groups) for some in self._experts()])

    def of(self, some: Index) -> Block:  # (A',), places of arms
        """The same for some of the sampled arms."""
        lengths = np.diff(self.starts)[some]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.starts[some] - starts[:-1], lengths) + np.arange(starts[-1])
        return replace(self, scores=self.scores[:, rows], groups=self.groups[:, some], starts=starts)

    def _experts(self) -> Iterator[_Experts]:
        """All experts, some at a time."""
        step = max(1, _AT_ONCE // max(1, len(self.scales) * self.scores[0].size))
        for start in range(0, len(self.scores), step):
            some = slice(start, start + step)
            yield _Experts(self, self.scores[some], self.groups[some].T)


@dataclass(frozen=True, slots=True, eq=False)
class _Experts:
    """Some scorers at all scales. The last axis of what is made of their scores is theirs, S or E long."""

    block: Block
    scores: Array  # (S, n, G)
    groups: Index  # (A, S)

    def pairs(self, arms: Index, partners: Index) -> Array:  # (...), (...) -> (..., E)
        """Log factors of arms with partners."""
        matched, groups = self._matched(), np.repeat(self.groups, len(self.block.scales), axis=1)
        bets = self._at_scales(_of_groups(matched, self.groups[:, None]) - matched)  # (A, G, b, E)
        often, paired = np.diff(self.block.starts) > self.block.base, self.block.paired  # often: representatives
        if paired:
            out = np.zeros((*np.broadcast_shapes(arms.shape, partners.shape), groups.shape[1]))
        else:
            alone = betting.log_alone(bets).sum(axis=2)  # (A, G, E)
            out = _seen(alone, groups, arms, partners)
            out += _seen(alone, groups, partners, arms)
        if paired or often.any():
            self._match(out, bets, often, *np.broadcast_arrays(arms, partners))
        nowhere = groups < 0
        if nowhere.any():
            out[nowhere[arms] | nowhere[partners]] = 0.0
        return out

    def _match(self, out: Array, bets: Array, often: Mask, arms: Index, partners: Index) -> None:
        """Bet a sample of each arm against those that it is matched with: of representatives, or of every partner."""
        for one in np.unique(partners if self.block.paired else np.flatnonzero(often)).tolist():
            factors, its = self._against_one(bets, one), partners == one
            out[its] = factors[arms[its]]
            if often[one]:  # a pair has one evidence, seen from either side
                out[arms == one] = factors[partners[arms == one]]
        out[often[arms] & often[partners]] = 0.0  # two representatives are not matched

    def _against_one(self, bets: Array, partner: int) -> Array:  # (A, G, b, E) -> (A, E)
        """One sample of each arm against the samples of a partner that it is matched with."""
        block, theirs = self.block, self.groups[partner]  # (S,)
        many = (block.starts[partner + 1] - block.starts[partner]) // block.base
        rows = slice(block.starts[partner], block.starts[partner] + block.base * many)
        answers = self.scores[:, rows].reshape(len(theirs), block.base, many, -1).transpose(3, 1, 2, 0)  # (G, b, m, S)
        against = self._at_scales(answers - np.take_along_axis(answers, theirs[None, None, None], axis=0))
        groups, theirs = (np.repeat(one, len(block.scales), axis=-1) for one in (self.groups, theirs))
        matches, experts = np.arange(block.base)[:, None], np.arange(len(theirs))
        others = betting.pooled(against, axis=2).at(groups[:, None], matches, experts)  # (A, b, E)
        mine = np.take_along_axis(bets, theirs[None, None, None], axis=1)[:, 0]
        return np.asarray(betting.log_one_vs_pooled(mine, others).sum(axis=1))

    def joins(self, claimed: Index, n_groups: int) -> Array:  # (A,) -> (A, K, E)
        """Log factors of each arm against the sampled arms of each claimed group."""
        arms = np.arange(len(claimed))
        scores = _of_groups(self._matched(), self._columns(claimed, n_groups)[None])  # (A, K, b, S)
        bets = self._at_scales(scores[arms, claimed][:, None] - scores)  # (A, K, b, E)
        sizes = np.bincount(claimed[claimed >= 0], minlength=n_groups)
        groups, order = np.flatnonzero(sizes), np.argsort(claimed, kind="stable")[len(arms) - sizes.sum() :]
        out = np.zeros((len(arms), n_groups, bets.shape[3]))
        if len(groups):
            members = betting.pooled_parts(-bets[order], sizes[groups])  # u_own - u_group at samples of the group
            mine = bets if len(groups) == n_groups else bets[:, groups]
            out[:, groups] = betting.log_one_vs_pooled(mine, members.at(claimed)).sum(axis=2)
        out[arms, claimed] = 0.0
        return out

    def _matched(self) -> Array:  # (A, G, b, S)
        n_arms, base = len(self.groups), self.block.base
        rows = self.scores
        if rows.shape[1] != n_arms * base:
            rows = rows[:, (self.block.starts[:-1, None] + np.arange(base)).ravel()]
        return np.ascontiguousarray(rows.reshape(len(rows), n_arms, base, -1).transpose(1, 3, 2, 0))

    def _at_scales(self, scores: Array) -> Array:  # (..., S) -> (..., E)
        """The scores that experts bet."""
        out = np.empty((*scores.shape, len(self.block.scales)))
        for place, (scale, cap) in enumerate(zip(self.block.scales, self.block.caps, strict=True)):
            bets = scores if scale == 1 else scores * scale
            out[..., place] = bets if cap == np.inf else np.minimum(np.maximum(bets, -cap), cap)
        return out.reshape(*scores.shape[:-1], -1)

    def _columns(self, claimed: Index, n_groups: int) -> Index:  # (A,) -> (K, S)
        """For each claimed group, the scorer's group of most of its sampled arms. Any group if none was sampled."""
        votes = np.arange(n_groups)[:, None] == claimed  # (K, A)
        seen = self.groups[:, :, None] == np.arange(self.scores.shape[2])  # (A, S, G)
        counts = votes.astype(np.float64) @ seen.reshape(len(claimed), -1).astype(np.float64)
        return np.asarray(counts.reshape(n_groups, *seen.shape[1:]).argmax(axis=2))


def _together(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _of_groups(matched: Array, groups: Index) -> Array:  # (A, G, b, S), (A or 1, H, S) -> (A, H, b, S)
    """The scores of each arm for these groups of each scorer."""
    n_arms, n_groups, base, n_scorers = matched.shape
    size = base * n_scorers
    firsts = np.arange(0, n_arms * n_groups * size, n_groups * size)[:, None, None, None]
    places = firsts + np.arange(size).reshape(base, n_scorers) + size * groups[:, :, None]
    return np.asarray(matched.ravel().take(places))  # several times as fast as take_along_axis


def _seen(alone: Array, groups: Index, arms: Index, others: Index) -> Array:  # (A, G, E), (A, E) -> (..., E)
    """What arms have won against the groups of others."""
    _, n_groups, n_experts = alone.shape
    columns = n_experts * groups + np.arange(n_experts)
    return np.asarray(alone.ravel().take(columns[others] + (n_groups * n_experts * arms)[..., None]))
