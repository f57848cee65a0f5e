"""What strategies guarantee, in the words that people read first."""

from __future__ import annotations

from kabc.core.words import counted, percent, plural
from kabc.strategies.answers import Status


def exactly(n_groups: int) -> str:
    """The usual condition of a claim."""
    return f"there {plural(n_groups, 'is')} exactly {counted(n_groups, 'group')}"


def wrong_at_most(delta: float, condition: str, decided: bool, when: str = "") -> str:
    """What is guaranteed of a grouping, before and after the strategy has decided."""
    if decided:
        return f"If {condition}, this grouping is wrong with probability at most {percent(delta)}{when}."
    return (
        "Not decided: this grouping is a guess. "
        f"If {condition}, a decided grouping is wrong with probability at most {percent(delta)}{when}."
    )


def main_claim(status: Status | None, n_clusters: int, delta: float, when: str = "") -> str:
    """What is guaranteed of a strategy that knows K; `when` says at which times, if not only at the end."""
    if status == "decided":
        return wrong_at_most(delta, exactly(n_clusters), True, when)
    if status == "contradicted":
        groups = counted(n_clusters, "group")
        return f"There are more than {groups}: wrong with probability at most {percent(delta)}{when}."
    return pairs_claim(delta, when)


def pairs_claim(delta: float, when: str = "", most_groups: int | None = None) -> str:
    """What is guaranteed of pairs told apart; some proofs need that there are at most so many groups."""
    pairs = "very pair listed as different really differs"
    pairs = f"E{pairs}" if most_groups is None else f"If there are at most {most_groups:,} groups, e{pairs}"
    return f"{pairs}: wrong with probability at most {percent(delta)}{when}."
