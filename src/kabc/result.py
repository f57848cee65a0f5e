"""What comes out: frozen values that know what is certified and what is a guess."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Status = Literal["decided", "budget", "exhausted", "contradicted"]

STATUS_WORDS: dict[str, str] = {
    "decided": "decided: the partition is certified",
    "budget": "undecided: the budget is spent; the groups shown are a guess, pairs told apart are certified",
    "exhausted": "undecided: an arm ran out of samples; the groups shown are a guess, pairs told apart are certified",
    "contradicted": "contradicted: more groups than asked for; groups shown are a guess, pairs told apart certified",
}


@dataclass(frozen=True)
class Evidence:
    """What speaks against each pair being the same, after the latest round. NaN stands for what a strategy has not.

    Attributes
    ----------
    told_in_round : number of the first round that told the pair apart; 0 where none has.
    counts : samples of each arm behind these figures.
    distances : distances of the mean embeddings (eq. empdist); NaN where never computed.
    thresholds : what the distance of a pair must exceed (eq. threshold).
    variances : empirical variances of the arms (eq. empvar).
    log_evidence : for strategies that bet, the largest log evidence so far.
    log_threshold : what it must reach.
    """

    told_in_round: NDArray[np.int64]  # (N, N)
    counts: NDArray[np.int64]  # (N,)
    distances: NDArray[np.float64]  # (N, N)
    thresholds: NDArray[np.float64]  # (N, N)
    variances: NDArray[np.float64]  # (N,)
    log_evidence: NDArray[np.float64] = field(default_factory=lambda: np.full((1, 1), np.nan))  # (N, N)
    log_threshold: NDArray[np.float64] = field(default_factory=lambda: np.full((1, 1), np.nan))  # (N, N)

    @classmethod
    def of_bets(
        cls,
        told_in_round: NDArray[np.int64],
        counts: NDArray[np.int64],
        log_evidence: NDArray[np.float64],
        log_threshold: NDArray[np.float64],
    ) -> Evidence:
        """Evidence of a strategy that bets: it has no distances."""
        unknown = np.broadcast_to(np.nan, told_in_round.shape)
        return cls(told_in_round, counts, unknown, unknown, np.full(len(counts), np.nan), log_evidence, log_threshold)

    @classmethod
    def none(cls, n_arms: int) -> Evidence:
        """Before the first round: nothing is told apart, nothing is known."""
        return cls(
            told_in_round=np.zeros((n_arms, n_arms), dtype=np.int64),
            counts=np.zeros(n_arms, dtype=np.int64),
            distances=np.full((n_arms, n_arms), np.nan),
            thresholds=np.full((n_arms, n_arms), np.inf),
            variances=np.full(n_arms, np.nan),
        )

    @property
    def told_apart(self) -> NDArray[np.bool_]:  # (N, N)
        """Pairs whose evidence reached its threshold, in this round or an earlier one; certified."""
        return self.told_in_round > 0

    @property
    def strength(self) -> NDArray[np.float64]:  # (N, N)
        """Evidence of each pair in units of its threshold: told apart above 1; NaN where there is none yet."""
        by_bets = self.log_evidence.shape == self.told_in_round.shape
        with np.errstate(invalid="ignore"):  # N = 2, delta = 1: a threshold of log 1 = 0
            return self.log_evidence / self.log_threshold if by_bets else self.distances / self.thresholds

    @property
    def n_told_apart(self) -> int:
        """Number of (unordered) pairs told apart."""
        return int(np.count_nonzero(np.triu(self.told_apart, 1)))


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
    """Why a strategy's answer may be trusted: its name, claim, assumptions and rule, in words with the constants."""

    strategy: str
    claim: str
    assumptions: tuple[str, ...]
    rule: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """The answer: which arms are the same, what it cost and why it may be trusted.

    `labels` are numbered by first appearance in arm order. They are certified only when `status` is "decided";
    otherwise they are a best guess, and what is certified is in `evidence` and `n_groups_at_least`.
    """

    names: tuple[Hashable, ...]
    labels: tuple[int, ...]
    status: Status
    evidence: Evidence = field(repr=False)
    samples_per_arm: dict[Hashable, int] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    guarantee: Guarantee = field(repr=False)
    delta: float
    n_clusters: int | None
    n_groups_at_least: int
    kernel: str
    seed: int
    n_pilot: int = 0

    @property
    def certified(self) -> bool:
        """Whether the labels are certified, not a guess."""
        return self.status == "decided"

    @property
    def groups(self) -> tuple[tuple[Hashable, ...], ...]:
        """Names of the arms of each group, in the order of the labels."""
        return tuple(
            tuple(name for name, label in zip(self.names, self.labels, strict=True) if label == group)
            for group in range(max(self.labels) + 1)
        )

    @property
    def n_samples(self) -> int:
        """Every sample drawn: pilot and discarded rounds included."""
        return sum(self.samples_per_arm.values())

    def __str__(self) -> str:
        head = f"{STATUS_WORDS[self.status]} ({self.n_samples:,} samples, delta = {self.delta:g})"
        kind = "group" if self.certified else "group (guess)"
        lines = [
            f"  {kind} {number + 1}: {', '.join(str(name) for name in group)}"
            for number, group in enumerate(self.groups)
        ]
        return "\n".join([head, *lines])

    def certificate(self) -> str:
        """Why the answer may be trusted: claim, assumptions, rule with its constants, and what was seen."""
        pairs = len(self.names) * (len(self.names) - 1) // 2
        lines = [
            f"CERTIFICATE of {self.guarantee.strategy}",
            f"Status: {STATUS_WORDS[self.status]}.",
            f"Claim: {self.guarantee.claim}",
            "Assumptions:",
            *(f"  - {text}" for text in self.guarantee.assumptions),
            "Rule:",
            *(f"  - {text}" for text in self.guarantee.rule),
            "Seen:",
            *(f"  - {text}" for text in self._seen(pairs)),
        ]
        return "\n".join(lines)

    def _seen(self, pairs: int) -> list[str]:
        seen = [
            f"{len(self.names)} arms, {self.n_samples:,} samples in all"
            + (f", {self.n_pilot:,} of them a pilot that was only used to choose the kernel" if self.n_pilot else ""),
            f"kernel {self.kernel}; seed {self.seed}" if self.kernel else f"seed {self.seed}",
            f"{self.evidence.n_told_apart} of {pairs} pairs told apart; at least {self.n_groups_at_least} group(s)",
        ]
        if self.rounds:
            last = self.rounds[-1]
            seen.append(
                f"last of {len(self.rounds)} round(s): k = {last.number}, delta_k = {last.delta:.3g}, "
                f"{last.n:,} samples of each arm, {last.n_groups} component(s)"
                if self.kernel
                else f"{len(self.rounds)} round(s), at most {last.n:,} samples of an arm"
            )
        closest = self._closest_pair()
        return [*seen, closest] if closest else seen

    def _closest_pair(self) -> str:
        """The pair that was told apart by the smallest margin in the latest round."""
        strength = np.where(self.evidence.told_apart, self.evidence.strength, np.nan)
        if not (strength > 1).any():
            return ""
        i, j = np.unravel_index(int(np.nanargmin(np.where(strength > 1, strength, np.nan))), strength.shape)
        return f"closest pair told apart: {self.names[i]} and {self.names[j]}, {strength[i, j]:.3g} times its threshold"
