"""What goes over the wire, field by field. /openapi.json is made from these models, and a page from that.

Times are seconds since the epoch, by the clock of the store. Groups are numbered from 1. Answers have the one form of
results (kabc.results.schema, docs/schema/result-2.json).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kabc.results.schema import ArrayPart, ColumnEffectPart, Document, Number
from kabc.storage.contract import Outcome, Scope, StudyState

Id = Annotated[int, Field(ge=1, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Certainty = Literal["certified", "guess", "doubtful", "none"]
ExportForm = Literal["csv", "parquet", "kabcstudy", "json"]

PartName = Literal["answer", "groups", "verdicts", "effects", "values", "pairs", "pictures", "certificate", "settings"]

MOST_PAIRS = 50_000  # in one answer
MOST_ARMS = 5_000
MOST_NOTES = 1_000
MOST_DRAWS = 5_000  # in one exchange
LONGEST_WAIT = 30.0  # seconds
SMALL_BODY = 2**14  # bytes of a request
LARGE_BODY = 2**24  # of one with samples, or with facts of many arms


class Model(BaseModel):
    """Numbers are numbers and texts are texts. An answer may have more fields in later versions."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class Body(Model):
    """What is sent to the server: fields that are not described are refused."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """What is wrong, in one line. The code of the answer says of which kind it is."""

    error: str


# ---------------------------------------------------------------- who is there


class Login(Body):
    """A token, in exchange for a cookie."""

    token: str = Field(min_length=1, max_length=200)


class Visitor(Model):
    """Who the server takes the caller for."""

    scope: Scope = Field(description="what the caller may do: read; tell: draw for studies; admin: everything")
    label: str = Field(description="whose token it is")
    version: str = Field(description="of kabc")


# ---------------------------------------------------------------- studies in figures


class StudyLine(Model):
    """A study in the list."""

    id: Id
    name: Name
    state: StudyState
    status: str | None = Field(description="how it ended: decided, budget, ...; null: it has not")
    created: float
    last_change: float
    revision: Count = Field(description="grows with every change: the id of its events")
    n_arms: Count
    n_rounds: Count
    n_samples: Count = Field(description="of draws that count")
    max_samples: Count | None = Field(description="the budget; null: none")
    spent: float = Field(description="price of what was paid for")
    n_workers: Count = Field(description="that gave a sign of life in the last minute")


class Studies(Model):
    """All studies, oldest first."""

    storage: str = Field(description="where they are kept, without a password")
    now: float
    studies: list[StudyLine]


class TicketCounts(Model):
    """Draws of the latest round."""

    open: Count = 0
    leased: Count = 0
    done: Count = 0
    failed: Count = 0


class WorkerView(Model):
    """A process that draws."""

    name: Name
    host: str
    alive: bool = Field(description="it gave a sign of life in the last minute, and is not known to have ended")
    first_seen: float
    last_seen: float
    n_leases: Count = Field(description="draws that it has under way")
    n_arms: Count = Field(description="arms that it can draw")


class LeaseView(Model):
    """A draw that is under way."""

    ticket: Id
    arm: str
    count: Count
    worker: str
    expires: float = Field(description="when it lapses, unless the worker renews it")
    lapsed: bool
    deaths: Count = Field(description="workers that died with it")


class StudyView(StudyLine):
    """One study: everything that is known without reading a sample."""

    now: float
    question: dict[str, Any] = Field(description="strategy, settings, seed")
    arms: list[str] = Field(description="names, in the order of the study")
    samples_per_arm: list[Count] = Field(description="in the order of `arms`")
    price: float = Field(description="of one sample")
    n_paid: Count = Field(description="calls that were paid for")
    tickets: TicketCounts
    workers: list[WorkerView] = Field(description="the latest 200")
    leases: list[LeaseView] = Field(description="the first 500")
    notes: dict[str, Count] = Field(description="kind -> how many; see /notes")


class NoteView(Model):
    """Something that happened to a study."""

    id: Id
    kind: str = Field(description="late, superseded, failed, lapsed, limits, paused, running, stopped, ...")
    body: dict[str, Any] = Field(description="what, by whom; numbers of arms count from 0")
    written: float


class Notes(Model):
    """Notes, the oldest first."""

    notes: list[NoteView]
    more: bool = Field(description="there are later ones: ask again, after the last id")


class Event(Model):
    """The data of a server-sent event. Its id is the revision."""

    revision: Count
    state: StudyState | Literal["deleted"]
    status: str | None = None
    n_rounds: Count = 0
    n_samples: Count = 0
    n_paid: Count = 0
    spent: float = 0.0
    tickets: TicketCounts = TicketCounts()
    last_change: float = 0.0


class StudyEvent(Event):
    """An event in a stream of several studies."""

    study: Id


# ---------------------------------------------------------------- the answer so far


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
    verdict: Literal["different", "same", "open"] = Field(description="what is proven; open: nothing yet")
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
    levels: dict[str, list[tuple[float, str]]] = Field(
        description="for columns of categories: pairs of the number in samples and the category"
    )
    trace: PairTrace | None = Field(description="null: not kept, as with more than 40 arms")


class ReportPart(Model):
    """A part of the report of the answer so far."""

    revision: Count
    html: str = Field(description="a fragment with classes of /static/report.css; empty: there is nothing to say")


# ---------------------------------------------------------------- queries


class Query(BaseModel):
    """What stands behind the question mark: texts that become numbers."""

    model_config = ConfigDict(extra="forbid")


class PairsQuery(Query):
    """Which pairs."""

    arm: str | None = Field(default=None, max_length=1_000, description="only pairs of this arm")
    offset: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=10_000, ge=1, le=MOST_PAIRS)


class ArmsQuery(Query):
    """Which arms."""

    search: str = Field(default="", max_length=1_000, description="a part of the name, capital or not")
    offset: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=500, ge=1, le=MOST_ARMS)


class PartQuery(Query):
    """Which part of the report."""

    name: PartName


class SamplesQuery(Query):
    """Which two arms, by name."""

    a: str = Field(max_length=1_000)
    b: str = Field(max_length=1_000)


class NotesQuery(Query):
    """Which notes."""

    after: int = Field(default=0, ge=0, le=2**63 - 1, description="id of the last note that is known")
    limit: int = Field(default=200, ge=1, le=MOST_NOTES)


class EventsQuery(Query):
    """Which studies, in one stream."""

    studies: str = Field(pattern=r"^[1-9][0-9]{0,17}(,[1-9][0-9]{0,17}){0,49}$", description="ids, as in 1,7")


class ExportQuery(Query):
    """In which form."""

    form: ExportForm = Field(description="samples as csv or parquet, the study as kabcstudy, the full result as json")


class WorkQuery(Query):
    """Which study; and whether to wait for a change of it."""

    study: str = Field(max_length=200, description="its name")
    revision: int | None = Field(default=None, ge=0, le=2**63 - 1, description="wait until it is above this one")
    seconds: float = Field(default=0.0, ge=0, le=LONGEST_WAIT, description="how long to wait at most")


# ---------------------------------------------------------------- steering


class Steer(Body):
    """What to do with a study."""

    action: Literal["pause", "resume", "stop", "raise-budget"]
    max_samples: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        default=None, description="of raise-budget: the new limit; null: none"
    )


class Delete(Body):
    """A study is deleted if its name is typed again."""

    name: str = Field(max_length=200)


class Done(Model):
    """It is done."""

    done: Literal[True] = True


# ---------------------------------------------------------------- workers


class Look(Model):
    """What a worker needs to know of its study."""

    id: Id
    name: Name
    spec: dict[str, Any]
    state: StudyState
    created: float
    revision: Count
    facts: dict[str, Any] | None
    limits: dict[str, Any]
    now: float
    n_rounds: Count
    n_samples: Count
    n_paid: Count
    last_change: float
    tickets: TicketCounts
    waiting: list[Count] = Field(description="arms with draws that nobody has leased, by number")
    deaths: dict[int, Count] = Field(description="number of an arm -> workers that died with draws of it")
    failed: NoteView | None = Field(description="the failed draw that holds the round up")
    block: NoteView | None = Field(description="the length of the blocks, where it was found")
    stuck: str = Field(description="why the server cannot go on with the study; empty: it can")


class WorkerFacts(Model):
    """A worker as its study keeps it."""

    name: Name
    facts: dict[str, Any]
    first_seen: float
    last_seen: float


class Crew(Model):
    """All workers that were ever there."""

    workers: list[WorkerFacts]


class Join(Body):
    """A worker that is there from now on."""

    worker: Name
    facts: dict[str, Any] = Field(description="host, process, the arms that it can draw")


class ArmsFacts(Body):
    """What a worker knows of the arms; the first ones count."""

    facts: dict[str, Any]


class DrawIn(Body):
    """Samples for a ticket."""

    kind: Literal["draw"] = "draw"
    ticket: Id
    lease: Count = Field(description="the number of the lease; a result of an older one is superseded")
    rows: str = Field(description="as kabc.storage.rows.encode writes them, in base64")
    started: float
    ended: float
    n_paid: Count = Field(default=0, description="calls that were paid for; 0: as many as samples")


class FailureIn(Body):
    """A lease that ended without samples."""

    kind: Literal["failure"] = "failure"
    ticket: Id
    lease: Count
    message: str = Field(max_length=10_000)
    final: bool = Field(description="true: the draw failed; false: the ticket is given back")


class Exchange(Body):
    """Tell what was drawn or failed, and lease more: one call, which happens whole or not at all."""

    worker: Name
    finished: list[Annotated[DrawIn | FailureIn, Field(discriminator="kind")]] = Field(
        default=[], max_length=MOST_DRAWS
    )
    want: int = Field(default=0, ge=0, le=MOST_DRAWS, description="how many draws to lease")
    arms: list[Count] | None = Field(default=None, description="numbers of arms that it can draw; null: all")
    seconds: Seconds = Field(default=60.0, description="how long a lease lasts without a sign of life")
    held: list[Id] | None = Field(
        default=None,
        description="after an answer that was lost: all tickets that the worker knows to hold; others are given back",
    )


class Leased(Model):
    """A draw that the worker has now."""

    id: Id
    round: int
    place: Count
    arm: Count
    piece: Count
    start: Count
    count: Count
    lease: Count
    expires: float
    deaths: Count


class Exchanged(Model):
    """What became of what was handed in, in its order, and what was leased."""

    outcomes: list[Outcome]
    leased: list[Leased]


class Beat(Body):
    """A sign of life: the leases held last for so many seconds more."""

    worker: Name
    held: dict[int, Count] = Field(description="ticket -> number of its lease")
    seconds: Seconds = 60.0


class Kept(Model):
    """Tickets that are still the worker's."""

    kept: list[Id]


class Leave(Body):
    """A worker has ended: its leases lapse now."""

    worker: Name
    counted: bool = Field(description="true: it died; false: it was told to leave")


class Remark(Body):
    """A note that workers write: a lost draw is drawn again, or encoded as a failure; what codes of categories mean."""

    kind: Literal["redrawn", "encoded", "restarted", "categories"]
    body: dict[str, Any]
