"""`kabc worker`: a process that draws for a study, with all of its arms or a part of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from kabc.arms.failures import SpendError
from kabc.core.errors import SettingsError
from kabc.core.settings import positive_number, whole_number
from kabc.results.origin import origin_now
from kabc.running import studies
from kabc.running.gathering import gathered_facts, part_document, part_of_arms
from kabc.running.growth import expect_new_samples, gone_arms
from kabc.running.heartbeat import Heartbeat
from kabc.running.identity import bury_dead, worker_facts, worker_name
from kabc.running.interrupts import run_interrupts
from kabc.running.progress import Progress, Ticker
from kabc.running.shift import LEASE_SECONDS
from kabc.running.sources import Arms, named_arms
from kabc.running.stepping import StepRight
from kabc.running.worker import Worker, unserved_line
from kabc.running.workers import Workers
from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.storage.opening import open_storage
from kabc.study.facts import Facts
from kabc.study.spec import Spec

OpenArms = Callable[[Spec], Arms]
Left = Literal["ended", "paused", "left"]

_WAIT_SECONDS = 5.0


@dataclass(frozen=True)
class Worked:
    """What one worker did: its name, how the study was when it left ("left": it was told to), and what it drew."""

    worker: str
    state: Left
    n_draws: int
    n_samples: int
    n_superseded: int  # draws that came too late
    seconds: float


def work(
    storage: str | os.PathLike[str] | Storage,
    study: str,
    arms: Arms | OpenArms,
    *,
    workers: int | None = None,
    stay: bool = False,
    lease_seconds: float = LEASE_SECONDS,
    progress: Progress = None,
) -> Worked:
    """Draw for a study until it ends or is paused. Any number of processes may do so at the same time.

    Parameters
    ----------
    storage : str, path or Storage
        Where the study is kept, as for `kabc.create_study`.
    study : str
        Its name.
    arms : mapping, sequence or callable
        The arms that this process can draw from, by name: all of the study, or some. A function gets the spec of the
        study and returns them: tables must be opened with its seed.
    workers : int, optional
        How many arms are drawn at the same time, as for `kabc.cluster`.
    stay : bool, default False
        Whether to wait for more where the study is paused or has ended.
    lease_seconds : float, default 60
        After this time without a sign of life, what this process was drawing is given to others.
    progress : bool or callable, optional
        Whether lines say what happens. Default: on a terminal, or in a notebook.

    Returns
    -------
    Worked
        What was drawn here.

    Examples
    --------
    >>> import kabc
    >>> from kabc.running.work import work
    >>> study = kabc.create_study("nightly", arms=["a", "b"], n_clusters=2, seed=0, storage="kabc.db")
    >>> arms = {"a": lambda n, rng: rng.normal(0.0, 1.0, n), "b": lambda n, rng: rng.normal(5.0, 1.0, n)}
    >>> work("kabc.db", "nightly", arms, progress=False).state, study.result().groups
    ('ended', (('a',), ('b',)))
    """
    seconds = positive_number("lease_seconds", lease_seconds)
    limit = None if workers is None else whole_number("workers", workers, 1)
    store, show = open_storage(storage, create=False), Ticker.of(progress)
    try:
        return _Duty(store, study, arms, limit, stay, seconds, show).done()
    finally:
        show.done()
        if store is not storage:
            store.close()


class _Duty:
    """One process at work for a study."""

    def __init__(
        self,
        storage: Storage,
        study: str,
        arms: Arms | OpenArms,
        limit: int | None,
        stay: bool,
        seconds: float,
        show: Ticker,
    ) -> None:
        self._storage, self._stay, self._seconds, self._show = storage, stay, seconds, show
        self._record = storage.load_study(study)
        self._spec = Spec.of_json(self._record.spec, study)
        given = arms(self._spec) if callable(arms) else arms
        gone = gone_arms(storage, self._spec, dict(named_arms(given, None)))
        self._sources = part_of_arms(given, self._spec.names, self._spec.seed, study, gone)
        expect_new_samples(storage, self._spec, self._sources)
        self._served = sorted(self._sources.here)
        here = [self._sources.arms[arm] for arm in self._served]
        self._sources.workers = Workers.of(None, limit, here)
        self._expect_values()
        self._n_draws = self._n_samples = self._n_superseded = 0

    def _expect_values(self) -> None:
        """Refuse arms without a value for a lost draw, where lost draws are to be values."""
        if self._spec.on_worker_loss != "encode":
            return
        for arm in self._served:
            if not callable(getattr(self._sources.arms[arm], "failed", None)):
                raise SettingsError(
                    "the study has on_worker_loss='encode', which needs an arm with a value for failures, a method "
                    "failed(n), and this one has none"
                ).of_arm(self._spec.names[arm])

    def done(self) -> Worked:
        """Work until there is no more to do, and say what was done."""
        started, name = time.perf_counter(), worker_name()
        state: Left = "left"
        try:
            with run_interrupts(self._show, all_signals=True):
                state = self._work(name)
        except KeyboardInterrupt:
            self._show.now("told to leave: what was drawn is handed in, the rest is given back")
        except SpendError as error:
            self._show.now(f"{error}; what was drawn is handed in, the rest is left to other workers")
        finally:
            self._sources.close()
            with suppress(StorageError):  # what a signal cut short: its leases lapse by themselves otherwise
                self._storage.bury(self._record.id, name, counted=False)
        seconds = time.perf_counter() - started
        return Worked(name, state, self._n_draws, self._n_samples, self._n_superseded, seconds)

    def _work(self, name: str) -> Left:
        storage, study = self._storage, self._record.id
        here = self._sources.facts_to_keep()
        bury_dead(storage, study, "worker")
        served = [str(self._spec.names[arm]) for arm in self._served]
        about = worker_facts("worker", served, origin_now("").version) | part_document(here, self._served)
        storage.register_worker(study, name, about)
        with Heartbeat(storage, study, name, self._seconds, self._show.now) as heart:
            while True:
                record = storage.load_study(self._record.name)
                if record.state == "running":
                    facts = self._facts(record, here)
                    if facts is not None:
                        self._draw(record, facts, heart)
                elif not self._stay:
                    return record.state
                else:
                    with self._show.during(f"study {record.name!r} is {record.state}: waiting for more to draw"):
                        storage.wait(study, record.revision, _WAIT_SECONDS)

    def _facts(self, record: StudyRecord, here: Facts) -> Facts | None:
        """The facts of all arms; None, after a while, as long as nobody knows some of them."""
        facts, unknown = gathered_facts(self._storage, record, self._spec.names, here, self._served)
        if facts is None:
            with self._show.during(unserved_line(unknown)):
                self._storage.wait(record.id, record.revision, _WAIT_SECONDS)
        return facts

    def _draw(self, record: StudyRecord, facts: Facts, heart: Heartbeat) -> None:
        """Draw until the study is no longer running."""
        storage, show, names = self._storage, self._show, self._spec.names
        run = studies.run_of(storage, record, self._spec, self._sources, worker=heart.worker, show=show, facts=facts)
        shift = studies.shift_of(run, self._sources, show, heart, self._spec)
        step = studies.Step(storage, record, run)
        may_step = StepRight(run.ledger, names, facts, self._sources, heart, self._spec.block)
        worker = Worker(storage, record, names, shift, step, heart, show, may_step)
        try:
            worker.run()
        finally:
            self._n_draws += worker.n_draws
            self._n_samples += shift.n_samples
            self._n_superseded += shift.n_superseded
