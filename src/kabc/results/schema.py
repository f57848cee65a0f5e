"""The one JSON form of a result: `Result.save`, `Result.to_dict`, `kabc run --json` and `kabc show --json`.

The names of the fields here are the contract with every file that was ever written. They do not follow the attributes
of `Result`. A field may be added; one that changes its meaning, or goes, makes a new version.

Groups are numbered from 1, as in texts. The keys of `labels`, `samples_per_arm` and `needs`, and the arms of `groups`
and `told_apart`, are the names as texts. `names` has the names with their types.

`python -m kabc.results.schema` prints the JSON Schema; docs/schema/result-2.json holds it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, Strict, WithJsonSchema

from kabc.results.name_forms import Count, Name, Part
from kabc.strategies.answers import Status

FORMAT = "kabc result"
VERSION = 2

Number = float | Literal["inf", "-inf"] | None
"""A number in strict JSON: infinities are texts, NaN is null."""
Verdict = Literal["different", "same", "open"]
Levels = Annotated[
    dict[str, list[Annotated[tuple[float, str], Strict(False)]]],
    Field(description="for columns of categories: pairs of the number in `samples` and the category"),
]


class Group(Part):
    """One group, with the texts of its arms."""

    number: int = Field(ge=1, description="counted from 1, by first appearance in the order of the arms")
    arms: list[str] = Field(min_length=1)


class Apart(Part):
    """A pair of arms that was told apart."""

    arms: list[str] = Field(min_length=2, max_length=2)
    round: int = Field(ge=1, description="the first round that told the pair apart")
    strength: float | None = Field(description="latest evidence in units of its threshold; null: not finite")


class GuaranteePart(Part):
    """Why the answer may be trusted."""

    strategy: str
    claim: str
    assumptions: list[str]
    rule: list[str]
    conditional_on: str = ""


class RoundPart(Part):
    """One round."""

    number: Count
    delta: Number
    n: Count = Field(description="samples of each arm behind this round's figures")
    n_samples: Count = Field(description="samples of all arms so far")
    n_groups: Count


_VALUE = {"type": ["number", "boolean", "string", "null"]}


class ArrayPart(Part):
    """An array: its values row by row in `data`, or the one value of all of them in `fill`.

    Infinities are texts, NaN is null. `arrays.unpacked` checks the values: a model would take seconds for a million.
    """

    shape: list[Count] = Field(max_length=3)
    kind: Literal["bool", "int", "uint", "float", "text"]
    data: Annotated[list[Any], WithJsonSchema({"type": "array", "items": _VALUE})] | None = None
    fill: Annotated[Any, WithJsonSchema(_VALUE)] = None


class EvidencePart(Part):
    """Evidence of N arms against the C arms in `compared`; rows are arms. See `kabc.Evidence`."""

    by_bets: bool = Field(description="true: values are log evidence; false: they are distances")
    counts: ArrayPart = Field(description="(N,): samples of each arm behind these figures")
    compared: ArrayPart = Field(description="(C,): arms that all arms were compared with, counted from 0")
    told: ArrayPart = Field(description="(N, C): the first round that told the pair apart; 0 where none has")
    values: ArrayPart = Field(description="(N, C): log evidence or distance")
    limits: ArrayPart = Field(description="(N, C): what the value must reach (bets) or exceed (distances)")
    variances: ArrayPart = Field(description="(N,)")
    measured: ArrayPart | None = Field(default=None, description="(N, C): distances beside log evidence")


class TracePart(Part):
    """How the evidence grew over T rounds."""

    n_samples: ArrayPart = Field(description="(T,): samples of all arms so far")
    strength: ArrayPart = Field(description="(T, N, N): evidence of each pair in units of its threshold")


class AssumptionPart(Part):
    """An assumption that the samples speak against."""

    arm: str | None = Field(description="null: all arms together")
    what: str
    evidence: Number = Field(
        description="how many times as likely the samples are as if the assumption held; inf: a heuristic"
    )


class FailuresPart(Part):
    """Failed tries of one arm."""

    count: Count
    tries: Count = Field(description="all tries: samples, new tries and warm-ups")
    values: Count = Field(description="samples that stand for a failure, where failures are encoded")
    kinds: dict[str, Count] = Field(description="how many failed in which way, such as 'status 500' or 'timeout'")
    last: str = Field(description="what the last failure said")


class OriginPart(Part):
    """When the answer was found, from what, and how. Keys and passwords are hidden."""

    date: str = Field(description="when the run ended, in UTC, as in ISO 8601")
    source: str = Field(default="", description="where the samples came from: a file, a query, commands, addresses")
    command: str = Field(default="", description="the command line; empty: it was found in Python")
    version: str = Field(default="", description="of kabc")


class ContrastPart(Part):
    """One way in which a group differs from the reference group."""

    what: Literal["ratio", "difference", "spread", "above", "below", "share"] = Field(
        description="ratio, difference: of medians; spread: ratio of the distances from 5 to 95 %; above, below: "
        "difference of the shares of values beyond `at`; share: difference of the shares of the category `at`"
    )
    value: Number
    low: Number = Field(description="95 % bootstrap interval, as if samples were independent; null: none")
    high: Number
    size: Number = Field(description="standardised effect, to rank by")
    at: float | str | None = None
    shares: list[float] | None = Field(default=None, description="in this group, in the reference group")


class ColumnEffectPart(Part):
    """One column of a group or arm; numbers are null for categories, which have `shares`."""

    column: str
    n: Count
    median: Number
    low: Number = Field(description="5 % quantile")
    high: Number = Field(description="95 % quantile")
    mean: Number
    sd: Number
    shares: list[Annotated[tuple[str, float], Strict(False)]] = Field(description="of categories, the largest first")
    contrasts: list[ContrastPart] = Field(description="the largest standardised effect first")


class GroupEffectPart(Part):
    """The columns of one group."""

    number: int = Field(ge=1)
    n: Count = Field(description="samples kept")
    columns: list[ColumnEffectPart]


class ArmEffectPart(Part):
    """One arm against all other arms together: descriptive."""

    arm: str
    group: int = Field(ge=1)
    n: Count = Field(description="samples kept")
    oddness: Number = Field(description="the part of the distance that chance does not explain")
    distance: float = Field(description="largest Kolmogorov-Smirnov distance of its columns; of categories, of a share")
    column: str = Field(description="the column of this distance")
    columns: list[ColumnEffectPart]


class EffectsPart(Part):
    """How groups and arms differ: estimates from the samples kept, no part of the guarantee. Not read back."""

    reference: int | None = Field(description="number of the group that others are compared with: the largest")
    groups: list[GroupEffectPart]
    arms: list[ArmEffectPart] = Field(description="the odd ones first")


class QuantileMarginsPart(Part):
    """How far apart a quantile of two arms is at most and at least, in its unit."""

    same_within: float | None = Field(description="null: nothing is proven yet")
    apart_at_least: float


class VerdictPart(Part):
    """A pair: its verdict, and how far apart it is at most and at least, in the unit of the tolerance."""

    arms: Annotated[tuple[str, str], Strict(False)]
    verdict: Verdict
    same_within: float | None = Field(description="null: nothing is proven yet")
    apart_at_least: float
    quantiles: dict[str, QuantileMarginsPart] = Field(
        default={}, description="for a tolerance of quantiles: the margins of each"
    )


class QuantilePart(Part):
    """A quantile with a tolerance of its own."""

    name: str = Field(description="such as p99")
    tolerance: float = Field(gt=0, description="the largest difference that does not matter, in its unit")
    unit: str = Field(description="of the tolerance and of margins")
    estimates: list[Number] | None = Field(
        default=None, description="the quantile of the samples of each arm: an estimate; in the order of the arms"
    )
    matrices: dict[str, ArrayPart] | None = Field(default=None, description="margins of all pairs, (N, N)")


class TolerancePart(Part):
    """An answer within a tolerance."""

    said: str = Field(description="the tolerance: 2 %")
    unit: str = Field(description="of margins")
    kernel_distance: float | None = Field(
        gt=0, description="the tolerance as a distance of mean features; null for quantiles"
    )
    equivalents: list[str] = Field(description="the tolerance in other units")
    pairs: list[VerdictPart] = Field(description="all pairs, in the order of the arms; empty with more than 60 arms")
    between: list[str] = Field(
        description="arms that differ from a group by less than the tolerance, as far as was seen"
    )
    quantiles: list[QuantilePart] = Field(default=[], description="for a tolerance of quantiles: each of them")
    matrices: dict[str, ArrayPart] | None = Field(default=None, description="verdicts and margins of all pairs, (N, N)")


class Document(Part):
    """A result of kabc. Without `told_apart`, `rounds`, `evidence`, `samples` and `trace` it is the short form."""

    model_config = ConfigDict(title="kabc result")

    format: Literal["kabc result"]
    version: Literal[2]
    status: Status
    certified: bool = Field(
        description="whether the groups, or the verdict of a check, are certified; otherwise they are a guess"
    )
    conditional_on: str = Field(
        default="", description="what was taken for granted, such as 'there are exactly 4 groups'; empty: nothing"
    )
    names: list[Name] = Field(min_length=1, description="of the arms, with their types, in the order of the arms")
    groups: list[Group]
    labels: dict[str, int | None] = Field(
        description="for each arm the number of its group, counted from 1; null: set aside, in no group"
    )
    n_groups_at_least: int = Field(
        ge=1, description="certified lower bound on the number of groups; 1 if `assumptions` is not empty"
    )
    n_samples: Count = Field(description="every sample drawn: pilot, discarded and unfinished rounds included")
    n_pilot: Count = Field(description="samples that only chose the kernel or the length of blocks")
    n_unused: Count = Field(description="samples of a round that was not finished: counted, but not tested")
    samples_per_arm: dict[str, Count]
    n_told_apart: Count = Field(default=0, description="pairs that were told apart")
    needs: dict[str, Count] | None = Field(
        description="about how many more samples of which arms it takes to decide: an estimate; null: cannot be told"
    )
    delta: float = Field(ge=0, le=1, description="the largest probability of a wrong certified answer")
    n_clusters: Annotated[int, Field(ge=1)] | None = Field(description="groups asked for, K; null: not known")
    strategy: str
    guarantee: GuaranteePart
    kernel: str = Field(description="empty for strategies without a kernel")
    seed: int
    notes: list[str]
    set_aside: dict[str, str] = Field(default={}, description="arms that were not measured to the end, and why")
    assumptions: list[AssumptionPart] = Field(default=[], description="assumptions that the samples refute")
    k_doubt: float | None = Field(
        default=None,
        description="evidence, as a betting ratio, that one group is two: a heuristic; null: not looked for",
    )
    tolerance: TolerancePart | None = Field(
        default=None, description="what is proven of each pair within the tolerance, if one was given"
    )
    reference: list[Name] = Field(
        default=[], description="of a check: the arms that the first arm stands for; the second one was checked"
    )
    verdict: Literal["same", "different", "open"] | None = Field(default=None, description="of a check: what was found")
    failures: dict[str, FailuresPart] = Field(default={}, description="failed tries, of each arm that had any")
    failure: str = Field(default="", description="what ended the run, with status failed")
    columns: list[str] = Field(description="of a sample, where known")
    levels: Levels
    block: int = Field(default=1, ge=1, description="consecutive samples that form one block; 1: samples are tested")
    price: float = Field(ge=0, description="of one sample")
    n_recorded: Count = Field(default=0, description="samples of an earlier study that were read again, for nothing")
    n_lost: Count = Field(default=0, description="draws that were paid for and gave no sample")
    spent: float = Field(ge=0, description="price of all samples that were drawn for it, and of lost draws")
    seconds: float = Field(ge=0)
    origin: OriginPart | None = None
    effects: EffectsPart | None = None
    certificate: str | None = Field(default=None, description="the certificate as text, where asked for")
    told_apart: list[Apart] | None = Field(
        default=None,
        description="pairs that were told apart; certified, under conditional_on, unless status is stopped or "
        "`assumptions` is not empty",
    )
    rounds: list[RoundPart] | None = None
    evidence: EvidencePart | None = None
    samples: list[ArrayPart | None] | None = Field(
        default=None, description="for each arm its first samples, (m, d), for pictures; null: none kept"
    )
    trace: TracePart | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of this version."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Document.model_json_schema()}


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
