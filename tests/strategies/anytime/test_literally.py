"""Small seeded runs, with every score and every bet computed once more: one expert, one pair, one sample at a time.

Scores by eigenvectors, groups (tests/core/scores/plain_groups.py) and bets by the formulas of docs/theory.md (section
11), in plain loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc import AnytimeKABC
from kabc.core.scores.discriminant import RIDGES, Moments
from kabc.core.scores.maps import FeatureMap
from tests.core.scores import plain_groups

Array = NDArray[Any]
SHARE = 0.05


class Literal:
    """The evidence of all pairs of a strategy whose core is all arms, followed from outside."""

    def __init__(self, strategy: AnytimeKABC) -> None:
        self.strategy, n = strategy, strategy.n_arms
        self.samples: list[tuple[int, Array]] = []
        self.experts: list[tuple[FeatureMap, Array, Array, list[int], float]] = []
        self.log, self.gains = np.zeros((n, n)), np.zeros((n, n, 0))
        self.learnt: tuple[int, Sequence[Moments], list[int]] = (
            0,
            (),
            [],
        )  # samples, learners and groups at the last scores
        self.kept = self.lazy = 0  # samples when what is known was kept last; rounds without new scores

    def follow(self, drawn: dict[int, Array]) -> None:
        """Bet on a round, have the strategy do so too, and learn from it."""
        cap = math.log1p(len(self.samples) / (self.strategy.n_clusters or self.strategy.n_arms))
        if self.experts:
            self._bet(drawn, cap)
        self.strategy.tell(drawn)
        self.samples += [(arm, row) for arm, rows in drawn.items() for row in rows]
        if not self.strategy.stopped:
            self._learn()

    def _learn(self) -> None:
        """New scores, if there are 5 % more samples, or what they rest on has changed."""
        n, learners = len(self.samples), self.strategy._found.learning.learners
        known = self.strategy._found._taught()[0].tolist()
        keeps = self.strategy.n_clusters is not None and n >= 1.4 * self.kept
        same = learners is self.learnt[1] and known == self.learnt[2]
        if n < 1.05 * self.learnt[0] and same and not keeps:
            self.lazy += 1
            return
        self.learnt, self.kept = (n, learners, known), n if keeps else self.kept
        self.experts = [one for learner in learners for one in self._taught(learner.map)]

    def _taught(self, feature_map: FeatureMap) -> list[tuple[FeatureMap, Array, Array, list[int], float]]:
        features = feature_map(np.array([row for _, row in self.samples]))
        owners = np.array([arm for arm, _ in self.samples])
        n = self.strategy.n_arms
        means = np.array([features[owners == arm].mean(axis=0) for arm in range(n)])
        left = features - means[owners]
        values, vectors = np.linalg.eigh(left.T @ left / max(1, len(owners) - n))
        values = np.maximum(values, 0.0)
        made = []
        for ridge in RIDGES:
            basis = vectors / np.sqrt(values + ridge * max(float(values.max()), 1e-12))
            labels = self._groups(means @ basis)
            numbers = range(max(labels) + 1)
            inside = [np.isin(owners, [arm for arm in range(n) if labels[arm] == group]) for group in numbers]
            centres = np.array([features[mask].mean(axis=0) if mask.any() else 0 * means[0] for mask in inside]) @ basis
            weights, offsets = basis @ centres.T, 0.5 * np.array([centre @ centre for centre in centres])
            made += [(feature_map, weights, offsets, labels, scale) for scale in (0.5, 1.0)]
        return made

    def _groups(self, whitened: Array) -> list[int]:
        """Those that the strategy takes for granted, or the likeliest ones."""
        known, n_groups = self.strategy._found._taught()
        if (known >= 0).all():
            return [int(label) for label in known]
        if len(whitened) <= n_groups:
            return list(range(len(whitened)))
        counts = [sum(arm == one for one, _ in self.samples) for arm in range(len(whitened))]
        return plain_groups.likeliest(whitened, counts, n_groups)

    def _bet(self, drawn: dict[int, Array], cap: float) -> None:
        n, n_experts = len(self.log), len(self.experts)
        if not self.gains.shape[2]:
            self.gains = np.zeros((n, n, n_experts))
        different = [
            self.gains[i, j] for i in range(n) for j in range(n) if self.gains[i, j].max() > 0.5 * math.log(n_experts)
        ]
        common = np.mean(different, axis=0) if different else np.zeros(n_experts)
        scores = [
            {arm: scale * (one(rows) @ weights - offsets) for arm, rows in drawn.items()}
            for one, weights, offsets, _, scale in self.experts
        ]
        for i in drawn:
            for j in drawn:
                if i == j:
                    continue
                factors = [
                    _log_factor(scores[e][i], scores[e][j], labels[i], labels[j], math.inf if scale == 1 else cap)
                    for e, (_, _, _, labels, scale) in enumerate(self.experts)
                ]
                trust = [math.exp(value - max(self.gains[i, j] + common)) for value in self.gains[i, j] + common]
                weights = [(1 - SHARE) * value / sum(trust) + SHARE / n_experts for value in trust]
                self.log[i, j] += math.log(sum(w * math.exp(f) for w, f in zip(weights, factors, strict=True)))
                self.gains[i, j] += factors


def _log_factor(mine: Array, theirs: Array, g: int, h: int, cap: float) -> float:
    """Bets on each sample of two arms of groups g and h: products of 2 sigmoid(l)."""
    total = 0.0
    for x, y in zip(mine, theirs, strict=True):
        for value in (x[g] - x[h], y[h] - y[g]):
            capped = min(cap, max(-cap, float(value)))
            total += math.log(2 / (1 + math.exp(-capped))) if capped > -700 else math.log(2) + capped
    return total


Law = Callable[[int, int, np.random.Generator], Array]
LAWS: dict[str, tuple[int, int | None, Law]] = {
    "means in the plane": (6, 3, lambda arm, n, rng: rng.normal((2.0 * (arm % 3), 0.0), 1.0, (n, 2))),
    "spreads": (4, 2, lambda arm, n, rng: rng.normal(0.0, 1.0 + 3.0 * (arm % 2), (n, 1))),
    "K unknown": (4, None, lambda arm, n, rng: rng.normal((3.0 * (arm % 2),) * 3, 1.0, (n, 3))),
    "few samples more": (4, 2, lambda arm, n, rng: rng.normal((0.9 * (arm % 2), 0.0), 1.0, (n, 2))),
}


@pytest.mark.parametrize("name", LAWS)
def test_evidence_of_a_seeded_run_is_that_of_plain_loops(name: str) -> None:
    n_arms, n_clusters, draw = LAWS[name]
    strategy, rng = AnytimeKABC(n_arms, n_clusters, 0.05), np.random.default_rng(3)
    literal = Literal(strategy)
    for _ in range(40 if name == "few samples more" else 14):
        if strategy.stopped:
            break
        literal.follow({arm: draw(arm, n, rng) for arm, n in strategy.ask().items()})
        books = strategy._found.wealth
        found = books.log[:, np.argsort(books.compared)]
        # coordinates of features leave out 1e-9 of their length
        np.testing.assert_allclose(found, literal.log, rtol=1e-8, atol=1e-8)
    assert np.abs(literal.log).max() > 1
    assert (literal.lazy > 0) == (name == "few samples more")
