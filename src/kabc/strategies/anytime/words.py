"""The guarantee of Anytime KABC in words; all numbers come from the shares that the strategy computes with."""

from __future__ import annotations

import math

from kabc.core.words import counted
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.shares import ErrorShares
from kabc.strategies.wording import exactly, main_claim, pairs_claim

_WHEN = ", no matter when you look"
_SET_ASIDE = (
    "an arm that could not give what was asked for was asked no more; it is in a group only if it was told apart from "
    "an arm of every other group by then"
)
_BETS = (
    "samples x of one arm and y of the other multiply its evidence by (1 + h(x))(1 - h(y)), h = tanh(score/2)",
    "or one x against m of y by (m + 1) r(x) / (r(x) + sum of r(y)), r = exp(score)",
    "both have mean at most 1 if the arms are the same; experts are averaged with weights fixed before",
)
_GIVEN = "given what the samples of a match share (a prompt), samples of different arms are independent of each other"
_PAIRED = (
    "the k-th samples of all arms of a round are a match; arms are the same if they answer the same to the same",
    "x of one arm against m of others in its match multiplies its evidence by (m + 1) r(x) / (r(x) + sum of r(y))",
    "r = exp(score minus its mean over the match)",
    "this has mean 1 if the arms are the same; experts are averaged with weights fixed before",
)


def guarantee(
    shares: ErrorShares,
    core: Core,
    review: Review,
    status: Status | None,
    *,
    claimed: bool,
    block: int = 1,
    paired: bool = False,
    set_aside: bool = False,
) -> Guarantee:
    """Claim, assumptions and rule, with the thresholds as they are now; `claimed`: pairs rest on a proven claim."""
    return Guarantee(
        strategy=f"Anytime KABC(delta = {shares.delta:g}, K = {shares.n_clusters})",
        claim=_claim(shares, status, claimed),
        assumptions=(
            _assumed(block),
            _GIVEN if paired else "samples of different arms are independent of each other",
        ),
        rule=(
            *_blocks(block),
            "before each round several experts fix a score for each pair, from earlier samples",
            *(_PAIRED if paired else _BETS),
            *_pairs(shares, core),
            *(() if shares.n_clusters is None else _claims(shares, core, review)),
            *_outside(shares, core),
            *((_SET_ASIDE,) if set_aside else ()),
        ),
        conditional_on=_condition(shares, status, claimed),
    )


def _assumed(block: int) -> str:
    if block == 1:
        return "samples of an arm are independent and identically distributed"
    return f"blocks of {block:,} consecutive rows of an arm are independent and identically distributed"


def _blocks(block: int) -> list[str]:
    if block == 1:
        return []
    return [f"a sample is a block of {block:,} rows: features are averaged over it"]


def _condition(shares: ErrorShares, status: Status | None, claimed: bool) -> str:
    """A claim is proven against partitions into at most K groups, and is no statement about others (12.3)."""
    if shares.n_clusters is None or status == "contradicted":
        return ""
    if status == "decided":
        return exactly(shares.n_clusters)
    return f"there are at most {counted(shares.n_clusters, 'group')}" if claimed else ""


def _claim(shares: ErrorShares, status: Status | None, claimed: bool) -> str:
    if shares.n_clusters is None or status not in ("decided", "contradicted"):
        return pairs_claim(shares.delta, _WHEN, shares.n_clusters if claimed else None)
    return main_claim(status, shares.n_clusters, shares.delta, _WHEN)


def _pairs(shares: ErrorShares, core: Core) -> list[str]:
    """The thresholds of pairs, one for each stage of the core."""
    lines = []
    for stage, size in enumerate(core.sizes, 1):
        whose = "" if size == shares.n_arms and stage == 1 else f" of the first {size:,} arms"
        lines.append(
            f"{'a pair' if stage == 1 else 'a later pair'}{whose} is told apart when its evidence reaches "
            f"{_ratio(math.comb(size, 2), shares.pairs(size, stage))}: pairs over their share of delta, by Ville's "
            "inequality"
        )
    return lines


def _claims(shares: ErrorShares, core: Core, review: Review) -> list[str]:
    needed = f"1 / (w x {shares.claims(core.size):.6g})"
    if review.claim is not None:
        limit = math.exp(review.claim.limit)
        weight = 1 / (limit * shares.claims(core.size))
        needed += f" = {limit:,.6g} (claim {review.n_claims}, w = {weight:.3g})"
    return [
        "a guess of the whole partition is claimed; of a capital of 1 at least w is bet against it, if it is wrong",
        "only samples drawn later count for a claim",
        f"a claim needs evidence {needed} for each arm against each group that is not its own",
        "and the square root of that for each pair across groups of two arms or more",
        "a claim with all of this is proven: no other partition into at most K groups is left",
    ]


def _outside(shares: ErrorShares, core: Core) -> list[str]:
    outside = shares.n_arms - core.size
    if not outside:
        return []
    needed = _ratio(outside, shares.outside(core.size))
    return [
        f"the first {core.size:,} arms are chosen at random and grouped first",
        f"each of the others is then told apart from one arm of each group when its evidence reaches {needed}",
    ]


def _ratio(count: int, share: float) -> str:
    return f"{count:,} / {share:.6g} = {count / share:,.6g}"
