"""From a strategy and the arms it was run on to a Result."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from kabc.core.evidence.pairs import Evidence
from kabc.results.forecast import more_samples
from kabc.results.values import Result, Trace
from kabc.running.record import drift_notes
from kabc.running.sources import Sources
from kabc.strategies.answers import Status
from kabc.strategies.base import Strategy


@dataclass(frozen=True)
class Ending:
    """How a run ended, and what it knows beside strategy and arms."""

    status: Status
    n_pilot: int
    n_told: int  # samples that the strategy was told in this run
    notes: tuple[str, ...]
    seconds: float
    trace: Trace | None
    broken: bool = False  # the strategy failed while it was told a round: what it says now is not certain


def answer(strategy: Strategy, sources: Sources, ended: Ending) -> Result:
    """What was found, what it cost, and why it may be trusted."""
    samples = sources.kept.by_name(sources.names)
    n_arms = len(sources)
    return Result(
        names=sources.names,
        labels=(0,) * n_arms if ended.broken else strategy.recommend().labels,
        status=ended.status,
        evidence=Evidence.none(n_arms) if ended.broken else strategy.evidence(),
        samples_per_arm=dict(zip(sources.names, sources.drawn, strict=True)),
        rounds=tuple(strategy.rounds),
        guarantee=strategy.guarantee(),
        delta=strategy.delta,
        n_clusters=strategy.n_clusters,
        n_groups_at_least=1 if ended.broken else strategy.n_groups_at_least,
        kernel="" if strategy.kernel is None else repr(strategy.kernel),
        seed=sources.seed,
        n_pilot=ended.n_pilot,
        n_unused=sources.n_samples - ended.n_pilot - ended.n_told,
        notes=(*sources.notes, *ended.notes, *drift_notes(samples, sources.columns)),
        price=sources.price,
        n_lost=sources.n_lost,
        seconds=ended.seconds,
        columns=sources.columns,
        levels={column: dict(known) for column, known in sources.levels.items()},
        samples=samples,
        trace=ended.trace,
        k_doubt=getattr(strategy, "k_doubt", None),
        needs=_needs(strategy, sources),
    )


def _needs(strategy: Strategy, sources: Sources) -> dict[Hashable, int] | None:
    """How many more samples of which arms it takes to decide, where that can be told."""
    more = more_samples(strategy)
    if more is None:
        return None
    return {name: count for name, count in zip(sources.names, more.tolist(), strict=True) if count}
