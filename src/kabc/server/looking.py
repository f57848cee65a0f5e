"""Endpoints for those who look."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from kabc.server import answers
from kabc.server.desk import StillComputingError
from kabc.server.errors import RefusedError
from kabc.server.events import EventStream
from kabc.server.lines import view_of
from kabc.server.models.answers import ExportQuery, PairsQuery, PartQuery, SamplesQuery, Snapshot
from kabc.server.models.people import Visitor
from kabc.server.models.studies import EventsQuery, Notes, NotesQuery, NoteView, Studies, StudyView
from kabc.server.service import Call
from kabc.storage.contract import Note
from kabc.study.categories import is_event

_PATIENCE = 10.0  # seconds for which a request waits for an answer that is being computed
_LITTLE = 2.0  # the same, where something can be said without it
_EXPORT_PATIENCE = 600.0


async def who(call: Call) -> Visitor:
    """Who the caller is taken for."""
    from kabc import __version__

    assert call.guest is not None
    return Visitor(scope=call.guest.scope, label=call.guest.label, version=__version__)


async def studies(call: Call) -> Studies:
    """All studies."""
    return await call.service.thread(call.service.lines.studies, call.service.storage)


async def study(call: Call) -> StudyView:
    """One study in figures."""
    return await call.service.thread(view_of, call.service.storage, call.study)


async def snapshot(call: Call) -> str | Snapshot:
    """The answer so far; the figures alone, as long as it is being computed."""
    try:
        found, so_far = await call.service.reader.ask(answers.snapshot, call.study, patience=_LITTLE)
    except StillComputingError:
        seen = await call.store("summary", call.study)
        return answers.snapshot_of(seen, None, 0, computing=True)
    call.service.lines.learn(call.study, so_far)
    return found


async def pairs(call: Call) -> str:
    """Pairs, with what is proven of them."""
    asked: PairsQuery = call.query
    words = (call.study, asked.arm, asked.offset, asked.limit)
    return await call.service.reader.ask(answers.pairs, *words, patience=_PATIENCE)


async def arms(call: Call) -> str:
    """Arms, the odd ones first."""
    asked = call.query
    words = (call.study, asked.search, asked.offset, asked.limit)
    return await call.service.reader.ask(answers.arms, *words, patience=_PATIENCE)


async def samples(call: Call) -> str:
    """Two arms side by side."""
    asked: SamplesQuery = call.query
    return await call.service.reader.ask(answers.samples, call.study, asked.a, asked.b, patience=_PATIENCE)


async def changes(call: Call) -> str:
    """What changed since the run before."""
    return await call.service.reader.ask(answers.changes, call.study, patience=_PATIENCE)


async def part(call: Call) -> str:
    """A part of the report."""
    asked: PartQuery = call.query
    return await call.service.reader.ask(answers.part, call.study, asked.name, patience=_PATIENCE)


async def notes(call: Call) -> Notes:
    """What happened."""
    asked: NotesQuery = call.query
    await call.service.thread(call.service.storage.wait, call.study, 0, 0.0)  # refused if there is no such study
    found = [note for note in await call.store("notes", call.study, asked.after) if is_event(note)]
    page = found[: asked.limit]
    return Notes(notes=[note_view(one) for one in page], more=len(found) > len(page))


def note_view(note: Note) -> NoteView:
    """A note as it is shown."""
    return NoteView(id=note.id, kind=note.kind, body=dict(note.body), written=note.written)


async def events(call: Call) -> EventStream:
    """Changes of a study, as server-sent events."""
    given = call.request.headers.get("last-event-id", "").strip()
    if given and not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise RefusedError(400, "Last-Event-ID must be the id of an event, a whole number; leave it out to begin now")
    await call.service.thread(call.service.storage.wait, call.study, 0, 0.0)
    assert call.guest is not None
    return EventStream(call.service, call.guest, {call.study: int(given) if given else -1})


async def several(call: Call) -> EventStream:
    """Changes of several studies. One that is not there is said to be deleted, and the others go on."""
    asked: EventsQuery = call.query
    assert call.guest is not None
    return EventStream(call.service, call.guest, {int(one): -1 for one in asked.studies.split(",")}, named=True)


_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "kabcstudy": "application/octet-stream",
    "json": "application/json",
}


async def export(call: Call) -> Response:
    """The study as a file."""
    asked: ExportQuery = call.query
    folder: Any = tempfile.TemporaryDirectory(prefix="kabc-export-")
    path = Path(folder.name) / f"study-{call.study}.{asked.form}"
    try:
        words = (call.study, asked.form, str(path))
        await call.service.reader.ask(answers.export, *words, patience=_EXPORT_PATIENCE)
    except BaseException:
        folder.cleanup()
        raise
    kind = _TYPES[asked.form]
    return FileResponse(path, media_type=kind, filename=path.name, background=BackgroundTask(folder.cleanup))
