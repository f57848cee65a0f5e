"""Bets of arms outside the core, part by part. A part, and what comes of it, are values: it can be computed anywhere.

| symbol | here      | meaning                                                                                  |
|--------|-----------|------------------------------------------------------------------------------------------|
| u_g    | `Scoring` | feature maps and scorers that were fixed before the round                                |
| G_e    | `gains`   | log wealth of each expert on the pairs of a part, before the round and after it          |

All parts of a round share the `Scoring`. A part has some of the arms outside, and the sampled arms of the core that
they are compared with. No arm outside is in two parts, so that the order in which parts are computed has no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.evidence.blocks import Block
from kabc.core.scores.discriminant import RIDGES, Scorer
from kabc.core.scores.maps import FeatureMap, all_features
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.wealth import Outside, bet_outside


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """How the samples of a round are scored and bet. `trusted` is the scorer that is trusted most."""

    maps: tuple[FeatureMap, ...]
    scorers: tuple[Scorer, ...]
    scales: tuple[float, ...]
    caps: tuple[float, ...]
    trusted: int

    def scores(self, features: Sequence[Array]) -> Array:  # (n, D) for each map -> (S, n, G)
        """The scores of samples; all scorers have as many groups."""
        weights = [one.weights for one in self.scorers]  # those of one map come one after the other
        by_map = zip(range(0, len(weights), len(RIDGES)), features, strict=True)
        made = [one @ np.concatenate(weights[at : at + len(RIDGES)], axis=1) for at, one in by_map]  # (n, R x G) each
        scores = np.concatenate(made, axis=1)
        scores -= np.concatenate([one.offsets for one in self.scorers])
        return scores.reshape(len(scores), len(weights), -1).transpose(1, 0, 2)

    def block(self, scores: Array, groups: Index, batch: Batch, *, paired: bool = False) -> Block:  # (S, n, G), (S, A)
        """The round as the experts see it."""
        return Block(scores, groups, batch.starts, batch.base, self.scales, self.caps, paired)

    def fits(self, scores: Array, batch: Batch) -> Array:  # (S, n, G) -> (A, G)
        """For each arm the sum of the scores by the scorer that is trusted most."""
        return batch.sums(scores[self.trusted])


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some of the arms of a round."""

    batch: Batch
    groups: Index  # (S, A), as each scorer sees them
    where: Outside
    gains: Array  # (O, P, E)


@dataclass(frozen=True, slots=True, eq=False)
class Won:
    """What comes of a part: log factors of its pairs, what experts have won on them by now, and `Scoring.fits`."""

    factors: Array  # (O, P)
    gains: Array  # (O, P, E)
    fits: Array  # (A, G)


def won(shared: tuple[Scoring, Array], part: Part) -> Won:
    """The bets of a part. `shared`: the scoring, and what experts have won on average (E,), before the round."""
    scoring, common = shared
    scores = scoring.scores(all_features(scoring.maps, part.batch.samples))
    block = scoring.block(scores, part.groups, part.batch)
    return Won(*bet_outside(block, part.where, part.gains, common), scoring.fits(scores, part.batch))
