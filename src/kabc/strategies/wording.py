"""What strategies guarantee, in the words that people read first."""

from __future__ import annotations

from kabc.strategies.answers import Status


def percent(probability: float) -> str:
    """0.05 as "5 %"."""
    return f"{100 * probability:.6g} %"


def main_claim(status: Status | None, n_clusters: int, delta: float, when: str = "") -> str:
    """What is guaranteed of a strategy that knows K; `when` says at which times, if not only at the end."""
    groups = "1 group" if n_clusters == 1 else f"{n_clusters:,} groups"
    if status == "decided":
        return f"If there are exactly {groups}, this grouping is wrong with probability at most {percent(delta)}{when}."
    if status == "contradicted":
        return f"There are more than {groups}: wrong with probability at most {percent(delta)}{when}."
    return pairs_claim(delta, when)


def pairs_claim(delta: float, when: str = "", most_groups: int | None = None) -> str:
    """What is guaranteed of pairs told apart; some proofs need that there are at most so many groups."""
    pairs = "very pair listed as different really differs"
    pairs = f"E{pairs}" if most_groups is None else f"If there are at most {most_groups:,} groups, e{pairs}"
    return f"{pairs}: wrong with probability at most {percent(delta)}{when}."
