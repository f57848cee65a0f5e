"""From a strategy and the samples it was told to a Result."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kabc.arms.tallies import Failures, with_counts
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import Verdicts
from kabc.core.partitions import Partition
from kabc.core.words import counted, named
from kabc.results.forecast import more_samples
from kabc.results.origin import origin_now
from kabc.results.values import Result, Trace
from kabc.running import watch
from kabc.running.intake import Intake
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.base import Strategy

# a refuted assumption takes the certificate away; of these, nothing else has to be said
_CERTIFIES: tuple[Status, ...] = ("decided", "contradicted", "budget", "exhausted", "stalled")
_MOST_PAIRS = 3  # that are named; more are counted


@dataclass(frozen=True)
class Ending:
    """How a run ended, and what it knows beside strategy and arms."""

    status: Status
    n_pilot: int
    n_told: int  # samples that the strategy was told in this run
    notes: tuple[str, ...]
    seconds: float
    trace: Trace | None
    failures: Mapping[Hashable, Failures]
    n_lost: int  # draws that were paid for without a sample to show
    advice: tuple[str, ...] = ()  # what to ask for next; not where an assumption is refuted
    assumed: Sequence[str] = ()  # beside what the strategy assumes
    broken: bool = False  # the strategy failed while it was told a round: what it says now is not certain


def answer(strategy: Strategy, intake: Intake, ended: Ending) -> Result:
    """What was found, what it cost, and why it may be trusted."""
    watched = intake.watch
    refuted = () if watched is None else watched.assumptions(intake.names, intake.columns, intake.types)
    refuted += () if intake.changed is None else intake.changed.drifts
    n_arms = len(intake)
    found = Partition((0,) * n_arms) if ended.broken else strategy.recommend()
    labels = placed(found, intake.drawn).labels
    evidence = Evidence.none(n_arms) if ended.broken else strategy.evidence()
    void = bool(refuted) or ended.status == "stopped"
    drawn, failures = dict(zip(intake.names, intake.drawn, strict=True)), intake.failures(ended.failures)
    said = with_counts(intake.notes, failures, drawn)
    return Result(
        names=intake.names,
        labels=labels,
        status="doubtful" if refuted and ended.status in _CERTIFIES else ended.status,
        evidence=evidence,
        samples_per_arm=drawn,
        rounds=tuple(strategy.rounds),
        guarantee=_watched(strategy.guarantee(), intake, ended.assumed),
        delta=strategy.delta,
        n_clusters=strategy.n_clusters,
        n_groups_at_least=1 if ended.broken or refuted else strategy.n_groups_at_least,
        kernel="" if strategy.kernel is None else repr(strategy.kernel),
        seed=intake.seed,
        n_pilot=ended.n_pilot,
        n_unused=intake.n_samples - ended.n_pilot - ended.n_told,
        notes=(
            *said,
            *(() if void else _inside(labels, evidence, intake.names)),
            *ended.notes,
            *(() if refuted else ended.advice),
        ),
        assumptions=refuted,
        block=intake.block,
        set_aside=reasons(labels, intake),
        price=intake.price,
        n_lost=ended.n_lost,
        n_recorded=intake.n_recorded,
        failures=failures,
        seconds=ended.seconds,
        columns=intake.columns,
        levels={column: dict(known) for column, known in intake.levels.items()},
        samples=intake.kept.by_name(intake.names),
        trace=ended.trace,
        k_doubt=getattr(strategy, "k_doubt", None),
        tolerance=None if ended.broken else _verdicts(strategy, doubted=bool(refuted)),
        needs=None if refuted else _needs(strategy, intake),
        origin=origin_now(intake.facts.source),
    )


def _inside(labels: Sequence[int], evidence: Evidence, names: Sequence[Hashable]) -> tuple[str, ...]:
    """Pairs told apart that are in one group: others link them, and some rules ask for no more than that."""
    groups = np.array(labels)
    same = (groups[:, None] == groups[evidence.compared]) & (groups[:, None] >= 0)
    rows, columns = np.nonzero((evidence.told > 0) & same)
    pairs = np.unique(np.sort(np.stack([rows, evidence.compared[columns]], axis=1), axis=1), axis=0)
    if not len(pairs):
        return ()
    first = [f"{named(names[i])} and {named(names[j])}" for i, j in pairs[:_MOST_PAIRS].tolist()]
    more = len(pairs) - len(first)
    listed = ", ".join(first) + (f" and {counted(more, 'more pair')}" if more else "")
    return (f"{listed} are told apart, though others link them: their group is more than one",)


def _verdicts(strategy: Strategy, *, doubted: bool) -> Verdicts | None:
    """What is proven within a tolerance, by a strategy that takes one."""
    ask = getattr(strategy, "verdicts", None)
    found: Verdicts | None = None if ask is None else ask()
    return found.taken_back() if found is not None and doubted else found


def _watched(why: Guarantee, intake: Intake, assumed: Sequence[str]) -> Guarantee:
    """What a strategy says of itself, what recorded samples assume, and which of the assumptions were watched."""
    lines = (*assumed, *(() if intake.reuse is None else intake.reuse.lines()))
    lines += (watch.OFF,) if intake.watch is None else intake.watch.lines(intake.names)
    if any("different arms" in line for line in why.assumptions):  # some strategies do without
        lines = (*lines, watch.NOT_SEEN)
    return replace(why, assumptions=(*why.assumptions, *lines))


def placed(found: Partition, drawn: Sequence[int]) -> Partition:
    """The groups without arms that nothing was drawn of; a certified partition is as it is."""
    if found.certified:
        return found
    return Partition.of([label if n else -1 for label, n in zip(found.labels, drawn, strict=True)])


def reasons(labels: Sequence[int], intake: Intake) -> dict[Hashable, str]:
    """Why arms were set aside."""
    aside = [arm for arm, label in enumerate(labels) if label < 0]
    return {intake.names[arm]: _reason(intake.drawn[arm], intake.left(arm)) for arm in aside}


def _reason(drawn: int, left: int | None) -> str:
    if drawn == 0:
        return "no rows" if left == 0 else "no sample was drawn"
    if left is None:
        return f"the group was not clear after {counted(drawn, 'sample')}"
    if left == 0:
        every = f"all {drawn:,} rows were" if drawn > 1 else "its only row was"
        return f"{every} read before the group was clear"
    return f"{drawn:,} of {drawn + left:,} rows {'was' if drawn == 1 else 'were'} read before the group was clear"


def _needs(strategy: Strategy, intake: Intake) -> dict[Hashable, int] | None:
    """How many more samples of which arms it takes to decide, where that can be told."""
    more = more_samples(strategy)
    if more is None:
        return None
    return {name: count for name, count in zip(intake.names, more.tolist(), strict=True) if count}
