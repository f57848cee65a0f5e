"""Endpoints for workers: they lease, give signs of life, tell and fail. They cannot change what is asked."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json

from kabc.core.errors import SampleError
from kabc.core.samples import as_points
from kabc.core.secrets import hide_words
from kabc.running.questions import takes_texts
from kabc.running.settings import AUTO
from kabc.server.errors import RefusedError
from kabc.server.looking import note_view
from kabc.server.models import work
from kabc.server.models.people import Done
from kabc.server.models.studies import TicketCounts
from kabc.server.service import Call
from kabc.storage.contract import Draw, Failure, Json, Storage, Ticket, TicketState
from kabc.storage.errors import StorageError
from kabc.storage.rows import decode
from kabc.study.documents import facts_of_document

MOST_UNPACKED = 2**26  # bytes of the rows of one exchange
_LONGEST_FACTS = 2**21  # characters of what a worker says of itself
_PROCESS = ("boot", "pid", "started")  # facts of a worker that say which process it is
_OWNER = "token"  # in the facts of a worker: the first letters of the hash of the token that it came in with
_MARK = 16  # letters


async def look(call: Call) -> work.Look:
    """What a worker needs to know; after a change, if it asks to wait for one."""
    asked: work.WorkQuery = call.query
    service = call.service
    found = await service.thread(_look, service.storage, asked)
    if asked.revision is not None and asked.seconds and found.revision <= asked.revision:
        _see_to_it(call, found)
        with service.hub.watching(found.id):
            await service.hub.after(found.id, asked.revision, asked.seconds)
        found = await service.thread(_look, service.storage, asked)
    _see_to_it(call, found)
    return found.model_copy(update={"stuck": service.stuck.get(found.id, "")})


def _see_to_it(call: Call, found: work.Look) -> None:
    """If no draw of the round is left, the next round is to be opened."""
    left = found.tickets.open + found.tickets.leased + found.tickets.failed
    if found.state == "running" and found.facts is not None and not left:
        call.service.step(found.id)


def _look(storage: Storage, asked: work.WorkQuery) -> work.Look:
    record = storage.load_study(asked.study)
    seen = storage.summary(record.id)
    counts = TicketCounts(**dict(seen.tickets))
    finds_block = record.spec.get("question", {}).get("block") == AUTO
    notes = {one.kind: one for one in storage.notes(record.id)} if counts.failed or finds_block else {}
    failed = notes.get("failed") if counts.failed else None
    return work.Look(
        id=record.id,
        name=record.name,
        spec=dict(record.spec),
        state=record.state,
        created=record.created,
        revision=record.revision,
        facts=None if record.facts is None else dict(record.facts),
        limits=dict(record.limits),
        now=storage.now(),
        n_rounds=seen.n_rounds,
        n_samples=seen.n_samples,
        n_paid=seen.n_paid,
        last_change=seen.last_change,
        tickets=counts,
        latest=seen.latest,
        unfinished=_unfinished(storage, record.id) if asked.unfinished else None,
        deaths=dict(storage.deaths(record.id)),
        failed=None if failed is None else note_view(failed),
        block=note_view(notes["block"]) if "block" in notes else None,
        stuck="",
    )


def _unfinished(storage: Storage, study: int) -> dict[TicketState, dict[int, int]]:
    return {state: dict(arms) for state, arms in storage.unfinished(study).items()}


async def crew(call: Call) -> work.Crew:
    """All workers of a study. Which process it is, is said of the caller's own: for others nobody can speak."""
    assert call.guest is not None
    await call.service.thread(call.service.storage.wait, call.study, 0, 0.0)
    found = await call.service.thread(call.service.storage.workers, call.study)
    workers = []
    for one in found:
        own = _mark(one.facts, call.guest.digest[:_MARK]) == call.guest.digest[:_MARK]
        facts = {name: fact for name, fact in one.facts.items() if own or name not in _PROCESS}
        workers.append(work.WorkerFacts(name=one.name, facts=facts, first_seen=one.first_seen, last_seen=one.last_seen))
    return work.Crew(workers=workers)


async def join(call: Call) -> Done:
    """A worker is there."""
    asked: work.Join = call.body
    if len(json.dumps(asked.facts)) > _LONGEST_FACTS:
        raise RefusedError(413, f"the facts of a worker have at most {_LONGEST_FACTS:,} characters")
    owner = await _own_name(call, asked.worker)
    await call.store("register_worker", call.study, asked.worker, asked.facts | {"by_url": True, _OWNER: owner})
    return Done()


async def _own_name(call: Call, worker: str) -> str:
    """A mark of the caller's token, if the worker of this name came in with it, or nobody had the name yet."""
    assert call.guest is not None
    mine, owners, key = call.guest.digest[:_MARK], call.service.owners, (call.study, worker)
    if key not in owners:
        owners[key] = await call.service.thread(_owner, call.service.storage, call.study, worker, mine)
    if owners[key] != mine:
        raise RefusedError(403, "a worker of this name came in with another token, or by the store; take another name")
    return mine


def _owner(storage: Storage, study: int, worker: str, mine: str) -> str:
    """Whose the name is, as the store has it from an earlier server; the caller's where nobody had it."""
    facts = next((one.facts for one in storage.workers(study) if one.name == worker), {"by_url": True})
    return _mark(facts, mine)


