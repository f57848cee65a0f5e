"""Tables of the runs: one row for each strategy on each instance, as text for people and as data."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kabc.bench.contest import Contest, bad
from kabc.bench.play import AT_CAP, FAILED, IN_TIME, UNFIT, Job, Outcome
from kabc.core.errors import SettingsError
from kabc.core.words import shown

_UNDECIDED = (AT_CAP, IN_TIME, "budget")


@dataclass(frozen=True)
class Row:
    """A strategy on an instance, over all seeds."""

    suite: str
    instance: str
    n_arms: int
    strategy: str
    title: str  # name in tables; it marks a reconstruction
    guarantee: str  # proven, heuristic, or oracle budget
    violated: tuple[str, ...]  # its assumptions
    runs: int
    samples: float  # mean total; a run that did not stop counts the samples it took
    sd: float
    queries: float | None  # mean number of single features, if the strategy counts them
    wrong: int
    wrong_low: float  # 95 % Clopper-Pearson interval of the probability of being wrong
    wrong_high: float
    undecided: int
    ending: str  # why it did not stop or could not run; "" if all runs stopped
    seconds_per_1000: float
    n: int | None  # samples of each arm, for strategies with one round

    @property
    def stops(self) -> bool:
        """Whether at least one run had an answer."""
        return self.runs > self.undecided

    @property
    def unfit(self) -> bool:
        """Whether the strategy could not run on the instance."""
        return self.runs == 0


def summarise(contest: Contest, found: Mapping[Job, Outcome]) -> list[Row]:
    """One row for each strategy and instance, in the order of the contest."""
    cells: dict[tuple[str, str], dict[int | None, list[Outcome]]] = {}
    for job, outcome in sorted(found.items(), key=lambda item: item[0].seed):
        cells.setdefault((job.instance, job.strategy), {}).setdefault(job.n, []).append(outcome)
    return [
        _row(contest, instance, strategy, cells[instance, strategy])
        for instance in contest.instances
        for strategy in contest.specs
        if (instance, strategy) in cells
    ]


def _row(contest: Contest, instance: str, strategy: str, by_n: Mapping[int | None, list[Outcome]]) -> Row:
    from scipy.stats import binomtest

    one, (_, entry) = contest.known()[instance], contest.specs[strategy]
    n = max((n for n in by_n if n is not None), default=None)  # the last number tried is the first that was enough
    outcomes = by_n[n]
    played = [outcome for outcome in outcomes if outcome.status not in (UNFIT, FAILED)]
    samples = [outcome.samples for outcome in played]
    queries = [outcome.queries for outcome in played if outcome.queries is not None]
    wrong = sum(outcome.wrong for outcome in played)
    interval = binomtest(wrong, len(played)).proportion_ci(0.95) if played else None
    short = entry.bench.one_round and bool(played) and bad(played) > contest.delta * contest.runs
    return Row(
        suite=contest.suite(instance),
        instance=instance,
        n_arms=one.n_arms,
        strategy=strategy,
        title=entry.title,
        guarantee="oracle budget" if entry.bench.one_round else _guarantee(entry.guarantee, played),
        violated=entry.bench.violated(one),
        runs=len(played),
        samples=statistics.fmean(samples) if samples else 0.0,
        sd=statistics.stdev(samples) if len(samples) > 1 else 0.0,
        queries=statistics.fmean(queries) if queries else None,
        wrong=0 if short else wrong,
        wrong_low=0.0 if interval is None else float(interval.low),
        wrong_high=1.0 if interval is None else float(interval.high),
        undecided=len(played) if short else sum(outcome.status in _UNDECIDED for outcome in played),
        ending="not enough at cap" if short else _ending(outcomes),
        seconds_per_1000=1000 * sum(outcome.seconds for outcome in played) / max(1, sum(samples)),
        n=n,
    )


def _guarantee(of_entry: str, played: Sequence[Outcome]) -> str:
    """What the runs certified counts: an option may have taken the proof away."""
    return "heuristic" if any(outcome.status == "stopped" for outcome in played) else of_entry


def _ending(outcomes: Sequence[Outcome]) -> str:
    for word in (FAILED, UNFIT, AT_CAP, IN_TIME):
        notes = [outcome.note for outcome in outcomes if outcome.status == word]
        if notes:
            return f"{word}: {notes[0]}" if notes[0] else word
    return ""


# ---------------------------------------------------------------- for people

HEAD = (
    "strategy",
    "samples",
    "sd",
    "per arm",
    "wrong",
    "95 % interval",
    "s/1,000",
    "guarantee",
    "assumptions",
)


CAPTION = (
    "Samples of each arm on average, pilots and discarded rounds included. Bold: proven and no assumption violated.  "
    "∞: no stop at the cap or in time.  !: wrong more often than delta allows for.  *: an assumption is violated.  "
    "-: cannot be set up.  (n): the smallest number of samples that is enough, which only an oracle knows."
)


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a line. If there was no answer, words say so instead of a number."""
    assumptions = "violated: " + ", ".join(row.violated) if row.violated else "met"
    if row.unfit:
        return (row.title, "not run", "", "", "", "", "", row.guarantee, row.ending)
    samples = f"{row.samples:,.0f}" if row.stops else row.ending
    if row.stops and row.undecided:
        samples += f", {row.undecided} of {row.runs} {row.ending}"
    if row.stops and row.queries is not None:
        samples += f" ({row.queries:,.0f} single values)"
    return (
        row.title,
        samples,
        f"{row.sd:,.0f}" if row.stops else "",
        f"{row.samples / row.n_arms:,.1f}" if row.stops else "",
        f"{row.wrong} of {row.runs}",
        f"{100 * row.wrong_low:.0f}-{100 * row.wrong_high:.0f} %" if row.stops else "",
        f"{row.seconds_per_1000:.2g}",
        row.guarantee,
        assumptions,
    )


