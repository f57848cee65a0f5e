"""Streams of events: each change within moments, nothing twice, nothing piled up for those who are slow."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from kabc.server.hub import Hub
from kabc.server.models.studies import Event
from tests.server.served import Served, refusal


@contextmanager
def stream(served: Served, study: int, token: str | None = None, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a study, as they come."""
    client = served.client(token or served.token, **headers)
    with client, client.stream("GET", f"/api/studies/{study}/events") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer)


def events(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    found: dict[str, str] = {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            found[name] = value
        elif "data" in found:
            data = json.loads(found["data"])
            assert found["id"] == str(data["revision"])
            yield data
            found = {}


@pytest.fixture
def study(served: Served) -> Iterator[int]:
    """A study of its own, without a question: it is only watched."""
    made = served.storage.create_study("watched", {}, {}).id
    yield made
    served.storage.delete_study(made)


def test_a_stream_begins_with_what_is_and_goes_on_with_each_change(served: Served, study: int) -> None:
    with stream(served, study) as seen:
        first = next(seen)
        assert (first["revision"], first["state"], first["n_samples"]) == (1, "running", 0)
        served.storage.set_state(study, "paused", {})
        second = next(seen)
        assert (second["revision"], second["state"]) == (2, "paused")
        served.storage.delete_study(study)
        assert next(seen)["state"] == "deleted"
        assert list(seen) == []  # the stream is over


def test_a_stream_is_resumed_after_the_last_event_that_was_seen(served: Served, study: int) -> None:
    for number in range(3):
        served.storage.add_note(study, "seen", {"number": number})
    revision = served.storage.wait(study, 0, 0.0)
    with stream(served, study, **{"last-event-id": str(revision - 2)}) as seen:
        assert next(seen)["revision"] == revision  # what was missed, in one event
    with stream(served, study, **{"last-event-id": str(revision)}) as seen:
        served.storage.add_note(study, "seen", {})
        assert next(seen)["revision"] == revision + 1  # and nothing before it


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 40])
def test_an_id_that_is_none_is_refused(served: Served, given: str) -> None:
    with served.client(served.token) as client:
        asked = {"last-event-id": given}
        assert refusal(client.get("/api/studies/1/events", headers=asked))[0] == 400
        assert refusal(client.get("/api/studies/999/events"))[0] == 404


def test_a_stream_ends_when_its_token_is_revoked(served: Served, study: int) -> None:
    token = served.new_token("read")
    with stream(served, study, token) as seen:
        next(seen)
        assert served.storage.remove_token(served.storage.tokens()[-1].id)
        number = 0
        served.storage.add_note(study, "seen", {"number": number})
        for _ in seen:
            number += 1
            served.storage.add_note(study, "seen", {"number": number})
        assert number < 1_000


def test_one_reader_that_takes_nothing_holds_nobody_up(served: Served, study: int) -> None:
    url = httpx.URL(served.address)
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    deaf.connect((url.host, url.port))
    deaf.sendall(
        f"GET /api/studies/{study}/events HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
        f"Authorization: Bearer {served.token}\r\n\r\n".encode()
    )
    with stream(served, study) as seen, served.client(served.token) as client:
        for number in range(8):
            served.storage.add_note(study, "seen", {"number": number})
            assert next(seen)["revision"] <= number + 2
            assert client.get("/api/me").status_code == 200
    deaf.close()


# ---------------------------------------------------------------- the hub alone


def test_those_who_wait_get_the_latest_event_and_only_that() -> None:
    """A thousand changes while nobody takes any: one event is left, whoever waits."""
    now = {1: Event(revision=1, state="running")}

    async def look(known: Any) -> dict[int, Event]:
        return {study: event for study, event in now.items() if event.revision > known.get(study, 0)}

    async def run() -> list[int]:
        hub = Hub(look)
        with hub.watching(1), hub.watching(1):
            first = await hub.after(1, -1, 60.0)
            for revision in range(2, 1_000):
                now[1] = Event(revision=revision, state="running")
                hub.nudge()
                if revision % 100 == 0:
                    await asyncio.sleep(0.03)
            assert first is not None
            both = await asyncio.gather(*[hub.after(1, 998, 60.0) for _ in range(2)])
            none = await hub.after(1, 999, 0.05)
        assert none is None and hub.n_watchers == 0
        await hub.close()
        return [first.revision, *(one.revision for one in both if one is not None)]

    assert asyncio.run(run()) == [1, 999, 999]
