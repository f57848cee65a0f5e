"""The guarantees of Tolerance KABC and Quantile KABC in words, with the numbers that the strategies compute with."""

from __future__ import annotations

from kabc.core.tolerances import QuantileTolerance
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
            "a pilot, the first round, fixes the kernel and how far the tolerance reaches in it; it is never tested",
            f"different: bets on learned scores, as in Anytime KABC; {_pairs(shares)}",
            "same: groups are claimed from earlier samples, and each arm is bet to be near the rest of its group",
            "the bets are in every direction of the features at once (intersection-union)",
            "where pairs of two groups are open, arms of the smaller one are bet to differ from the whole other one",
            *_limits(n_claims, limit),
            "large groups answer with some of their arms",
            "all statements of a claim must be proven, so each is tested at the full level",
        ),
    )


def _claim(shares: ToleranceShares, tolerance: str, status: Status | None) -> str:
    wrong = f"With probability at least {percent(1 - shares.delta)}, no matter when you look,"
    apart = "all pairs listed as different really differ"
    if status == "decided":
        near = f"each arm is within {tolerance} of the rest of its group, to the eyes of the kernel"
        wholes = "of two groups with open pairs, the arms of the smaller one differ from the other one taken together"
        return f"{wrong} {near}, {apart}, and {wholes}."
    return f"{wrong} {apart}, and pairs listed as same are within {tolerance} of each other."


def _pairs(shares: ToleranceShares) -> str:
    return f"{percent(shares.different)} for {counted(shares.n_pairs, 'pair')} together"


def _limits(n_claims: int, limit: float | None) -> list[str]:
    if limit is None:
        return []
    return [
        f"claim number {n_claims:,} needs a log evidence of {limit:.2f}; the k-th claim has the weight 1 / (k (k + 1))"
    ]


def quantile_guarantee(
    delta: float, tolerance: QuantileTolerance, status: Status | None, *, level: float, n_arms: int, chain: bool
) -> Guarantee:
    """Claim, assumptions and rule of Quantile KABC. `chain`: some arms are the same as arms of two groups."""
    said = tolerance.words
    intervals = f"{counted(n_arms, 'arm')} x {counted(len(tolerance.names), 'quantile')} x 2 sides"
    return Guarantee(
        strategy=f"Quantile KABC(delta = {delta:g}, tolerance = {said})",
        claim=_quantile_claim(delta, said, status, chain),
        assumptions=(
            "samples of an arm are independent and identically distributed",
            f"only these quantiles count: {', '.join(tolerance.names)}; arms with the same ones may differ elsewhere",
        ),
        rule=(
            "each quantile of each arm lies in an interval of samples, at all times, for any distribution",
            f"a side of an interval is where the log evidence reaches {level:.2f} = log({intervals} / delta)",
            "same: the intervals of two arms leave no room for a difference above the tolerance, for every quantile",
            "different: for some quantile the intervals of two arms have no point in common",
            "if both are true, the one that is shown first is the verdict; in one round, same",
        ),
    )


def _quantile_claim(delta: float, tolerance: str, status: Status | None, chain: bool) -> str:
    wrong = f"With probability at least {percent(1 - delta)}, no matter when you look,"
    if status != "decided":
        same = f"pairs listed as same differ by no more than the tolerance ({tolerance})"
        return f"{wrong} {same}, and all pairs listed as different really differ in one of these quantiles."
    same = f"any two arms of a group differ by no more than the tolerance ({tolerance})"
    across = "of any two groups some arms differ" if chain else "arms of different groups differ"
    return f"{wrong} {same}, and {across} in one of these quantiles."
