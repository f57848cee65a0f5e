"""The answer so far, and what it says of pairs and arms."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kabc.results.name_forms import Count
from kabc.results.schema import ArrayPart, ColumnEffectPart, Document, Levels, Number, Verdict
from kabc.server.models.base import Id, Model, Name, Query
from kabc.storage.contract import StudyState

Certainty = Literal["certified", "guess", "doubtful", "none"]
ExportForm = Literal["csv", "parquet", "kabcstudy", "json"]
PartName = Literal["answer", "groups", "verdicts", "effects", "values", "pairs", "pictures", "certificate", "settings"]

MOST_PAIRS = 50_000  # in one answer
MOST_ARMS = 5_000


class Snapshot(Model):
    """What is known of the answer: of whole rounds, so it may be behind the figures of the study by one round."""

    id: Id
    name: Name
    state: StudyState
    revision: Count = Field(description="of the study when this was computed")
    computing: bool = Field(description="true: a newer answer is on its way; ask again soon")
    certainty: Certainty = Field(description="of the groups; none: there is no answer yet")
    sentence: str = Field(description="the verdict in one sentence; empty: there is none yet")
    since: float = Field(description="when the study changed last")
    n_samples: Count = Field(description="of draws that count, of the unfinished round too")
    max_samples: Count | None
    spent: float
    certificate: str = Field(description="why it may be trusted, as text")
    answer: Document | None = Field(
        description="the short form of the result; effects.arms is empty here, see /arms; null: none yet"
    )


class Pair(Model):
    """Two arms."""

    a: str
    b: str
    verdict: Verdict = Field(description="what is proven; open: nothing yet")
    told_in_round: Count = Field(description="the first round that told them apart; 0: none has")
    strength: Number = Field(description="evidence that they differ, in units of its threshold; null: not compared")
    same_within: Number = Field(description="how far apart at most, in `unit`; null: no bound, or no tolerance")
    apart_at_least: Number = Field(description="how far apart at least, in `unit`; null: no tolerance")


class Pairs(Model):
    """Pairs in the order of the arms."""

    revision: Count
    total: Count = Field(description="all pairs that were asked for; `pairs` is the page of them")
    void: bool = Field(description="true: an assumption is refuted, or the rule is a heuristic; nothing is proven")
    conditional_on: str = Field(description="what the verdicts take for granted; empty: nothing")
    unit: str = Field(description="of margins; empty: there is no tolerance")
    pairs: list[Pair]


class PairsQuery(Query):
    """Which pairs."""

    arm: str | None = Field(default=None, max_length=1_000, description="only pairs of this arm")
    offset: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=10_000, ge=1, le=MOST_PAIRS)


class ArmView(Model):
    """One arm."""

    arm: str
    group: int | None = Field(description="null: set aside, or there is no answer yet")
    n_samples: Count
    spent: float
    set_aside: str = Field(description="why it was not measured to the end; empty: it was")
    n_failures: Count = Field(description="tries that failed")
    oddness: Number = Field(description="how much it stands out from all others: an estimate; null: not known")
    columns: list[ColumnEffectPart] = Field(description="where its values lie: estimates from the samples kept")


class ArmsView(Model):
    """Arms, the odd ones first."""

    revision: Count
    total: Count = Field(description="all arms that were asked for; `arms` is the page of them")
    certified: bool = Field(description="whether groups are certified; otherwise they are a guess")
    arms: list[ArmView]


class ArmsQuery(Query):
    """Which arms."""

    search: str = Field(default="", max_length=1_000, description="a part of the name, capital or not")
    offset: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=500, ge=1, le=MOST_ARMS)


class ArmSamples(Model):
    """The first samples of an arm, for pictures."""

    arm: str
    group: int | None
    n_samples: Count = Field(description="drawn in all")
    samples: ArrayPart | None = Field(description="(m, columns); null: none kept")


class PairTrace(Model):
    """How the evidence of a pair grew."""

    n_samples: list[Count] = Field(description="samples of all arms so far")
    strength: list[Number] = Field(description="evidence in units of its threshold")


class SamplesView(Model):
    """Two arms side by side."""

    revision: Count
    a: ArmSamples
    b: ArmSamples
    pair: Pair
    columns: list[str]
    levels: Levels
    trace: PairTrace | None = Field(description="null: not kept, as with more than 40 arms")


class SamplesQuery(Query):
    """Which two arms, by name."""

    a: str = Field(max_length=1_000)
    b: str = Field(max_length=1_000)


class ReportPart(Model):
    """A part of the report of the answer so far."""

    revision: Count
    html: str = Field(description="a fragment with classes of /static/report.css; empty: there is nothing to say")


class PartQuery(Query):
    """Which part of the report."""

    name: PartName


class ExportQuery(Query):
    """In which form."""

    form: ExportForm = Field(description="samples as csv or parquet, the study as kabcstudy, the full result as json")


class EarlierRun(Model):
    """The run before: the study whose samples are read first, or the last one of the same name but for its end."""

    id: Id
    name: Name
    created: float


class Changes(Model):
    """What changed since the run before."""

    revision: Count
    before: EarlierRun | None = Field(description="null: there is none that has ended")
    same: bool = Field(description="whether all arms that are in both have the groups that they had")
    alarm: bool = Field(description="whether a change is certified, or values moved by a test")
    lines: list[str] = Field(description="as kabc compare prints it")
    refused: str = Field(description="why the two cannot be compared; empty: they can")
