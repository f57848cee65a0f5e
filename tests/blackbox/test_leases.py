"""A lease belongs to its worker, and what it brought is never replaced, lost or ended by another one."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import kabc
from tests.blackbox.shell import KABC, Served, environment, serving, shell
from tests.blackbox.worker import Caller, served_store
from tests.postgres import new_database
from tests.processes import running


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    if request.param == "sqlite":
        with served_store(tmp_path) as found:
            yield found
        return
    with serving(tmp_path, store=new_database(request.getfixturevalue("postgres"))) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client(served.token("tell")) as found:
        yield found


@pytest.fixture
def study(served: Served) -> kabc.Study:
    """A study with an open round of eight arms, of which one draw is under way."""
    found = kabc.create_study("s", arms=[*"abcdefgh"], n_clusters=2, seed=0, storage=served.store)
    assert found.ask() is not None
    return found


def late_of(study: kabc.Study, folder: Path) -> list[dict[str, str]]:
    study.export(folder / "out.csv")
    with (folder / "out.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["late"] in ("1", "True")]


def outcomes(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()["outcomes"]


def test_a_lease_of_another_worker_brings_nothing(
    served: Served, client: httpx.Client, study: kabc.Study, tmp_path: Path
) -> None:
    thief, owner = Caller(client, "s", "w1"), Caller(client, "s", "w2")
    (ticket,) = owner.lease()
    mine, theirs = np.full(ticket["count"], 1.0), np.full(ticket["count"], 2.0)
    assert outcomes(thief.tell(ticket, theirs)) == ["superseded"]
    failure = {"kind": "failure", "ticket": ticket["id"], "lease": ticket["lease"], "message": "no", "final": True}
    assert outcomes(thief.post("exchange", finished=[failure])) == ["superseded"]
    assert outcomes(owner.tell(ticket, mine)) == ["done"]
    assert outcomes(thief.tell(ticket, mine)) == ["superseded"]  # also what looks the same
    assert outcomes(owner.tell(ticket, mine)) == ["done"]
    rows = late_of(study, tmp_path)
    assert {(row["worker"], row["value 1"]) for row in rows} == {("w1", "2.0"), ("w1", "1.0")}


def test_of_a_hundred_tells_one_counts_and_all_are_kept(
    served: Served, client: httpx.Client, study: kabc.Study, tmp_path: Path
) -> None:
    worker = Caller(client, "s", "w1")
    (ticket,) = worker.lease()
    values = [float(n) for n in range(100)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda value: outcomes(worker.tell(ticket, np.full(ticket["count"], value))), values))
    assert sorted(found) == [["done"]] + [["superseded"]] * 99
    winner = values[found.index(["done"])]
    for value in (winner, values[found.index(["superseded"])]):  # told again: nothing changes
        again = outcomes(worker.tell(ticket, np.full(ticket["count"], value)))
        assert again == ["done" if value == winner else "superseded"]
    rows = late_of(study, tmp_path)
    assert sorted({float(row["value 1"]) for row in rows}) == sorted(set(values) - {winner})
    assert len(rows) == 99 * ticket["count"]
    seen = shell("study", "status", "s", "--storage", served.store, "--json").json
    assert (seen["n_samples"], seen["notes"]["superseded"]) == (ticket["count"], 99)


def test_a_lapsed_lease_that_is_the_latest_one_counts(client: httpx.Client, study: kabc.Study) -> None:
    slow, quick = Caller(client, "s", "w1"), Caller(client, "s", "w2")
    (first,) = slow.post("exchange", want=1, seconds=0.001).json()["leased"]
    assert outcomes(slow.tell(first, np.zeros(first["count"]))) == ["done"]
    (second,) = slow.post("exchange", want=1, seconds=0.001).json()["leased"]
    taken = quick.lease(8)
    assert second["id"] in [one["id"] for one in taken]
    assert outcomes(slow.tell(second, np.zeros(second["count"]))) == ["superseded"]


def test_nobody_speaks_for_the_worker_of_another_token(served: Served, client: httpx.Client, study: kabc.Study) -> None:
    owner = Caller(client, "s", "w1")
    leased = owner.lease(3)
    held = {str(one["id"]): one["lease"] for one in leased}
    by_store = shell("study", "status", "s", "--storage", served.store, "--json").json["workers"][0]["name"]
    with served.client(served.token("tell")) as other:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("leave", {"counted": True}),
            ("heartbeat", {"held": held, "seconds": 80_000}),
            ("exchange", {"want": 1}),
            ("join", {"facts": {}}),
        ]
        for what, body in calls:
            for name in ("w1", by_store):
                answer = other.post(f"/api/work/{owner.id}/{what}", json={"worker": name, **body})
                assert answer.status_code == 403 and "another" in answer.json()["error"], (what, name)
    seen = shell("study", "status", "s", "--storage", served.store, "--json").json
    assert len(seen["leases"]) == 4 and max(one["expires"] for one in seen["leases"]) < seen["now"] + 3600
    assert {one["deaths"] for one in seen["leases"]} == {0} and "lapsed" not in seen["notes"]
    assert sorted(owner.post("heartbeat", held=held).json()["kept"]) == sorted(map(int, held))
    assert owner.post("leave", counted=False).status_code == 200
    left = shell("study", "status", "s", "--storage", served.store, "--json").json["leases"]
    assert sum(one["expires"] == 0 for one in left) == 3  # its own lapsed


def test_a_worker_is_known_to_a_server_that_is_started_again(tmp_path: Path) -> None:
    study = kabc.create_study("s", arms=["a", "b"], n_clusters=2, seed=0, storage=tmp_path / "kabc.db")
    assert study.ask() is not None
    with serving(tmp_path) as served:
        token = served.token("tell")
        with served.client(token) as client:
            held = {str(one["id"]): one["lease"] for one in Caller(client, "s", "w1").lease()}
            number = Caller(client, "s", "w1").id
    with serving(tmp_path) as served:
        beat = {"worker": "w1", "held": held}
        with served.client(served.token("tell")) as client:
            assert client.post(f"/api/work/{number}/heartbeat", json=beat).status_code == 403
        with served.client(token) as client:
            kept = client.post(f"/api/work/{number}/heartbeat", json=beat).json()["kept"]
            assert kept == [int(one) for one in held]


def test_a_worker_of_another_token_that_was_killed_keeps_nobody_from_coming(tmp_path: Path) -> None:
    """On its host others see that its process is gone, and may not speak for it: its lease lapses by itself."""
    with served_store(tmp_path) as served:
        kabc.create_study("s", ["a", "b"], 2, seed=0, storage=served.store, max_samples=20)
        words = ["worker", "--server", served.address, "--study", "s", "--quiet", "--warmup", 0, "--lease", 1]
        slow = [KABC, *words, "--command", "a=sleep 60", "--command", "b=sleep 60"]
        with running(slow, env=environment({"KABC_TOKEN": served.token("tell")})):
            while not shell("study", "status", "s", "--storage", served.store, "--json").json["workers"]:
                time.sleep(0.1)
        draw = "python3 -c 'import os, random; print(random.Random(os.environ[\"KABC_SEED\"]).random())'"
        arms = ["--command", f"a={draw}", "--command", f"b={draw}"]
        said = shell(*words, *arms, env={"KABC_TOKEN": served.token("tell")})
        assert said.code in (0, 3), said.err
        assert kabc.load_study("s", served.store).result().n_samples == 20
