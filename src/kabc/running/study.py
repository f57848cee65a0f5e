"""A run with a durable memory: drawn by any number of processes, stopped and resumed at will."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

from numpy.typing import ArrayLike

from kabc.arms.base import NamedArms
from kabc.core.errors import ArmError, ProtocolError, SampleError, SettingsError
from kabc.core.files import StrPath
from kabc.core.settings import positive_number, whole_number
from kabc.results.values import Result
from kabc.running import studies
from kabc.running.engines.base import Engine, ExecutorLike, engine_of
from kabc.running.growth import expect_new_samples, gone_arms
from kabc.running.hand import Ask, Hand
from kabc.running.inputs import Reading, TableLike
from kabc.running.progress import ShowLine, Ticker
from kabc.running.questions import settings_of
from kabc.running.run import Run
from kabc.running.settings import Settings
from kabc.running.shift import LEASE_SECONDS
from kabc.running.snapshots import Listener
from kabc.running.sources import ArmLike, Arms, Sources, named_arms
from kabc.running.steps import whole_rounds
from kabc.running.workers import Place
from kabc.storage.contract import Outcome, Storage, StudyRecord, StudyState, Ticket
from kabc.strategies import needs_kernel
from kabc.study.spec import Spec

_GROWS_WITH = (
    *("n_clusters", "delta", "kernel", "strategy", "min_separation", "pilot", "check_k", "tolerance", "types", "block"),
    *("on_worker_loss", "watch"),
)


class Study:
    """A question with a durable memory. Made by `kabc.create_study` and `kabc.load_study`.

    Any number of processes may work on it at the same time. It can be stopped and resumed at will: everything that was
    drawn is kept.

    Examples
    --------
    >>> import kabc
    >>> arms = {name: lambda n, rng, mean=mean: rng.normal(mean, 1.0, n) for name, mean in [("a", 0), ("b", 5)]}
    >>> study = kabc.create_study("nightly", arms=list(arms), n_clusters=2, seed=0, storage="nights.db")
    >>> study.run(arms, on_round=lambda seen: study.pause() if seen.number == 2 else None).status, study.status
    ('interrupted', 'paused')
    >>> study.resume()
    >>> study.run(arms).status, study.status
    ('decided', 'ended')
    """

    def __init__(self, storage: Storage, record: StudyRecord) -> None:
        self._storage, self._record = storage, record
        self._spec = Spec.of_json(record.spec, record.name)
        self._hand: Hand | None = None

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._storage.url!r}, status={self.status!r})"

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._record.name

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the arms."""
        return self._spec.names

    @property
    def seed(self) -> int:
        """Of all random numbers."""
        return self._spec.seed

    @property
    def spec(self) -> Spec:
        """What is asked."""
        return self._spec

    @property
    def storage(self) -> Storage:
        """Where it is kept."""
        return self._storage

    @property
    def record(self) -> StudyRecord:
        """What the store keeps of it, as of now."""
        self._record = self._storage.load_study(self._record.name)
        return self._record

    @property
    def status(self) -> StudyState:
        """ "running", "paused" or "ended"."""
        return self.record.state

    # ------------------------------------------------------------ run

    def run(
        self,
        arms: Arms | TableLike,
        *,
        names: Sequence[Hashable] | None = None,
        arm: str | None = None,
        values: str | Sequence[str] | None = None,
        missing: str | None = None,
        order: str | None = None,
        where: str | None = None,
        workers: int | None = None,
        executor: ExecutorLike | None = None,
        lease_seconds: float = LEASE_SECONDS,
        progress: bool | ShowLine = True,
        on_round: Listener | None = None,
    ) -> Result:
        """Draw until the study ends, and return its answer. Run it again after a crash or Ctrl-C: it goes on.

        Parameters are those of `kabc.cluster`, and `lease_seconds`: after this time without a sign of life from this
        process, others draw what it was drawing. Slow draws lose nothing by it. The arms must be those of the study, by
        name. A study that has ended returns its answer, and draws nothing.
        """
        seconds = positive_number("lease_seconds", lease_seconds)
        show = Ticker.of(progress)
        place = Place(workers, engine_of(executor), self._spec.on_worker_loss)
        reading = Reading(arm, values, self._spec.types, missing, order, where)
        try:
            if self.status == "ended":
                return studies.stored_answer(self.record)
            opened = opened_arms(reading, arms, self._settings, show, place.engine)
            return self.run_on(opened, names, place, show, on_round, seconds)
        finally:
            show.done()

    def run_on(
        self,
        opened: Arms,
        names: Sequence[Hashable] | None,
        place: Place,
        show: Ticker,
        on_round: Listener | None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> Result:
        """Run with arms that are open already, and close them, however it ends."""
        record = self.record
        sources = Sources(self._in_order(opened, names), None, self.seed)
        sources.workers = place.workers_for(sources.arms)
        try:
            sources.check_workers()
            expect_new_samples(self._storage, self._spec, sources)
            if record.state == "ended":
                if record.facts is not None:  # it is no answer about other arms
                    studies.known_facts(self._storage, record, self._spec, sources.facts_to_keep())
                result = studies.stored_answer(record)
            else:
                studies.expect_running(record)
                result = studies.run_here(self._storage, record, self._spec, sources, show, on_round, lease_seconds)
        except BaseException:
            sources.close()  # if that fails too, the first error is the one to know of
            raise
        wrong = sources.close()
        return replace(result, notes=(*result.notes, *wrong)) if wrong else result

    @property
    def _settings(self) -> Settings:
        record = self.record
        return settings_of(self._spec, record, studies.known_facts(self._storage, record, self._spec, None))

    def _in_order(self, opened: Arms, names: Sequence[Hashable] | None) -> Arms:
        """The arms in the order of the study."""
        given = dict(named_arms(opened, names))
        gone = gone_arms(self._storage, self._spec, given)
        for name in given:
            if name not in self.names:
                raise ArmError(f"study {self.name!r} has no such arm; it has {list(self.names)}").of_arm(name)
        for name in self.names:
            if name not in given and name not in gone:
                raise ArmError(f"study {self.name!r} needs this arm, and it is not passed; pass it too").of_arm(name)
        ordered: dict[Any, ArmLike] = {name: given[name] if name in given else gone[name] for name in self.names}
        if not isinstance(opened, NamedArms):
            return ordered
        about = opened
        return NamedArms(
            cast(Any, ordered),
            about.notes,
            about.columns,
            about.price,
            about.types,
            about.levels,
            about.warnings,
            about.source,
        )

    # ------------------------------------------------------------ by hand

    def ask(self) -> Ask | None:
        """The next draw that somebody has to make; None if there is none now.

        Then `status` says why: "running", all draws of the round are under way elsewhere, so ask again later; "paused";
        "ended", there is an answer. What was asked for is this process's until it is told, or the process ends.

        Examples
        --------
        >>> import kabc
        >>> means = {"a": 0.0, "b": 5.0, "c": 0.0}
        >>> study = kabc.create_study("by hand", arms=list(means), n_clusters=2, seed=0, storage="study.db")
        >>> while (ticket := study.ask()) is not None:
        ...     rows = ticket.rng.normal(means[ticket.arm], 1.0, ticket.count)
        ...     outcome = study.tell(ticket, rows)
        >>> study.status, study.result().groups
        ('ended', (('a', 'c'), ('b',)))
        """
        if self._hand is None and self.status == "ended":
            return None
        ask = self._at_hand().ask()
        if ask is None and self.status == "ended":
            self._let_go()
        return ask

    def tell(self, ask: Ask, rows: ArrayLike) -> Outcome:
        """What was drawn, (count,) or (count, d). It is checked first: what is wrong changes nothing.

        Returns "done", or "superseded" if the draw was given to somebody else meanwhile: then it is kept, and not used.
        """
        if not isinstance(ask, Ask):
            raise ProtocolError(f"tell takes what ask() returned, got {type(ask).__name__}")
        return self._at_hand().tell(ask, rows)

    def _at_hand(self) -> Hand:
        if self._hand is None:
            self._hand = Hand(self._storage, self.record, self._spec)
        return self._hand

    def _let_go(self) -> None:
        if self._hand is not None:
            self._hand.close()
            self._hand = None

    # ------------------------------------------------------------ what is known

    def result(self) -> Result:
        """The answer of a study that has ended; else the answer so far, with status "unfinished"."""
        record = self.record
        if record.state == "ended":
            return studies.stored_answer(record)
        found, _ = self._so_far(record)
        return replace(found, status="unfinished") if found.status == "interrupted" else found

    def _so_far(self, record: StudyRecord, *, to_the_end: bool = False) -> tuple[Result, Run]:
        """The answer so far, and the run that has it. `to_the_end`: an interrupt makes no answer of a part."""
        run = studies.run_of(self._storage, record, self._spec, None)
        try:
            if to_the_end:
                whole_rounds(run.stepper)
            return run.result(whole_rounds), run
        except (SampleError, SettingsError):
            without = studies.without_misfits(self._storage, record, self._spec)
            if without is None:
                raise
            return without.result(whole_rounds), without

    def export(self, path: StrPath) -> int:
        """Write all samples to a table (".csv", ".parquet"), or all of the study to a file of its own (".kabcstudy").

        Returns how many samples were written. Late ones are there too, and marked. A draw that does not fit into a
        table is left out, with a warning.
        """
        from kabc.study.export import export_study

        left_out: list[str] = []
        written = export_study(self._storage, self.record, path, say=left_out.append)
        for line in left_out:
            warnings.warn(line, UserWarning, stacklevel=2)
        return written

    def discard(self, ticket: int, *, by: str = "") -> Ticket:
        """Take a draw of the latest round back: it is drawn again, and its rows are kept as late. Returns its ticket.

        For a draw that the strategy refuses, or that came first and is unlike all others. What the strategy was told
        cannot be taken back: later rounds, or the answer, were decided on it. Nobody may be at work on the round.

        Parameters
        ----------
        ticket : int
            Its number, as errors, notes and exported tables say it.
        by : str
            As for `pause`.
        """
        try:
            return studies.discard(self._storage, self.record, self._spec, ticket, _whose(by))
        finally:
            self._let_go()

    # ------------------------------------------------------------ changes

    def raise_budget(self, max_samples: int | None, *, by: str = "") -> None:
        """Allow this many samples in all; None: any number. A study that has ended for its budget runs again.

        `by`, here and below: who wants it, for the notes of the study.
        """
        if max_samples is not None:
            drawn = self._storage.summary(self._record.id).n_samples
            if whole_number("max_samples", max_samples, 1) < drawn:
                raise SettingsError(f"study {self.name!r} has drawn {drawn:,} samples, more than {max_samples:,}")
        record, limits = self.record, {"max_samples": max_samples}
        if dict(record.limits) == limits:
            return
        if studies.is_final(record):
            raise SettingsError(
                f"study {self.name!r} has ended, and not because its budget was spent: more samples change nothing; "
                "study.result() and kabc study result give its answer"
            )
        spec = self._spec
        if spec.n_clusters is None and spec.min_separation is None and needs_kernel(spec.strategy):
            raise SettingsError(
                f"the budget of study {self.name!r} decides how many samples of each arm are compared, so it cannot "
                "change; make another study"
            )
        replace(self._settings, max_samples=max_samples).check(len(self.names))
        self._storage.set_limits(record.id, limits, {"before": dict(record.limits), "now": limits} | _whose(by))
        self._let_go()

    def grow(
        self,
        name: str,
        arms: Sequence[Hashable] = (),
        *,
        gone: Sequence[Hashable] = (),
        anchors: int | None = None,
        **changes: Any,
    ) -> Study:
        """A new study in the same store, with further arms, that reads the samples of this one first.

        Parameters
        ----------
        name : str
            Of the new study.
        arms : sequence of hashable
            Names of arms that are added.
        gone, anchors
            As for `kabc.create_study`, whose `reuse` this is.
        changes
            Other settings of `kabc.create_study`, such as `n_clusters`, `delta` or `tolerance`; what is not given is as
            in this study. Do not choose them by looking at its samples.

        Examples
        --------
        >>> import kabc
        >>> build = lambda mean: lambda n, rng: rng.normal(mean, 1.0, n)
        >>> first = kabc.create_study("monday", arms=["v1", "v2"], n_clusters=2, seed=0, storage="kabc.db")
        >>> first.run({"v1": build(0.0), "v2": build(5.0)}).groups
        (('v1',), ('v2',))
        >>> second = first.grow("tuesday", arms=["v3"], gone=["v1"])
        >>> second.run({"v2": build(5.0), "v3": build(5.0)}).n_recorded > 0
        True
        """
        from kabc.running.making import create_study  # which knows studies

        spec = self._spec
        question = {one: getattr(spec, one) for one in _GROWS_WITH if one != "strategy" or "tolerance" not in changes}
        question |= {"strategy_options": dict(spec.options), "max_samples": self.record.limits.get("max_samples")}
        past = {"reuse": self.name, "gone": gone, "anchors": anchors}
        return create_study(name, [*self.names, *arms], storage=self._storage, **question | past | changes)

    def pause(self, *, by: str = "") -> None:
        """Let no process draw more, until `resume`. Draws under way are finished."""
        if self.status == "running":
            self._storage.set_state(self._record.id, "paused", _whose(by))

    def resume(self, *, by: str = "") -> None:
        """Let processes draw again."""
        if self.status == "paused":
            self._storage.set_state(self._record.id, "running", _whose(by))

    def stop(self, *, by: str = "") -> Result:
        """End it now, with the answer so far. Draws under way are kept, and not used; a raised budget goes on."""
        record = self.record
        if record.state == "ended":
            return studies.stored_answer(record)
        self._storage.set_state(record.id, "paused", {"why": "to stop", **_whose(by)})
        # an interrupt here leaves it paused: no answer from a part of the rounds
        result, run = self._so_far(self.record, to_the_end=True)
        self._storage.add_note(record.id, "stopped", _whose(by))
        told = run.last_round if run.ended else run.last_round - 1  # the round that is being drawn stays open
        self._storage.end(record.id, told, result.to_dict(full=True))
        self._let_go()
        return result


def _whose(by: str) -> dict[str, str]:
    return {"by": by} if by else {}


def opened_arms(
    reading: Reading, arms: Arms | TableLike, settings: Settings, show: Ticker, engine: Engine | None
) -> Arms:
    """The arms of a table, or the arms as they were given."""
    with show.during("reading the table") if reading.is_table(arms) else nullcontext():
        return reading.opened(arms, settings.by_kernel, settings.seed, texts=settings.bets, engine=engine)
