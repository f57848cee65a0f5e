"""Server-sent events: the changes of one study, or of several, to one reader."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from kabc.server.access import Guest
from kabc.server.errors import RefusedError
from kabc.server.hub import LOOK_SECONDS
from kabc.server.models.studies import Event, StudyEvent

if TYPE_CHECKING:
    from kabc.server.service import Service

MOST_STREAMS = 1_000
_QUIET_SECONDS = 15.0  # after which a line without meaning says that the stream is alive
_PATIENCE = 60.0  # seconds after which a reader that takes nothing is left
_RETRY = "retry: 1000\n\n"  # milliseconds until a browser comes back by itself


class EventStream:
    """Sends the latest event after each change, a few times a second at most. It ends with its studies or the token.

    Parameters
    ----------
    service : Service
        Knows of changes.
    guest : Guest
        Who reads.
    known : mapping of int to int
        Study -> the last revision that the reader knows: what is newer is sent at once.
    named : bool
        Whether events say of which study they are. They have no ids then: a revision belongs to one study.
    """

    def __init__(self, service: Service, guest: Guest, known: Mapping[int, int], *, named: bool = False) -> None:
        if service.hub.n_watchers >= MOST_STREAMS:
            raise RefusedError(503, f"{MOST_STREAMS:,} readers are here already; try again later", 30)
        self._service, self._guest, self._known, self._named = service, guest, dict(known), named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until somebody leaves."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, TimeoutError, OSError, ExceptionGroup):
                    await task

    async def _send(self, send: Send) -> None:
        await _write(send, _RETRY)
        async with asyncio.TaskGroup() as group:
            for study, revision in self._known.items():
                group.create_task(self._follow(send, study, revision))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, send: Send, study: int, revision: int) -> None:
        hub = self._service.hub
        with hub.watching(study):
            while not hub.closed.is_set():
                event = await hub.after(study, revision, _QUIET_SECONDS)
                if not await self._service.access.still(self._guest):
                    break
                await _write(send, ":\n\n" if event is None else self._text(study, event))
                if event is None:
                    continue
                revision = event.revision
                if event.state == "deleted":
                    break
                await asyncio.sleep(LOOK_SECONDS)

    def _text(self, study: int, event: Event) -> str:
        if self._named:
            return f"event: study\ndata: {StudyEvent(study=study, **event.model_dump()).model_dump_json()}\n\n"
        return f"id: {event.revision}\nevent: study\ndata: {event.model_dump_json()}\n\n"


async def _write(send: Send, text: str) -> None:
    """A reader that takes nothing for a minute is left; until then it holds up nobody but itself."""
    async with asyncio.timeout(_PATIENCE):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
