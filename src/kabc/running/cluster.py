"""`kabc.cluster`: settings, arms, where to draw and who listens, put together."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kabc.core.errors import SettingsError
from kabc.core.samples import describe
from kabc.results.values import Result
from kabc.running.engines.base import ExecutorLike, engine_of
from kabc.running.inputs import Reading, TableLike, suitable_kernel
from kabc.running.intake import Intake
from kabc.running.interrupts import run_interrupts
from kabc.running.progress import Progress, Ticker
from kabc.running.run import Run
from kabc.running.settings import KernelChoice, Settings, seed_or_fresh
from kabc.running.shift import Shift
from kabc.running.snapshots import Listener
from kabc.running.sources import Arms, Sources
from kabc.running.steps import run_here
from kabc.running.strings import Strings
from kabc.running.tolerances import read_tolerance
from kabc.running.watch import Watch
from kabc.running.workers import Place
from kabc.strategies.base import Strategy
from kabc.study.policies import OnWorkerLoss
from kabc.study.private import PrivateLedger

if TYPE_CHECKING:
    from kabc.running.making import StorageLike

__all__ = ["KernelChoice", "cluster"]


def cluster(
    arms: Arms | TableLike,
    n_clusters: int | None = None,
    delta: float | None = None,
    *,
    kernel: KernelChoice = None,
    strategy: str | Strategy | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    max_samples: int | None = None,
    min_separation: float | None = None,
    pilot: int | None = None,
    check_k: bool | None = None,
    tolerance: object = None,
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
    executor: ExecutorLike | None = None,
    on_worker_loss: OnWorkerLoss | None = None,
    watch: bool = True,
    storage: StorageLike | None = None,
    study: str | None = None,
    progress: Progress = None,
    on_round: Listener | None = None,
) -> Result:
    """Find out which arms have the same distribution. The answer is wrong with probability at most delta.

    Ctrl-C ends the run with what is certified so far (status "interrupted"). If an arm fails, the error has the name of
    the arm, the round, and the answer so far in its `result` (status "failed"): nothing that was paid for is lost.

    Parameters
    ----------
    arms : mapping, sequence, data frame or path
        A mapping from names to arms, or a sequence of arms (`names` may then name them). An arm is a function
        ``draw(n, rng)`` that returns n samples, of shape (n,) or (n, d), numbers or texts; ``async def`` functions
        work too, with n or for one sample, ``draw(rng)``. It may also be an array of samples, which are
        used up in random order. Instead of arms: a table, as a data frame or the path of a file, with `arm` and
        `values`.
    n_clusters : int, optional
        K, the number of groups, at least 2. If it is not known, leave it out: "anytime" stops when nothing new is
        being learned, other strategies need `min_separation`, `max_samples`, or arms that all come to an end.
    delta : float, optional
        Largest probability of a wrong certified answer, in (0, 1]. Default: 0.05.
    kernel : Kernel or callable, optional
        For strategies that test with a kernel: the kernel, or a function from a pilot (n, d) to a kernel. Default: a
        Gaussian kernel by the median heuristic on a pilot; Hamming for a table of texts and categories. The samples of
        a pilot are counted, and never tested.
    strategy : str or Strategy, optional
        "anytime" bets: it takes by far the fewest samples, and needs no kernel. "kabc" is the published method.
        "kabc-tight" is "kabc" with every improvement that keeps its proof. Or a strategy object, which has settings of
        its own: settings that differ from them are refused. Default: "anytime", or "kabc" if `kernel` or
        `min_separation` is given.
    strategy_options : mapping, optional
        Further settings of the strategy, for example ``{"keep_samples": True}``.
    max_samples : int, optional
        Stop before more than this many samples are drawn in all.
    min_separation : float, optional
        The paper's s_0, a lower bound of s_*. The number of groups is then found.
    pilot : int, optional
        Samples of each arm that a kernel is chosen on. Default: 20.
    check_k : bool, optional
        Whether to look, before a decision, if a group is two groups (status "doubtful"). Only "anytime" has this check.
        Default: True there.
    tolerance : str, number, mapping, function or KernelDistance, optional
        The smallest difference that matters. The number of groups is then found: each arm is proven to be within the
        tolerance of its group. "2%" (all values times 1.02), "0.2 sd", 5 (a shift in the unit of the column), "1%
        outliers", a mapping from columns to these, a function from a pool of samples to a changed pool, or
        `kabc.KernelDistance`; of quantiles of one column: {"p50": "2%", "p99": "10%"}. With `n_clusters` too, the run
        ends at whichever answer is certified first.
    seed : int, optional
        The same seed gives the same answer. Default: a fresh one, which is recorded in the result.
    names : sequence, optional
        Names of the arms, if `arms` is a sequence. Default: 0, 1, 2, ...
    arm : str, optional
        Of a table: the column that names the arm of a row.
    values : str or sequence of str, optional
        Of a table: the columns of a sample. Default: all other columns, without an index that pandas wrote. A warning
        names columns that look like ids or times.
    types : mapping, optional
        The types of columns, "number", "category" or "text": of a table, or of arms that return texts (column "value",
        or "column 1", "column 2", ... where a sample has several). Default: as their values look; for arms those of
        the first round, where short texts that repeat are categories.
    missing : str, optional
        Of a table: what to do with missing values, "raise" (default), "drop" or "encode".
    order : str, optional
        Of a table: the column that says when a row came, such as a time. It is not compared. Default: rows came in the
        order of the table.
    where : str, optional
        Of a table: a condition in SQL that rows must meet, such as "seconds > 0 and region = 'eu'".
    block : int or "auto", optional
        For samples that depend on the ones before, such as a log: this many consecutive samples of an arm form one
        block, and only blocks must be independent. "auto" finds a length on a pilot: of rows that are looked at and not
        used up, or of samples that are counted and never tested. Default: 1.
    workers : int, optional
        Draw from this many arms at a time, in threads. The answer does not depend on it. Default: arms that wait
        (HTTP endpoints, ``async def`` functions) at the same time, others one after another; all one after another
        where times are measured.
    executor : concurrent.futures.Executor, dask.distributed.Client or the module ray, optional
        Draw there instead, and bet there on many arms (docs/engines.md). It is never shut down. The answer is the same
        whatever it is and however many workers it has. Unless it is a ThreadPoolExecutor, arms are sent by pickle:
        those that cannot be sent, or that keep something (pools, commands, connections), are drawn here.
    on_worker_loss : {"redraw", "encode", "raise"}, optional
        What happens when a process of `executor` dies. None draws what was lost again, with the same randomness, in a
        new pool where the old one is broken, and ends the run once two have died with draws of the same arm. "redraw"
        goes on, unless one draw is lost three times. Values that kill a worker may then be missing, and the result says
        so. "encode" makes the lost samples failures, for arms that have a value for them (a method ``failed(n)``).
        "raise" ends the run. For a study, see `kabc.create_study`.
    storage : str, path or Storage, optional
        Where to keep the run as a study, with everything that is drawn: a file of SQLite ("kabc.db"), a URL
        ("postgresql://user@host/name"), or a store. If the run is killed, the same call goes on where it was. Default:
        nothing is kept.
    study : str, optional
        The name of the study in `storage`. A study that has ended gives its answer, and draws nothing.
    watch : bool, default True
        Test whether the samples of each arm come in no particular order: pools and tables in the order of their rows.
        If they do not, the status is "doubtful", and nothing is certified. False: the order has no meaning, or you
        answer for it.
    progress : bool or callable, optional
        Default: if the run takes longer than two seconds, show a line on a terminal, or in a notebook, that changes;
        elsewhere nothing. True: lines on standard error, also where it is no terminal. False: nothing. Or the function
        that gets the lines.
    on_round : callable, optional
        Called with a `kabc.running.snapshots.Snapshot` after each round: the `round`, samples, spending, pairs told
        apart, what is open, a forecast, evidence and groups so far. Figures are computed when they are asked for,
        within the call.

    Returns
    -------
    Result
        The groups, how the run ended, what is certified, and what it cost.

    Examples
    --------
    >>> import kabc
    >>> def machine(mean):
    ...     return lambda n, rng: rng.normal(mean, 1.0, n)
    >>> arms = {"a": machine(0.0), "b": machine(5.0), "c": machine(0.0)}
    >>> result = kabc.cluster(arms, n_clusters=2, delta=0.05, seed=0)
    >>> result.status, result.groups
    ('decided', (('a', 'c'), ('b',)))

    Rows of a table, here without a number of groups:

    >>> import polars
    >>> rows = polars.DataFrame({"host": ["x", "y"] * 50, "seconds": [1.0, 9.0] * 50})
    >>> kabc.cluster(rows, arm="host", max_samples=60, seed=0).n_groups_at_least
    2
    """
    started = time.perf_counter()
    if not isinstance(strategy_options, Mapping | None):
        raise SettingsError(f"strategy_options must be a mapping name -> value, got {describe(strategy_options)}")
    settings = Settings(
        n_clusters=n_clusters,
        delta=delta,
        kernel=kernel,
        strategy=strategy,
        options=dict(strategy_options or {}),
        max_samples=max_samples,
        min_separation=min_separation,
        pilot=pilot,
        check_k=check_k,
        tolerance=tolerance,
        seed=seed_or_fresh(seed),
        block=block,
    )
    place = Place(workers, engine_of(executor), on_worker_loss)
    show = Ticker.of(progress)
    reading = Reading(arm, values, types, missing, order, where)
    try:
        if storage is not None or study is not None:
            from kabc.running.making import Question, run_as_study

            asked = Question(settings, types, watch, on_worker_loss, has_seed=seed is not None)
            return run_as_study(storage, study, asked, arms, names, reading, place, show, on_round)
        with show.during("reading the table") if reading.is_table(arms) else nullcontext():
            opened = reading.opened(arms, settings.by_kernel, settings.seed, texts=settings.bets, engine=place.engine)
        if settings.kernel is None and settings.by_kernel and isinstance(settings.chosen, str):
            settings = replace(settings, kernel=suitable_kernel(opened))
        sources = Sources(opened, names, settings.seed)
        settings = settings.with_paired(sources.paired)
        strings = Strings(types if opened is arms else None) if settings.bets else None
        watched = Watch(len(sources), settings.seed, paired=settings.paired) if watch else None
        intake = Intake(sources.names, sources.facts, settings.seed, strings, watched)
        settings = read_tolerance(settings, intake, types)
        return run_on(settings, sources, intake, place, show, on_round, started)
    finally:
        show.done()


def run_on(
    settings: Settings,
    sources: Sources,
    intake: Intake,
    place: Place,
    show: Ticker,
    on_round: Listener | None,
    started: float,
) -> Result:
    """Run to the end, and close the arms, however it ends."""
    settings = replace(settings, columns=intake.columns)
    sources.workers = place.workers_for(sources.arms)
    listeners = [] if on_round is None else [on_round]
    with run_interrupts(show) as interrupts:
        try:
            sources.check_workers()
            ledger = PrivateLedger(sources.facts, settings.seed)
            shift = Shift(ledger, sources, show, lambda: intake.n_samples)
            run = Run(settings, sources, intake, ledger, show, listeners, started, interrupts)
            result = run.result(partial(run_here, shift=shift))
        except BaseException:
            sources.close()  # if that fails too, the first error is the one to know of
            raise
        wrong = sources.close()
        return replace(result, notes=(*result.notes, *wrong)) if wrong else result