def as_text(rows: Sequence[Row], contest: Contest) -> str:
    """One table for each suite and instance, for a terminal."""
    blocks = []
    for title, lines in _by_instance(rows, contest):
        table = [HEAD, *lines]
        widths = [max(len(line[place]) for line in table) for place in range(len(HEAD))]
        left = {0, 1, 7, 8}
        text = [
            "  ".join(
                cell.ljust(width) if place in left else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        ]
        blocks.append("\n".join([title, *text]))
    return "\n\n".join(blocks)


def as_markdown(rows: Sequence[Row], contest: Contest) -> str:
    """The same tables for a web page."""
    blocks = []
    for title, lines in _by_instance(rows, contest):
        table = [HEAD, ("---",) * len(HEAD), *lines]
        blocks.append("\n".join([f"### {title}", "", *("| " + " | ".join(line) + " |" for line in table)]))
    return "\n\n".join(blocks) + "\n"


def text_of(row: Row, delta: float) -> str:
    """The text of a cell."""
    if row.unfit:
        return "-"
    if not row.stops:
        return "∞" + ("*" if row.violated else "")
    each = row.samples / row.n_arms
    number = f"{each:,.0f}" if each >= 10 else f"{each:.1f}"
    if each >= 10_000:
        number = f"{each / 1000:,.0f}k"
    marks = ("!" if row.wrong_low > delta else "") + ("*" if row.violated else "")
    marks += "∞" if row.undecided else ""  # some runs
    return (f"({number})" if row.guarantee == "oracle budget" else number) + marks


def as_matrix(rows: Sequence[Row], delta: float) -> str:
    """The numbers of the figure for a web page: a row for each strategy, a column for each instance."""
    instances = list(dict.fromkeys(row.instance for row in rows))
    found = {(row.strategy, row.instance): text_of(row, delta) for row in rows}
    lines = [("strategy", *instances), ("---",) * (len(instances) + 1)]
    lines += [
        (title, *(found.get((strategy, instance), "") for instance in instances))
        for strategy, title in dict.fromkeys((row.strategy, row.title) for row in rows)
    ]
    return "\n".join("| " + " | ".join(map(shown, line)) + " |" for line in lines) + "\n"


def _by_instance(rows: Sequence[Row], contest: Contest) -> Iterable[tuple[str, list[tuple[str, ...]]]]:
    known = contest.known()
    for name in dict.fromkeys(row.instance for row in rows):
        one = known[name]
        mine = [row for row in rows if row.instance == name]
        cap = one.cap if contest.cap is None else contest.cap
        title = (
            f"{mine[0].suite} / {name}: {one.hard} (N = {one.n_arms}, K = {one.n_groups}, delta = {contest.delta:g}, "
            f"{contest.runs} {'run' if contest.runs == 1 else 'runs'}, cap {cap:,})"
        )
        yield shown(title), [tuple(map(shown, cells(row))) for row in mine]


# ---------------------------------------------------------------- for programs


def as_data(rows: Iterable[Row]) -> list[dict[str, object]]:
    """Plain values."""
    return [asdict(row) | {"violated": list(row.violated)} for row in rows]


def write_parquet(found: Mapping[Job, Outcome], path: Path) -> None:
    """Write every run as a row of a table."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise SettingsError("runs.parquet needs pyarrow; pip install 'kabc[data]'") from None
    rows = [asdict(job) | outcome.as_row() for job, outcome in found.items()]
    pq.write_table(pa.Table.from_pylist(rows), path)
