"""One study at work in this process: who it is, what it has leased, and the script of its rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kabc.core.errors import SampleError, SettingsError
from kabc.core.kernels import Kernel
from kabc.results.files import loaded
from kabc.results.origin import origin_now
from kabc.results.values import Result
from kabc.running.growth import reuse_of, with_gone
from kabc.running.heartbeat import Heartbeat
from kabc.running.identity import bury_dead, worker_facts, worker_name
from kabc.running.intake import Intake
from kabc.running.interrupts import run_interrupts
from kabc.running.keeper import Keeper
from kabc.running.progress import Ticker
from kabc.running.questions import settings_of
from kabc.running.run import Run
from kabc.running.settings import AUTO
from kabc.running.shift import LEASE_SECONDS, Shift
from kabc.running.snapshots import Listener
from kabc.running.so_far import Teller
from kabc.running.sources import Sources
from kabc.running.steps import whole_rounds
from kabc.running.strings import Strings
from kabc.running.tolerances import read_tolerance
from kabc.running.watch import Watch
from kabc.running.worker import Worker
from kabc.storage.contract import Json, Storage, StudyRecord, Ticket
from kabc.storage.errors import StorageError
from kabc.study.categories import categories_of
from kabc.study.documents import facts_document, facts_of_document
from kabc.study.effects import note_effects
from kabc.study.facts import ArmFacts, Facts
from kabc.study.ledger import Ledger
from kabc.study.misfits import Misfit, misfits
from kabc.study.spec import Spec
from kabc.study.story import story


def known_facts(storage: Storage, study: StudyRecord, spec: Spec, here: Facts | None) -> Facts:
    """The facts that count: those of the first process that had the arms. Other arms than these are refused."""
    n_arms = len(spec.names)
    if here is None and study.facts is None:
        return Facts((ArmFacts(),) * n_arms)
    if here is None:
        assert study.facts is not None
        return facts_of_document(study.facts, n_arms, study.name)
    first = storage.set_facts(study.id, facts_document(here)).facts
    assert first is not None
    facts = facts_of_document(first, n_arms, study.name)
    facts.expect_same(here, spec.names)
    return replace(facts, levels=here.levels)


def run_of(
    storage: Storage,
    study: StudyRecord,
    spec: Spec,
    sources: Sources | None,
    *,
    worker: str = "",
    show: Ticker | None = None,
    listeners: Sequence[Listener] = (),
    started: float | None = None,
    facts: Facts | None = None,
    leave_out: Sequence[Misfit] = (),
) -> Run:
    """The run that answers the question of a study. Without `worker`, it only reads, and may leave draws out."""
    if facts is None:
        facts = known_facts(storage, study, spec, None if sources is None else sources.facts_to_keep())
    reuse = reuse_of(storage, spec)
    facts = with_gone(facts, spec, reuse)
    settings = settings_of(spec, study, facts)
    strings = Strings(None if facts.types else spec.types) if settings.bets else None
    watched = Watch(len(facts), spec.seed, paired=settings.paired) if spec.watch else None
    if sources is not None:
        sources.facts = facts
    intake = Intake(spec.names, facts, spec.seed, strings, watched, reuse)
    if sources is None:
        intake.levels = categories_of(storage, study.id)
    settings = read_tolerance(settings, intake, spec.types)
    if isinstance(settings.kernel, Kernel):
        intake.coerce = settings.kernel.coerce
    run = Run(
        settings,
        sources,
        intake,
        Ledger(
            storage,
            study,
            facts,
            spec.seed,
            worker or "reader",
            only_read=not worker,
            leave_out=[(one.ticket.id, one.ticket.lease) for one in leave_out],
        ),
        Ticker(False) if show is None else show,
        listeners,
        time.perf_counter() if started is None else started,
        story=lambda: (
            *story(storage, study, spec.kabc, origin_now("").version),
            *(one.line for one in leave_out),
        ),
    )
    if reuse is None:
        keeper = Keeper(storage, study, spec.fingerprint)
        keeper.restore(run.rounds)
        run.stepper.told = partial(keeper.told, run.rounds) if worker else None
    return run


def without_misfits(storage: Storage, study: StudyRecord, spec: Spec) -> Run | None:
    """A run that reads without the draws that the strategy cannot be told; None: there are none of them."""
    found = misfits(storage, study, spec.names)
    return run_of(storage, study, spec, None, leave_out=found) if found else None


def discard(storage: Storage, study: StudyRecord, spec: Spec, number: int, note: Json) -> Ticket:
    """Take a draw back that the strategy was not told. Nobody tells its round meanwhile."""
    latest, me = storage.summary(study.id).latest, worker_name()
    tickets = storage.tickets(study.id, latest)
    found = next((one for one in tickets if one.id == number), None)
    if found is None:
        raise SettingsError(
            f"study {study.name!r} has no ticket {number} in its latest round, {latest}; those of earlier rounds were "
            "told to the strategy, and cannot be taken back"
        )
    if found.state != "done":
        raise SettingsError(f"ticket {number} is {found.state}, not drawn: there is nothing to discard")
    if not storage.take_step(study.id, me, LEASE_SECONDS):
        raise SettingsError(
            f"another process is at work on study {study.name!r}; pause the study or end that process, and try again "
            "in a minute"
        )
    try:
        if all(one.state == "done" for one in tickets) and _can_be_told(storage, study, spec):
            raise SettingsError(
                f"ticket {number} was told to the strategy, and cannot be taken back: what came after it was decided "
                "on it; make a new study"
            )
        return storage.discard(study.id, number, note)
    finally:
        storage.drop_step(study.id, me)


def _can_be_told(storage: Storage, study: StudyRecord, spec: Spec) -> bool:
    """Whether the strategy takes all that is drawn."""
    try:
        whole_rounds(run_of(storage, study, spec, None).stepper)
    except (SampleError, SettingsError):
        return False
    return True


def is_final(study: StudyRecord) -> bool:
    """Whether it has an answer that a larger budget would not change."""
    return study.state == "ended" and study.answer is not None and study.answer.get("status") in _FINAL


_FINAL = ("decided", "contradicted", "exhausted", "stalled")


def stored_answer(study: StudyRecord) -> Result:
    """The answer of a study that has ended."""
    if study.answer is None:
        raise StorageError(f"study {study.name!r} has ended, and there is no answer in the store; is it damaged?")
    return loaded(dict(study.answer), f"the answer of study {study.name!r}")


def join(storage: Storage, study: StudyRecord, names: Sequence[object]) -> str:
    """Become a worker of the study; what dead workers of this host held is free again. Returns its name."""
    worker = worker_name()
    bury_dead(storage, study.id, "run")
    storage.register_worker(study.id, worker, worker_facts("run", list(map(str, names)), origin_now("").version))
    return worker


def run_here(
    storage: Storage,
    study: StudyRecord,
    spec: Spec,
    sources: Sources,
    show: Ticker,
    on_round: Listener | None,
    lease_seconds: float,
) -> Result:
    """Draw for a study until it ends, with all other processes that do so. Returns its answer."""
    name = join(storage, study, spec.names)
    if storage.summary(study.id).n_rounds:
        storage.add_note(study.id, "resumed", {"worker": name})
    storage.reopen(study.id, {"worker": name})
    listeners = [] if on_round is None else [on_round]
    run = run_of(storage, study, spec, sources, worker=name, show=show, listeners=listeners)
    with Heartbeat(storage, study.id, name, lease_seconds, show.now) as heart, run_interrupts(show) as interrupts:
        run.interrupts = interrupts
        shift = shift_of(run, sources, show, heart, spec)
        worker = Worker(storage, study, spec.names, shift, Step(storage, study, run), heart, show)
        result = run.result(lambda _: worker.run())
    now = storage.load_study(study.name)
    return stored_answer(now) if now.state == "ended" else result


def shift_of(run: Run, sources: Sources, show: Ticker, heart: Heartbeat, spec: Spec) -> Shift:
    """What this process draws for the study."""

    def block() -> int:
        found = (run.ledger.noted("block") or {}).get("length", 1) if spec.block == AUTO else spec.block
        return int(found or 1)

    return Shift(
        run.ledger,
        sources,
        show,
        lambda: run.intake.n_samples,
        heart,
        spec.on_worker_loss,
        heart.seconds,
        block,
        run.intake.expect,
    )


@dataclass
class Step:
    """The step of a study: tell whole rounds, open the next, and in the end write the answer."""

    storage: Storage
    study: StudyRecord
    run: Run
    teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        self.teller = Teller(self.storage, self.study.id, self.run.ledger.worker)

    def advance(self) -> bool:
        """Go as far as the draws allow. False: the study has ended, and its answer is in the store."""
        try:
            goes_on = self.run.stepper.advance()
        except (SampleError, SettingsError):
            for misfit in misfits(self.storage, self.study, self.run.intake.names)[:1]:
                raise misfit.error() from None
            raise
        if goes_on:
            self.teller.tell(self.run.rounds.strategy)
            return True
        self._read_categories()
        result = self.run.finished()
        self.storage.end(self.study.id, self.run.last_round, result.to_dict(full=True))
        if result.status != "budget":  # a raised budget goes on from there
            self.storage.drop_snapshot(self.study.id)
        note_effects(self.storage, self.study.id, self.run.intake.names)  # it takes seconds, and decides nothing
        return False

    def _read_categories(self) -> None:
        """Other workers met categories that this one has not met."""
        mine = self.run.intake.levels
        noted = categories_of(self.storage, self.study.id)
        self.run.intake.levels = {column: noted.get(column, {}) | mine.get(column, {}) for column in {**noted, **mine}}


def expect_running(study: StudyRecord) -> None:
    """Refuse to draw for a study that is paused."""
    if study.state == "paused":
        raise SettingsError(f"study {study.name!r} is paused; resume it first (study.resume(), kabc study resume)")