def _mark(facts: Json, mine: str) -> str:
    """The mark of the token that a worker came in with; workers of earlier versions have none."""
    return str(facts.get(_OWNER, mine if facts.get("by_url") else ""))


async def facts(call: Call) -> work.ArmsFacts:
    """What is known of the arms, if nothing was known before; the answer has what counts."""
    asked: work.ArmsFacts = call.body
    return work.ArmsFacts(facts=await call.service.thread(_set_facts, call.service.storage, call.study, asked.facts))


def _set_facts(storage: Storage, study: int, given: dict[str, object]) -> dict[str, object]:
    record = storage.summary(study).study
    names = record.spec.get("question", {}).get("names", ())
    facts_of_document(given, len(names), record.name)  # refuses anything that is no fact of an arm
    return dict(storage.set_facts(study, given).facts or {})


# ---------------------------------------------------------------- leases


async def exchange(call: Call) -> work.Exchanged:
    """Tell, fail and lease."""
    asked: work.Exchange = call.body
    service = call.service
    await _own_name(call, asked.worker)
    lock = service.exchanging.setdefault((call.study, asked.worker), asyncio.Lock())
    async with lock:  # a call that is repeated comes after the first one, though that was given up
        return await service.thread(_exchanged, service.storage, call.study, asked)


def _exchanged(storage: Storage, study: int, asked: work.Exchange) -> work.Exchanged:
    finished = _finished(asked)
    texts = _texts_for_numbers(storage, study, finished)
    for at, failure in texts.items():
        finished[at] = failure
    if asked.held is not None:
        _give_back(storage, study, asked.worker, set(asked.held))
    arms = None if asked.arms is None else set(asked.arms)
    answered = storage.exchange(study, asked.worker, finished, asked.want, arms, asked.seconds)
    outcomes = list(answered.outcomes)
    for at in texts:
        outcomes[at] = "failed" if outcomes[at] == "done" else "superseded"
    return work.Exchanged(outcomes=outcomes, leased=[_leased(one) for one in answered.leased])


def _texts_for_numbers(storage: Storage, study: int, finished: list[Draw | Failure]) -> dict[int, Failure]:
    """Draws that hold texts, as failures, where the study compares numbers alone: no store knows what it asks."""
    found: dict[int, Failure] = {}
    for at, one in enumerate(finished):
        if isinstance(one, Draw) and one.rows.dtype.kind in "UO":
            try:
                as_points(one.rows)
            except SampleError as error:
                found[at] = Failure(one.ticket, one.lease, one.worker, hide_words(str(error)))
    return {} if not found or takes_texts(storage.summary(study).study) else found


def _finished(asked: work.Exchange) -> list[Draw | Failure]:
    left, found = MOST_UNPACKED, list[Draw | Failure]()
    for one in asked.finished:
        if isinstance(one, work.FailureIn):
            found.append(Failure(one.ticket, one.lease, asked.worker, one.message, one.final))
            continue
        draw = _draw(one, asked.worker, left)
        left -= draw.rows.nbytes
        found.append(draw)
    return found


def _draw(one: work.DrawIn, worker: str, most: int) -> Draw:
    try:
        packed = base64.b64decode(one.rows, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(400, f"the rows of ticket {one.ticket} are not in base64") from None
    if most <= 0:
        raise RefusedError(413, f"one exchange takes at most {MOST_UNPACKED:,} bytes of rows; send fewer draws")
    try:
        rows = decode(packed, most)
    except StorageError:  # it speaks of stores
        said = f"the rows of ticket {one.ticket} are not as kabc writes them, or take more than {most:,} bytes"
        raise RefusedError(400, said) from None
    return Draw(one.ticket, one.lease, worker, rows, one.started, one.ended, one.n_paid)


def _give_back(storage: Storage, study: int, worker: str, held: set[int]) -> None:
    """Leases that the worker never heard of, because an answer was lost: nobody would draw or renew them."""
    unknown = [one for one in storage.leases(study) if one.worker == worker and one.id not in held]
    if unknown:
        storage.exchange(study, worker, [Failure(one.id, one.lease, worker, "", final=False) for one in unknown])


def _leased(one: Ticket) -> work.Leased:
    return work.Leased(
        id=one.id,
        round=one.round,
        place=one.place,
        arm=one.arm,
        piece=one.piece,
        start=one.start,
        count=one.count,
        lease=one.lease,
        expires=one.expires,
        deaths=one.deaths,
    )


async def heartbeat(call: Call) -> work.Kept:
    """A sign of life."""
    asked: work.Beat = call.body
    await _own_name(call, asked.worker)
    return work.Kept(kept=sorted(await call.store("renew", call.study, asked.worker, asked.held, asked.seconds)))


async def leave(call: Call) -> Done:
    """A worker has ended."""
    asked: work.Leave = call.body
    await _own_name(call, asked.worker)
    await call.store("bury", call.study, asked.worker, counted=asked.counted)
    return Done()


async def remark(call: Call) -> Done:
    """What a worker did with a lost draw."""
    asked: work.Remark = call.body
    await call.store("add_note", call.study, asked.kind, asked.body)
    return Done()
