"""Asking and telling by hand: a process that draws what it is asked for in its own way."""

from __future__ import annotations

import time
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.errors import KabcError, SampleError, SettingsError
from kabc.running import studies
from kabc.running.engines.chunks import own_rows
from kabc.running.growth import reuse_of, with_gone
from kabc.running.heartbeat import Heartbeat
from kabc.running.run import Run
from kabc.running.shift import LEASE_SECONDS
from kabc.running.worker import failed_draw
from kabc.storage.contract import Draw, Outcome, Storage, StudyRecord, Ticket
from kabc.study.documents import facts_document
from kabc.study.spec import Spec
from kabc.study.tickets import generators_of


@dataclass(frozen=True)
class Ask:
    """One draw that a study asks for: `count` samples of an arm, after `start` others.

    Take all randomness from `rng`: then the answer does not depend on who draws. Of a paired arm, `shared` is the
    generator for what its samples share with those of the others.
    """

    arm: Hashable
    count: int
    start: int
    rng: np.random.Generator = field(repr=False, compare=False)
    shared: np.random.Generator | None = field(repr=False, compare=False)
    ticket: Ticket = field(repr=False)
    began: float = field(repr=False, compare=False)


class Hand:
    """A process that draws by hand: it asks, and tells."""

    def __init__(self, storage: Storage, record: StudyRecord, spec: Spec) -> None:
        self._storage, self._spec = storage, spec
        if record.facts is None:  # of arms that somebody draws by hand nothing is known: they have no end
            facts = with_gone(studies.known_facts(storage, record, spec, None), spec, reuse_of(storage, spec))
            record = storage.set_facts(record.id, facts_document(facts))
        self._record = record
        facts = studies.known_facts(storage, record, spec, None)
        drawn = [name for name, about in zip(spec.names, facts.arms, strict=True) if not about.in_order]
        self._worker = studies.join(storage, record, drawn)
        self._run: Run = studies.run_of(storage, record, spec, None, worker=self._worker)
        self._ledger = self._run.ledger
        self._beat = Heartbeat(storage, record.id, self._worker, LEASE_SECONDS)
        self._beat.__enter__()
        self.close = weakref.finalize(
            self, self._beat.__exit__, None, None, None
        )  # with the study object, if not before

    def ask(self) -> Ask | None:
        leased = self._lease()
        if not leased and self._storage.load_study(self._record.name).state == "running" and self._step():
            leased = self._lease()
        if not leased:
            return None
        self._beat.hold(leased)
        (ticket,) = leased
        own, *shared = generators_of(ticket, self._spec.seed, self._ledger.facts)
        name = self._spec.names[ticket.arm]
        return Ask(name, ticket.count, ticket.start, own, shared[0] if shared else None, ticket, time.time())

    def _lease(self) -> Sequence[Ticket]:
        return self._ledger.exchange(want=1, seconds=LEASE_SECONDS).leased

    def _step(self) -> bool:
        """Tell the rounds that are whole, and open the next one; False if there is no next one, or others do it."""
        for name, about in zip(self._spec.names, self._ledger.facts.arms, strict=True):
            if about.in_order:
                raise SettingsError(
                    "it is a table or an array: its rows are drawn by study.run(arms) or kabc worker; ask() is for "
                    "arms that you draw yourself"
                ).of_arm(name)
        if not self._storage.take_step(self._record.id, self._worker, LEASE_SECONDS):
            return False
        try:
            return studies.Step(self._storage, self._record, self._run).advance()
        except BaseException:  # the script is broken: the next call begins again, from the log
            self._run = studies.run_of(self._storage, self._record, self._spec, None, worker=self._worker)
            self._ledger = self._run.ledger
            raise
        finally:
            self._storage.drop_step(self._record.id, self._worker)

    def tell(self, ask: Ask, rows: ArrayLike) -> Outcome:
        ticket = ask.ticket
        try:
            own = own_rows(rows, ticket.count)
            self._run.intake.expect(own)
        except KabcError as error:
            raise error.of_arm(ask.arm) from None
        draw = Draw(ticket.id, ticket.lease, self._worker, own, ask.began, time.time())
        (outcome,) = self._ledger.exchange([draw]).outcomes
        self._beat.release([ticket.id])
        if outcome == "failed":  # it is unlike those of others; it is asked for again
            failure = failed_draw(self._storage, self._record.id)
            self._storage.reopen(self._record.id, {"worker": self._worker})
            raise SampleError("" if failure is None else str(failure.body.get("message"))).of_arm(ask.arm)
        self._run.intake.expect_width(own)
        return outcome
