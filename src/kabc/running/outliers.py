"""`kabc.outliers`: which arms differ from the rest of a fleet."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext

from kabc.core.errors import ArmError, SettingsError
from kabc.core.settings import whole_number
from kabc.results.outliers import OutliersResult
from kabc.running.inputs import Reading, TableLike
from kabc.running.intake import Intake
from kabc.running.interrupts import run_interrupts
from kabc.running.odd_rounds import OddRounds
from kabc.running.progress import Progress, Ticker
from kabc.running.settings import Settings, seed_or_fresh
from kabc.running.sources import Arms, Sources
from kabc.running.strings import Strings
from kabc.running.tolerances import kinds_of, read_tolerance
from kabc.running.watch import Watch
from kabc.running.workers import Workers

_FEWEST = 3  # arms; of two, nobody is the rest


def outliers(
    arms: Arms | TableLike,
    *,
    tolerance: object = None,
    fdr: float = 0.05,
    max_samples: int | None = None,
    seed: int | None = None,
    names: Sequence[Hashable] | None = None,
    arm: str | None = None,
    values: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: str | None = None,
    order: str | None = None,
    where: str | None = None,
    block: int | str | None = None,
    workers: int | None = None,
    watch: bool = True,
    progress: Progress = None,
) -> OutliersResult:
    """Find the arms that differ from the rest, the odd ones first. For fleets: a thousand hosts and more.

    Each arm is compared with the rest: the average of all others, but for arms with few samples, and those that stand
    out in a pilot. Among the arms that are listed as odd, the expected share of false ones is at most `fdr`.

    Pools and tables are read to the end, or up to `max_samples`. Arms without an end are drawn equally often, until an
    arm that is twice the tolerance away would most likely have been found. Ctrl-C ends the run with what is known.

    Parameters
    ----------
    arms : mapping, sequence, data frame or path
        As for `kabc.cluster`, at least 3 arms.
    tolerance : str, number, mapping, function or KernelDistance, optional
        The smallest difference that matters, as for `kabc.cluster`. An arm within the tolerance of the rest is not odd.
        Default: any difference counts.
    fdr : float, default 0.05
        Bound of the false discovery rate: the expected share of false ones among the arms that are listed as odd.
    max_samples : int, optional
        Largest number of samples in all.
    seed, names, arm, values, types, missing, order, where, block, workers, watch, progress
        As for `kabc.cluster`.

    Returns
    -------
    OutliersResult
        Which arms are odd, how surely, and how far they are from the rest at least. Print it.

    Examples
    --------
    >>> import kabc
    >>> def host(mean):
    ...     return lambda n, rng: rng.normal(mean, 1.0, n)
    >>> hosts = {f"h{i}": host(12.0 if i == 3 else 10.0) for i in range(8)}
    >>> kabc.outliers(hosts, tolerance="0.5 sd", seed=0).odd_names
    ('h3',)
    """
    started = time.perf_counter()
    level = _share(fdr)
    workers = None if workers is None else whole_number("workers", workers, 1)
    settings = Settings(max_samples=max_samples, seed=seed_or_fresh(seed), block=block, tolerance=tolerance)
    show = Ticker.of(progress)
    try:
        reading = Reading(arm, values, types, missing, order, where)
        with show.during("reading the table") if reading.is_table(arms) else nullcontext():
            opened = reading.opened(arms, False, settings.seed, texts=True)
        sources = Sources(opened, names, settings.seed)
        if len(sources) < _FEWEST:
            raise ArmError(
                f"there must be at least {_FEWEST} arms, got {len(sources)}: of two arms, none is the rest; to compare "
                "two arms use kabc.cluster"
            )
        settings.check(len(sources))
        strings = Strings(types if opened is arms else None)
        watched = Watch(len(sources), settings.seed, paired=bool(sources.paired)) if watch else None
        intake = Intake(sources.names, sources.facts, settings.seed, strings, watched)
        sources.workers = Workers.of(None, workers, sources.arms)
        settings = read_tolerance(settings, intake, types)
        kinds = kinds_of(intake.columns, sources.facts.types)
        rounds = OddRounds(settings, sources, intake, level, kinds, show)
        with run_interrupts(show) as interrupts:
            try:
                result = rounds.result(interrupts, started)
            finally:
                sources.close()
        return result
    finally:
        show.done()


def _share(value: object) -> float:
    """A share between 0 and 1, both excluded."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
    if not 1e-200 < number < 1:
        raise SettingsError(f"fdr={value!r} is not between 0 and 1; 0.05 allows 5 % of false ones on average")
    return number
