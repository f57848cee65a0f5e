"""What comes out: frozen values that know what is certified and what is a guess."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.evidence.pairs import Evidence
from kabc.strategies.answers import Guarantee, Round, Status

STATUS_WORDS: dict[str, str] = {
    "decided": "decided: the partition is certified",
    "stopped": "stopped: by a heuristic; nothing is certified, the groups shown are a guess",
    "budget": "undecided: the budget is spent; the groups shown are a guess, pairs told apart are certified",
    "exhausted": "undecided: an arm ran out of samples; the groups shown are a guess, pairs told apart are certified",
    "interrupted": "undecided: interrupted; the groups shown are a guess, pairs told apart are certified",
    "contradicted": "contradicted: no partition as asked for fits, in most cases because there are more groups; "
    "the groups shown are a guess, pairs told apart are certified",
}

_MOST_NAMED = 6  # arms whose needs are printed one by one


@dataclass(frozen=True)
class Trace:
    """How the evidence grew, for pictures: rounds (thinned out when there are many), to four decimals."""

    n_samples: NDArray[np.int64]  # (T,), all samples told so far
    strength: NDArray[np.float64]  # (T, N, N), as `Evidence.strength`


@dataclass(frozen=True)
class Result:
    """The answer: which arms are the same, what it cost and why it may be trusted.

    `labels` are numbered by first appearance in arm order. They are certified only when `status` is "decided";
    otherwise they are a best guess, and what is certified is in `evidence` and `n_groups_at_least`.

    Attributes
    ----------
    samples_per_arm : every sample drawn: pilot, discarded and unfinished rounds included.
    n_unused : samples of a round that was not finished: drawn, counted, not tested.
    notes : what was decided about the values, and heuristic warnings.
    price : of one sample; `seconds` the run took.
    samples : the first samples of each arm, at most 500 (fewer when arms or columns are many), for pictures.
    columns : names of the columns of a sample, where known.
    trace : how the evidence grew; None with more than 40 arms.
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
    n_unused: int = 0
    notes: tuple[str, ...] = ()
    price: float = 0.0
    seconds: float = 0.0
    columns: tuple[str, ...] = field(default=(), repr=False)
    levels: dict[str, dict[float, str]] = field(default_factory=dict, repr=False)  # categories behind the numbers
    samples: dict[Hashable, NDArray[Any]] = field(default_factory=dict, repr=False)  # each (m, d)
    trace: Trace | None = field(default=None, repr=False)

    @property
    def certified(self) -> bool:
        """Whether the labels are certified, not a guess."""
        return self.status == "decided"

    @property
    def groups(self) -> tuple[tuple[Hashable, ...], ...]:
        """Names of the arms of each group, in the order of the labels."""
        groups: list[list[Hashable]] = [[] for _ in range(max(self.labels) + 1)]
        for name, label in zip(self.names, self.labels, strict=True):
            groups[label].append(name)
        return tuple(map(tuple, groups))

    @property
    def n_samples(self) -> int:
        """Every sample drawn: pilot, discarded and unfinished rounds included."""
        return sum(self.samples_per_arm.values())

    @property
    def spent(self) -> float:
        """Price of all samples."""
        return self.price * self.n_samples

    @property
    def needs(self) -> dict[Hashable, int] | None:
        """An estimate, no promise: about how many more samples of which arms it takes to decide.

        Evidence is extrapolated as it grew so far, for the groups shown. None when nothing is open, or nothing has
        grown; arms whose evidence has not grown are left out.
        """
        if self.status in ("decided", "stopped", "contradicted"):
            return None
        discards = bool(self.rounds) and int(self.evidence.counts.sum()) < self.rounds[-1].n_samples
        more = _more_samples(self.evidence, np.asarray(self.labels), discards)
        found = {name: math.ceil(n) for name, n in zip(self.names, more.tolist(), strict=True) if 0 < n < math.inf}
        return found or None

    @property
    def text_names(self) -> tuple[str, ...]:
        """The names as texts, as they are saved; where two would read the same, with their numbers."""
        texts = tuple(map(str, self.names))
        return texts if len(set(texts)) == len(texts) else tuple(f"{i}: {text}" for i, text in enumerate(texts))

    def to_dict(self) -> dict[str, Any]:
        """The answer as strict JSON values: names are texts; what is no finite number is None."""
        names = self.text_names
        text = dict(zip(self.names, names, strict=True))
        needs = self.needs
        strength = self.evidence.strength
        told = self.evidence.told_in_round
        return {
            "status": self.status,
            "certified": self.certified,
            "groups": [[text[name] for name in group] for group in self.groups],
            "labels": dict(zip(names, self.labels, strict=True)),
            "n_groups_at_least": self.n_groups_at_least,
            "n_samples": self.n_samples,
            "n_pilot": self.n_pilot,
            "n_unused": self.n_unused,
            "samples_per_arm": {text[name]: count for name, count in self.samples_per_arm.items()},
            "told_apart": [
                {"arms": [names[i], names[j]], "round": int(told[i, j]), "strength": _finite(strength[i, j])}
                for i, j in np.argwhere(np.triu(told, 1)).tolist()
            ],
            "delta": self.delta,
            "n_clusters": self.n_clusters,
            "strategy": self.guarantee.strategy,
            "kernel": self.kernel,
            "seed": self.seed,
            "notes": list(self.notes),
            "needs": None if needs is None else {text[name]: count for name, count in needs.items()},
            "seconds": self.seconds,
            "spent": self.spent,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one JSON file, whole or not at all; `kabc.load_result` reads it."""
        from kabc.results.saved import save_result

        save_result(self, path)

    # ------------------------------------------------------------ what people read

    def __str__(self) -> str:
        head = f"{STATUS_WORDS[self.status]} ({self.n_samples:,} samples, delta = {self.delta:g})"
        return "\n".join([head, *(f"  {line}" for line in self._group_lines()), *self._remarks()])

    def certificate(self) -> str:
        """Why the answer may be trusted: groups, claim, assumptions, rule with its constants, and what was seen."""
        pairs = math.comb(len(self.names), 2)
        lines = [
            f"CERTIFICATE of {self.guarantee.strategy}",
            f"Status: {STATUS_WORDS[self.status]}.",
            "Groups:",
            *(f"  - {text}" for text in self._group_lines()),
            f"Claim: {self.guarantee.claim}",
            "Assumptions:",
            *(f"  - {text}" for text in self.guarantee.assumptions),
            "Rule:",
            *(f"  - {text}" for text in self.guarantee.rule),
            "Seen:",
            *(f"  - {text}" for text in [*self._seen(pairs), *self._remarks()]),
        ]
        return "\n".join(lines)

    def _group_lines(self) -> list[str]:
        """The smallest groups first: the odd ones are what people look for."""
        kind = "group" if self.certified else "group (guess)"
        numbered = sorted(enumerate(self.groups, 1), key=lambda entry: len(entry[1]))
        return [
            f"{kind} {number}, {_counted(len(group), 'arm')}: {', '.join(map(_one_line, group))}"
            for number, group in numbered
        ]

    def _remarks(self) -> list[str]:
        low, high = (pick(self.samples_per_arm.values(), default=0) for pick in (min, max))
        lines = [f"samples per arm: {low:,}" + (f" to {high:,}" if high > low else "")]
        if self.n_unused:
            lines.append(f"{_counted(self.n_unused, 'sample')} of an unfinished round drawn and counted, not tested")
        if self.price:
            lines.append(f"spent: {self.spent:,.6g}")
        if self.needs is not None:
            lines.append(f"needs about {_listed(self.needs)} (an estimate: evidence extrapolated as it grew so far)")
        return [*lines, *(f"note: {note}" for note in self.notes)]

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
        pair = f"{_one_line(self.names[i])} and {_one_line(self.names[j])}"
        return f"closest pair told apart: {pair}, {strength[i, j]:.3g} times its threshold"


def _one_line(name: Hashable) -> str:
    """A name that cannot forge lines of a certificate."""
    return " ".join(str(name).split()) or repr(name)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(needs: dict[Hashable, int]) -> str:
    """The largest needs one by one, the others in one phrase."""
    ranked = sorted(needs.items(), key=lambda entry: -entry[1])
    shown = [
        f"{count:,} {'of' if i else 'more samples of'} {_one_line(name)}" for i, (name, count) in enumerate(ranked)
    ]
    rest = ranked[_MOST_NAMED:]
    others = [f"at most {rest[0][1]:,} of each of {_counted(len(rest), 'other arm')}"] if rest else []
    return ", ".join(shown[:_MOST_NAMED] + others)


def _more_samples(evidence: Evidence, labels: NDArray[np.intp], discards: bool) -> NDArray[np.float64]:  # (N,)
    """Samples of each arm that are missing to tell it apart from the other groups; infinite where nothing has grown."""
    held = np.minimum(evidence.counts[:, None], evidence.counts[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.clip(np.nan_to_num(evidence.strength, nan=0.0), 0.0, 1.0)
        # bets: log evidence grows with n; distances: thresholds shrink with 1/sqrt(n)
        total = held / strength if evidence.by_bets else held / strength**2
    kept = 0 if discards else held
    pairs = np.where(evidence.told_apart, 0.0, np.where(strength > 0, np.maximum(total - kept, 1.0), np.inf))
    more = np.zeros(len(labels))
    for group in range(int(labels.max()) + 1):
        members, others = np.flatnonzero(labels == group), np.flatnonzero(labels != group)
        across = pairs[np.ix_(others, members)]
        # bets need one arm of a group to tell another arm apart from all of it; components need all of them
        chosen = across.argmin(axis=1) if evidence.by_bets else across.argmax(axis=1)
        missing = across[np.arange(len(others)), chosen]
        np.maximum.at(more, others, missing)
        np.maximum.at(more, members[chosen], np.where(np.isfinite(missing), missing, 0.0))  # a pair takes two
    return more


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
