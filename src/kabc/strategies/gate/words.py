"""The guarantee of a gate in words; all numbers come from the shares that the strategy computes with."""

from __future__ import annotations

from kabc.core.tolerances import QuantileTolerance
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee
from kabc.strategies.gate.shares import GateShares, QuantileShares

_ESTIMATES = (
    "an estimate counts if equal arms would have been certified by now and it is clearly above the tolerance",
    "after four times as many samples, or when there are no more, it counts if it is above",
)


def guarantee(shares: GateShares, tolerance: str, block: int) -> Guarantee:
    """Claim, assumptions and rule."""
    unit = "samples" if block == 1 else f"blocks of {block:,} consecutive rows"
    return Guarantee(
        strategy=f"Gate(delta = {shares.delta:g}, tolerance = {tolerance})",
        claim=f"With probability at least {percent(1 - shares.delta)}, no matter when you look, all of these are true: "
        f"if it says same, the distance is below {tolerance}, to the eyes of the kernel; if it says different, the two "
        "differ; and the bounds of their distance.",
        assumptions=(
            f"{unit} of an arm are independent and identically distributed",
            f"{unit} of different arms are independent of each other",
            "what the kernel hardly sees, such as rare values far outside, may differ by more",
        ),
        rule=(
            "a pilot, which is never tested, fixes the kernel and the distance that the tolerance makes",
            f"they differ: bets on learned scores, as in Anytime KABC, with {percent(shares.different)}",
            "the same: a bet that the distance is below the tolerance, in every direction at once (intersection-union)",
            f"it needs a log evidence of {shares.same_limits[0]:.2f}; it can be wrong only if the bet before is right",
            "so both have the same part of delta",
            f"at least so far apart: a log evidence of {shares.apart_limit:.2f}",
            "different: they differ, and the distance is certified to reach the tolerance; or it is estimated to do so",
            *_ESTIMATES,
        ),
    )


def quantile_guarantee(shares: QuantileShares, tolerance: QuantileTolerance) -> Guarantee:
    """Claim, assumptions and rule of a gate for quantiles."""
    names = ", ".join(tolerance.names)
    return Guarantee(
        strategy=f"Quantile gate(delta = {shares.delta:g}, tolerance = {tolerance.words})",
        claim=f"With probability at least {percent(1 - shares.delta)}, no matter when you look, all of these are true: "
        f"if it says same, the two differ by no more than the tolerance ({tolerance.words}); if it says different, one "
        "of these quantiles differs; and the bounds of their differences.",
        assumptions=(
            "samples of an arm are independent and identically distributed",
            f"only these quantiles count: {names}; arms with the same ones may differ elsewhere",
        ),
        rule=(
            "each quantile of each arm lies in an interval of samples, at all times, for any distribution",
            "same: the intervals leave no room for a difference above the tolerance, for every quantile",
            f"a side of these is where the log evidence reaches {shares.same_level:.2f}: two sides can be wrong",
            "they differ: for some quantile the intervals have no point in common",
            f"a side of these needs {shares.differ_level:.2f}; only one of both can be wrong, so they share delta",
            f"bounds of each difference: a side needs {shares.margin_level:.2f}",
            "different: a quantile is certified to differ by its tolerance; or to differ, and estimated to reach it",
            *_ESTIMATES,
        ),
    )
