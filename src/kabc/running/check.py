"""`kabc.check`: one arm against a reference, which is one arm or a pool of several."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

from kabc.arms.pooled import PooledDraws
from kabc.core.errors import ArmError, SettingsError
from kabc.core.settings import whole_number
from kabc.core.words import did_you_mean
from kabc.results.values import Result
from kabc.running.cluster import run_on
from kabc.running.inputs import Reading, TableLike
from kabc.running.intake import Intake
from kabc.running.pooling import pooled_sources
from kabc.running.progress import Progress, Ticker
from kabc.running.settings import AUTO, TOLERANCE, Settings, seed_or_fresh
from kabc.running.snapshots import Listener
from kabc.running.sources import Arms, Sources, named_arms
from kabc.running.strings import Strings
from kabc.running.tolerances import read_tolerance
from kabc.running.workers import Place
from kabc.strategies.gate.strategy import LINGER, PILOT
from kabc.strategies.tolerance.quantiles import FIRST
from kabc.strategies.tolerance.reading import is_about_quantiles

REST = "rest"  # all other arms

_MOST = 6  # arms that are named in an error


def check(
    arms: Arms | TableLike,
    *,
    this: Hashable,
    same_as: Hashable | Sequence[Hashable] = REST,
    tolerance: object,
    delta: float | None = None,
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
    on_round: Listener | None = None,
) -> Result:
    """Find out whether one arm is the same as a reference, within a tolerance. Only these arms are drawn.

    With enough samples any two builds differ, so a difference alone ends nothing. The run goes on until it is certified
    that the distance is below the tolerance ("same"); or the two are told apart, and their distance is certified to
    reach the tolerance, or, when that would take too long, estimated to be above it ("different").

    Parameters
    ----------
    arms : mapping, sequence, data frame or path
        As for `kabc.cluster`.
    this : hashable
        The name of the arm that is checked.
    same_as : hashable or sequence of hashable, default "rest"
        The reference: a name, or a list of names. "rest": all other arms. Several arms are one pool. Of tables and
        arrays it holds all rows, in random order. Of functions, commands and endpoints each sample comes from one of
        them, chosen at random.
    tolerance : str, number, mapping, function or KernelDistance
        The smallest difference that matters, as for `kabc.cluster`; of quantiles as well, such as {"p99": "10%"}.
    delta : float, optional
        Largest probability of a wrong answer, in (0, 1]. Default: 0.05.
    max_samples : int, optional
        Stop before more than this many samples are drawn in all.
    seed, names, arm, values, types, missing, order, where, block, workers, watch, progress, on_round
        As for `kabc.cluster`.

    Returns
    -------
    Result
        Its `verdict` is "same", "different" or "open" (not known). Its arms are the reference and this arm, in this
        order; `reference` has the names of the arms of the reference. Print it.

    Examples
    --------
    >>> import kabc
    >>> def build(mean):
    ...     return lambda n, rng: rng.normal(mean, 1.0, n)
    >>> builds = {"v1": build(10.0), "v2": build(10.0), "v3": build(13.0)}
    >>> kabc.check(builds, this="v2", same_as="v1", tolerance="0.5 sd", seed=0).verdict
    'same'
    >>> kabc.check(builds, this="v3", same_as=["v1", "v2"], tolerance="0.5 sd", seed=0).verdict
    'different'
    """
    started = time.perf_counter()
    if tolerance is None:
        raise SettingsError("a check needs a tolerance, the smallest difference that matters, such as '2%'")
    settings = Settings(
        delta=delta,
        strategy=TOLERANCE,
        options={"gate": True},
        max_samples=max_samples,
        tolerance=tolerance,
        seed=seed_or_fresh(seed),
        block=block,
    )
    place = Place(workers, None, "redraw")
    show = Ticker.of(progress)
    reading = Reading(arm, values, types, missing, order, where)
    try:
        with show.during("reading the table") if reading.is_table(arms) else nullcontext():
            opened = reading.opened(arms, False, settings.seed, texts=True)
        given = named_arms(opened, names)
        reference = _reference([name for name, _ in given], this, same_as)
        sources, watched = pooled_sources(opened, given, this, reference, settings.seed, watch=watch)
        _expect_block(block, sources)
        strings = Strings(types if opened is arms else None)
        intake = Intake(sources.names, sources.facts, settings.seed, strings, watched)
        settings = read_tolerance(settings, intake, types)
        if watch and any(one.remaining is None for one in sources.arms):
            settings = replace(settings, options={**settings.options, "linger": LINGER})
        if is_about_quantiles(settings.tolerance, intake.columns):
            _expect_first(max_samples, 2 * FIRST, "")
        else:
            pilot = 2 * PILOT * (block if isinstance(block, int) else 1)
            _expect_first(max_samples, pilot + 1, f", {pilot:,} of them for a pilot, which is not tested")
        return replace(run_on(settings, sources, intake, place, show, on_round, started), reference=reference)
    except Exception as error:
        so_far = getattr(error, "result", None)
        if isinstance(so_far, Result):
            error.result = replace(so_far, reference=reference)  # type: ignore[attr-defined]
        raise
    finally:
        show.done()


def _expect_block(block: object, sources: Sources) -> None:
    """Refuse to look for dependence where arms are mixed."""
    if block == AUTO and isinstance(sources.arms[0], PooledDraws):
        raise SettingsError("block='auto' cannot look into a pool of several arms without an end; pass a length")


def _expect_first(max_samples: object, needed: int, why: str) -> None:
    """Refuse a budget that is spent before anything is tested."""
    if max_samples is not None and whole_number("max_samples", max_samples, 1) < needed:
        raise SettingsError(
            f"max_samples={max_samples} is too small: {needed:,} are needed at least{why}; raise it, or leave it out"
        )


def _reference(known: list[Hashable], this: Hashable, same_as: object) -> tuple[Hashable, ...]:
    """The names of the reference, refused before anything is drawn."""
    if len(known) < 2:
        raise ArmError(f"there must be at least 2 arms to compare, got {len(known)}")
    _expect_known("this", this, known)
    if isinstance(same_as, str) and same_as == REST:
        if REST in known:
            raise SettingsError(
                "same_as='rest' means all other arms, and one arm has this name; pass a list of names, ['rest'] for "
                "that arm alone"
            )
        return tuple(name for name in known if name != this)
    listed = isinstance(same_as, Iterable) and not isinstance(same_as, str | bytes) and not _in(same_as, known)
    chosen = tuple(cast("Iterable[Hashable]", same_as)) if listed else (same_as,)
    if not chosen:
        raise SettingsError("same_as= is empty; name the arms of the reference, or pass 'rest' for all others")
    for name in chosen:
        _expect_known("same_as", name, known)
    if this in chosen:
        raise SettingsError(f"same_as= names {this!r}, the arm that is checked; leave it out")
    if len(set(chosen)) < len(chosen):
        twice = next(name for name in chosen if chosen.count(name) > 1)
        raise SettingsError(f"same_as= names {twice!r} twice; name each arm once")
    return chosen


def _in(name: object, known: Sequence[Hashable]) -> bool:
    """Whether it is the name of an arm; a tuple may be one."""
    return isinstance(name, Hashable) and name in known


def _expect_known(what: str, name: object, known: Sequence[Hashable]) -> None:
    if not _in(name, known):
        few = ", ".join(map(repr, known[:_MOST])) + (f" and {len(known) - _MOST:,} more" if len(known) > _MOST else "")
        raise SettingsError(f"{what}={name!r} is not an arm; {did_you_mean(name, known)}the arms are {few}")
