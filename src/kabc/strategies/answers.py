"""What a strategy says of itself: how it ended, what each round saw, why it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal[
    "decided",
    "doubtful",
    "stopped",
    "stalled",
    "budget",
    "exhausted",
    "contradicted",
    "interrupted",
    "failed",
    "unfinished",
]


@dataclass(frozen=True, slots=True)
class Round:
    """One ask and its answers: round k, its delta_k, samples per arm tested, samples so far, groups seen."""

    number: int
    delta: float
    n: int
    n_samples: int
    n_groups: int


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Why a strategy's answer may be trusted: its name, claim, assumptions and rule, in words with the constants.

    `conditional_on` is a condition of what is certified that people chose themselves, such as "there are exactly 4
    groups"; empty if there is none.
    """

    strategy: str
    claim: str
    assumptions: tuple[str, ...]
    rule: tuple[str, ...]
    conditional_on: str = ""
