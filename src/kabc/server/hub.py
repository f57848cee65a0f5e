"""Who waits for changes of studies, and who tells them.

One task looks at all studies that somebody watches, a few times a second, and makes one event of each change. Everybody
who waits gets the latest event, and only that: a slow reader misses steps in between, holds nobody up, and nothing is
piled up for it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from kabc.core.errors import KabcError
from kabc.server.models.studies import Event, TicketCounts
from kabc.storage.contract import Storage, Summary
from kabc.storage.errors import NoStudyError

log = logging.getLogger("kabc.server")

LOOK_SECONDS = 0.25  # between two looks, if nobody says that something has changed
_LEAST_SECONDS = 0.02  # between two looks

Look = Callable[[Mapping[int, int]], Awaitable[Mapping[int, Event]]]  # study -> known revision, to events of changes


@dataclass
class _Watched:
    """A study that somebody watches."""

    watchers: int = 0
    latest: Event | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # a new one for each event

    @property
    def revision(self) -> int:
        return -1 if self.latest is None else self.latest.revision


class Hub:
    """Tells those who wait of every change."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._watched: dict[int, _Watched] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.closed = asyncio.Event()

    @property
    def n_watchers(self) -> int:
        """Streams and workers that wait."""
        return sum(one.watchers for one in self._watched.values())

    @contextmanager
    def watching(self, study: int) -> Iterator[None]:
        """The study is looked at in here."""
        watched = self._watched.setdefault(study, _Watched())
        watched.watchers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        self.nudge()
        try:
            yield
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                del self._watched[study]

    def nudge(self) -> None:
        """Something has changed: look at once."""
        self._wake.set()

    async def after(self, study: int, revision: int, seconds: float) -> Event | None:
        """The latest event with a higher revision, once there is one; None if there is none in this time."""
        watched = self._watched[study]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.closed.is_set():
                    latest, changed = watched.latest, watched.changed
                    if latest is not None and (latest.revision > revision or latest.state == "deleted"):
                        return latest
                    await changed.wait()
        return None

    def release(self) -> None:
        """Let everybody go."""
        self.closed.set()
        for watched in self._watched.values():
            watched.changed.set()

    async def close(self) -> None:
        """End it."""
        self.release()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            if self._watched:
                known = {study: one.revision for study, one in self._watched.items()}
                try:
                    self._tell(await self._look(known))
                except Exception as error:  # a store that is away for a while: the next look may find it
                    log.warning(
                        "studies cannot be looked at: %s", error if isinstance(error, KabcError) else type(error)
                    )
                await asyncio.sleep(_LEAST_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._watched else None):
                    await self._wake.wait()

    def _tell(self, events: Mapping[int, Event]) -> None:
        for study, event in events.items():
            watched = self._watched.get(study)
            if watched is not None and event != watched.latest:
                watched.latest = event
                changed, watched.changed = watched.changed, asyncio.Event()
                changed.set()


def changes(storage: Storage, known: Iterable[tuple[int, int]]) -> dict[int, Event]:
    """Events of studies whose revision is above the known one. It reads the store."""
    found: dict[int, Event] = {}
    for study, revision in known:
        try:
            if storage.wait(study, 0, 0.0) > revision:
                found[study] = event_of(storage.summary(study))
        except NoStudyError:
            found[study] = Event(revision=max(revision, 0) + 1, state="deleted")
    return found


def event_of(seen: Summary) -> Event:
    """A study at one moment."""
    study = seen.study
    return Event(
        revision=study.revision,
        state=study.state,
        status=None if study.answer is None or study.state != "ended" else str(study.answer.get("status")),
        n_rounds=seen.n_rounds,
        n_samples=seen.n_samples,
        n_paid=seen.n_paid,
        spent=price_of(seen) * seen.n_paid,
        tickets=TicketCounts(**dict(seen.tickets)),
        last_change=seen.last_change,
    )


def price_of(seen: Summary) -> float:
    """Of one sample; 0 as long as nobody had the arms."""
    price = (seen.study.facts or {}).get("price")
    return float(price) if isinstance(price, int | float) and 0 <= price < math.inf else 0.0
