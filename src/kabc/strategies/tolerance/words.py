"""The guarantee of Tolerance KABC in words; all numbers come from the shares that the strategy computes with."""

from __future__ import annotations

from kabc.core.words import counted, percent
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.tolerance.shares import ToleranceShares


def guarantee(
    shares: ToleranceShares,
    tolerance: str,
    status: Status | None,
    *,
    n_claims: int,
    limit: float | None,
    block: int,
) -> Guarantee:
    """Claim, assumptions and rule. `limit` is the log evidence that the latest claim needs."""
    unit = "samples" if block == 1 else f"blocks of {block:,} consecutive rows"
    return Guarantee(
        strategy=f"Tolerance KABC(delta = {shares.delta:g}, tolerance = {tolerance})",
        claim=_claim(shares, tolerance, status),
        assumptions=(
            f"{unit} of an arm are independent and identically distributed",
            f"{unit} of different arms are independent of each other",
            "what the kernel hardly sees, such as rare values far outside, may differ by more",
        ),
        rule=(
            "the first round is a pilot: it fixes the kernel and the distance that the tolerance makes; "
            "it is never tested",
            f"different: bets on learned scores, as in Anytime KABC, with {percent(shares.different)} in all; "
            f"a union over {counted(shares.n_pairs, 'pair')}",
            "same: a partition is claimed from earlier samples; then each arm is bet to be closer to its group than the "
            "tolerance, in every direction at once (intersection-union)",
            *_limits(n_claims, limit),
            "all arms of a claim must be proven, so each is tested at the full level",
        ),
    )


def _claim(shares: ToleranceShares, tolerance: str, status: Status | None) -> str:
    wrong = f"With probability at least {percent(1 - shares.delta)}, no matter when you look,"
    apart = "all pairs listed as different really differ"
    if status == "decided":
        near = f"each arm is within {tolerance} of the rest of its group, to the eyes of the kernel"
        return f"{wrong} {near}, and {apart}."
    return f"{wrong} {apart}, and pairs listed as same are within {tolerance} of each other."


def _limits(n_claims: int, limit: float | None) -> list[str]:
    if limit is None:
        return []
    return [f"claim number {n_claims:,} needs a log evidence of {limit:.2f}; the k-th claim has the weight 1 / (k (k + 1))"]
