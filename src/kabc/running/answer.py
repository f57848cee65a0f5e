"""From a strategy and the arms it was run on to a Result."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from kabc.arms.tallies import with_counts
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import Verdicts
from kabc.core.partitions import Partition
from kabc.core.words import counted
from kabc.results.forecast import more_samples
from kabc.results.origin import origin_now
from kabc.results.values import Result, Trace
from kabc.running import watch
from kabc.running.sources import Sources
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.base import Strategy

# a refuted assumption takes the certificate away; of these, nothing else has to be said
_CERTIFIES: tuple[Status, ...] = ("decided", "contradicted", "budget", "exhausted", "stalled")


@dataclass(frozen=True)
class Ending:
    """How a run ended, and what it knows beside strategy and arms."""

    status: Status
    n_pilot: int
    n_told: int  # samples that the strategy was told in this run
    notes: tuple[str, ...]
    seconds: float
    trace: Trace | None
    advice: tuple[str, ...] = ()  # what to ask for next; not where an assumption is refuted
    broken: bool = False  # the strategy failed while it was told a round: what it says now is not certain


def answer(strategy: Strategy, sources: Sources, ended: Ending) -> Result:
    """What was found, what it cost, and why it may be trusted."""
    watched = sources.watch
    refuted = () if watched is None else watched.assumptions(sources.names, sources.columns)
    n_arms = len(sources)
    found = Partition((0,) * n_arms) if ended.broken else strategy.recommend()
    labels = placed(found, sources.drawn).labels
    drawn, failures = dict(zip(sources.names, sources.drawn, strict=True)), sources.failures
    said = with_counts(sources.notes, failures, drawn)
    return Result(
        names=sources.names,
        labels=labels,
        status="doubtful" if refuted and ended.status in _CERTIFIES else ended.status,
        evidence=Evidence.none(n_arms) if ended.broken else strategy.evidence(),
        samples_per_arm=drawn,
        rounds=tuple(strategy.rounds),
        guarantee=_watched(strategy.guarantee(), watched),
        delta=strategy.delta,
        n_clusters=strategy.n_clusters,
        n_groups_at_least=1 if ended.broken or refuted else strategy.n_groups_at_least,
        kernel="" if strategy.kernel is None else repr(strategy.kernel),
        seed=sources.seed,
        n_pilot=ended.n_pilot,
        n_unused=sources.n_samples - ended.n_pilot - ended.n_told,
        notes=(
            *said,
            *ended.notes,
            *(() if watched is None else watched.notes(sources.names)),
            *(() if refuted else ended.advice),
        ),
        assumptions=refuted,
        block=sources.block,
        set_aside=reasons(labels, sources),
        price=sources.price,
        n_lost=sources.n_lost,
        failures=failures,
        seconds=ended.seconds,
        columns=sources.columns,
        levels={column: dict(known) for column, known in sources.levels.items()},
        samples=sources.kept.by_name(sources.names),
        trace=ended.trace,
        k_doubt=getattr(strategy, "k_doubt", None),
        tolerance=None if ended.broken else _verdicts(strategy, doubted=bool(refuted)),
        needs=None if refuted else _needs(strategy, sources),
        origin=origin_now(sources.source),
    )


def _verdicts(strategy: Strategy, *, doubted: bool) -> Verdicts | None:
    """What is proven within a tolerance, by a strategy that takes one."""
    ask = getattr(strategy, "verdicts", None)
    found: Verdicts | None = None if ask is None else ask()
    return found.taken_back() if found is not None and doubted else found


def _watched(why: Guarantee, watched: watch.Watch | None) -> Guarantee:
    """What a strategy says of itself, and which of its assumptions were watched."""
    lines = (watch.OFF,) if watched is None else watched.lines()
    if any("different arms" in line for line in why.assumptions):  # some strategies do without
        lines = (*lines, watch.NOT_SEEN)
    return replace(why, assumptions=(*why.assumptions, *lines))


def placed(found: Partition, drawn: Sequence[int]) -> Partition:
    """The groups without arms that nothing was drawn of; a certified partition is as it is."""
    if found.certified:
        return found
    return Partition.of([label if n else -1 for label, n in zip(found.labels, drawn, strict=True)])


def reasons(labels: Sequence[int], sources: Sources) -> dict[Hashable, str]:
    """Why arms were set aside."""
    aside = [arm for arm, label in enumerate(labels) if label < 0]
    return {sources.names[arm]: _reason(sources.drawn[arm], sources.arms[arm].remaining) for arm in aside}


def _reason(drawn: int, left: int | None) -> str:
    if drawn == 0:
        return "no rows" if left == 0 else "no sample was drawn"
    if left is None:
        return f"the group was not clear after {counted(drawn, 'sample')}"
    if left == 0:
        every = f"all {drawn:,} rows were" if drawn > 1 else "its only row was"
        return f"{every} read before the group was clear"
    return f"{drawn:,} of {drawn + left:,} rows {'was' if drawn == 1 else 'were'} read before the group was clear"


def _needs(strategy: Strategy, sources: Sources) -> dict[Hashable, int] | None:
    """How many more samples of which arms it takes to decide, where that can be told."""
    more = more_samples(strategy)
    if more is None:
        return None
    return {name: count for name, count in zip(sources.names, more.tolist(), strict=True) if count}
