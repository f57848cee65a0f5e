"""Bets of one expert on one round's samples: all pairs of arms at once, and all arms against whole groups.

| symbol | here      | meaning                                                                             |
|--------|-----------|-------------------------------------------------------------------------------------|
| u_g    | `scores`  | score of a sample for each group of the expert; u_g - u_h is the score of a pair    |
| b      | `base`    | matches of an arm in a round; an arm with b m samples gives m samples to each match |
| f      |           | log factors of kabc.core.evidence.betting, summed over the matched samples          |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence import betting


@dataclass(frozen=True)
class Block:
    """Scores of the samples of a round, arm after arm, by one expert; `cap` bounds a bet.

    `paired`: matched samples share something. Then only bets on which of them is whose are made (docs/theory.md,
    section 22).
    """

    scores: Array  # (n, G)
    groups: Index  # (A,) group of each sampled arm, as the expert sees it; -1: none yet
    starts: Index  # (A + 1,) where the samples of each arm start
    base: int
    cap: float
    paired: bool = False

    def pairs(self, partners: Index) -> Array:  # (P,) -> (A, P)
        """Log factors of all sampled arms with each partner."""
        own, groups, starts, base = self._matched(), self.groups, self.starts, self.base
        bets = self._against(own, groups)
        alone = betting.log_product(bets, np.zeros_like(bets)).sum(axis=1)  # (A, G): log 2 sigmoid, as l(y) = 0 adds 0
        out = np.zeros((len(groups), len(partners)))
        for column, partner in enumerate(partners.tolist()):
            theirs = groups[partner]
            many = (starts[partner + 1] - starts[partner]) // base
            if many == 1 and not self.paired:
                out[:, column] = alone[:, theirs] + alone[partner, groups]
            else:
                answers = self.scores[starts[partner] : starts[partner] + base * many].reshape(base, many, -1)
                against = np.clip(answers - answers[:, :, theirs, None], -self.cap, self.cap)[:, :, groups]  # (b, m, A)
                x = bets[:, :, theirs]  # (A, b)
                out[:, column] = betting.log_one_vs_many(x, np.moveaxis(against, 2, 0)).sum(axis=1)
        often = np.diff(starts) > base  # representatives
        out[np.ix_(often, often[partners])] = 0.0  # two representatives are not matched
        # A pair has one evidence, so the row of a representative is a copy of its column.
        out[partners[often[partners]]] = out[np.ix_(partners, often[partners])].T
        out[groups < 0] = 0.0
        out[:, groups[partners] < 0] = 0.0
        return out

    def joins(self, claimed: Index, n_groups: int) -> Array:  # (A,) -> (A, K)
        """Log factors of each arm against the sampled arms of each claimed group (one against many), except its own."""
        bets = self._against(self._matched()[:, :, self._columns(claimed, n_groups)], claimed)  # (A, b, K)
        out = np.zeros((len(claimed), n_groups))
        for group in range(n_groups):
            members = np.flatnonzero(claimed == group)
            if len(members):
                answers = -bets[members][:, :, claimed]  # (m, b, A): u_own(arm) - u_group at samples of the group
                out[:, group] = betting.log_one_vs_many(bets[:, :, group], np.moveaxis(answers, (0, 2), (2, 0))).sum(1)
        out[np.arange(len(claimed)), claimed] = 0.0
        return out

    def _matched(self) -> Array:  # (A, b, G)
        return np.stack([self.scores[start : start + self.base] for start in self.starts[:-1]])

    def _against(self, own: Array, groups: Index) -> Array:  # (A, b, G), (A,) -> (A, b, G)
        """How much a sample favours the group of its arm over each other group."""
        return np.clip(own[np.arange(len(own)), :, groups][:, :, None] - own, -self.cap, self.cap)

    def _columns(self, claimed: Index, n_groups: int) -> Index:  # (A,) -> (K,)
        """For each claimed group, the expert's group of most of its sampled arms. Any group if none was sampled."""
        votes = np.zeros((n_groups, self.scores.shape[1]))
        np.add.at(votes, (claimed[self.groups >= 0], self.groups[self.groups >= 0]), 1)
        return np.asarray(votes.argmax(axis=1), dtype=np.intp)
