"""Rounds of learning and betting without a strategy around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.arrays import Index
from kabc.core.evidence.blocks import Block
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.learning import Learning, Lesson
from kabc.strategies.anytime.wealth import Wealth


def lesson(learning: Learning, rows: Mapping[int, NDArray[Any]]) -> Lesson:
    return learning.read(Batch.of(list(rows), list(rows.values())))


def play_round(learning: Learning, wealth: Wealth, rows: Mapping[int, NDArray[Any]], n_groups: int) -> None:
    """Bet with the scores of the round before, learn, fix scores for the next round."""
    read = lesson(learning, rows)
    if learning.scorers:
        made = learning.block(read, learning.scoring(n_groups))
        wealth.bet(read.batch.arms, made, wealth.common_gains(made.n_experts))
    learning.absorb(read)
    learning.rescore(wealth.compared, np.full(len(learning.counts), -1), n_groups)


def block(labels: Index, *strengths: float) -> Block:
    """One sample of each arm; each expert says with its strength that the arm is in the group of its label."""
    scores = np.array(strengths)[:, None, None] * (labels[:, None] == np.arange(labels.max() + 1))
    return Block(scores, np.tile(labels, (len(strengths), 1)), np.arange(len(labels) + 1), 1)
