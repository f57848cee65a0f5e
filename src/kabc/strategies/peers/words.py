"""The claim of a peer in plain words, with its real numbers."""

from __future__ import annotations


def exactly(n_groups: int) -> str:
    """The usual condition of a claim."""
    return f"there {'is' if n_groups == 1 else 'are'} exactly {n_groups} group{'' if n_groups == 1 else 's'}"


def percent(probability: float) -> str:
    """0.1 is 10 %."""
    return f"{100 * probability:.4g} %"


def wrong_at_most(delta: float, condition: str, decided: bool) -> str:
    """The claim of a strategy whose error probability is proven, before and after it has decided."""
    if decided:
        return f"If {condition}, this grouping is wrong with probability at most {percent(delta)}."
    return (
        "Not decided: this grouping is a guess. "
        f"If {condition}, a decided grouping is wrong with probability at most {percent(delta)}."
    )
