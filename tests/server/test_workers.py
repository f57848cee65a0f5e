"""Workers that have a URL and a token, and no store: nothing is lost, nothing counts twice, the answer is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.server.client import RemoteStorage, open_server
from kabc.server.models.work import Exchanged
from kabc.storage.contract import Draw, Failure, NewTicket
from kabc.storage.errors import NoStudyError, StorageError, StoreAwayError
from tests.processes import running
from tests.running.crew import MEANS, log, one_worker
from tests.running.test_worker_processes import until
from tests.server.served import KABC, Served, serving


@pytest.fixture
def token(served: Served) -> str:
    return served.new_token("tell")


@pytest.fixture
def study(served: Served) -> Iterator[int]:
    """A study with one open round, of which nobody does the step: it has no question."""
    made = served.storage.create_study("told", {}, {}).id
    served.storage.open_round(made, 1, [NewTicket(arm, 0, 0, 2) for arm in range(4)])
    yield made
    served.storage.delete_study(made)


ROWS: dict[str, list[Any]] = {
    "numbers": [np.array([[1.5, 1e300], [-0.0, 0.1]]), np.array([[2**40, -3], [1, 2]])],
    "texts": [np.array(["", "ä€"]), np.array(["red", "x" * 70]), np.array(["", "b"], dtype=object)],
    "both": [np.array([["red", -0.0], ["", True]], dtype=object)],
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_come_through_exactly_and_leases_are_fenced(served: Served, token: str, kind: str) -> None:
    rows = ROWS[kind]
    study = kabc.create_study(kind, ["a", "b", "c"], 2, seed=0, storage=served.place).record.id
    served.storage.open_round(study, 1, [NewTicket(arm, 0, 0, 2) for arm in range(len(rows))])
    store = RemoteStorage(served.address, token)
    assert store.load_study(kind).id == study
    leased = store.exchange(study, "ann", want=4).leased
    draws = [Draw(one.id, one.lease, "ann", rows[one.arm], 1.0, 2.0, 3) for one in leased]
    first = Draw(leased[0].id, leased[0].lease - 1, "ann", rows[0], 1.0, 2.0)  # of an older lease
    assert store.exchange(study, "ann", [first, *draws]).outcomes == ("superseded", *["done"] * len(rows))
    assert store.exchange(study, "ann", draws).outcomes == ("done",) * len(rows)  # told again: nothing changes
    found = list(served.storage.draws(study, 0, 9))
    assert [(draw.worker, draw.n_paid) for _, draw in found] == [("ann", 3)] * len(rows)
    for ticket, draw in found:
        assert (draw.rows.dtype, repr(draw.rows.tolist())) == (rows[ticket.arm].dtype, repr(rows[ticket.arm].tolist()))
    assert len(list(served.storage.late_draws(study))) == 1
    store.close()


def test_leases_are_renewed_failed_and_given_back(served: Served, token: str, study: int) -> None:
    store = open_server(served.address, token)
    store.load_study("told")
    one, two, three = store.exchange(study, "ann", want=3, arms=[0, 1, 2], seconds=5.0).leased
    assert store.renew(study, "ann", {one.id: one.lease, two.id: two.lease + 1}, 500.0) == {one.id}
    ended = [Failure(one.id, one.lease, "ann", "the line is dead"), Failure(two.id, two.lease, "ann", "", final=False)]
    assert store.exchange(study, "ann", ended).outcomes == ("done", "done")
    assert [ticket.state for ticket in served.storage.tickets(study, 1)] == ["failed", "open", "leased", "open"]
    store.bury(study, "ann", counted=False)
    assert [ticket.id for ticket in store.exchange(study, "bob", want=9, arms=[2]).leased] == [three.id]
    (failed,) = store.notes(study)
    assert (failed.kind, failed.body["message"]) == ("failed", "the line is dead")
    store.close()


def test_leases_of_an_answer_that_was_lost_are_given_back(
    served: Served, token: str, study: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RemoteStorage(served.address, token)
    store.load_study("told")
    (known,) = store.exchange(study, "ann", want=1).leased
    post = store._connection.post

    def lost(path: str, body: Any, form: Any) -> Any:
        found = post(path, body, form)
        if form is Exchanged:
            raise StoreAwayError("the answer was lost")
        return found

    monkeypatch.setattr(store._connection, "post", lost)
    with pytest.raises(StoreAwayError):
        store.exchange(study, "ann", want=2)
    assert [ticket.state for ticket in served.storage.tickets(study, 1)].count("leased") == 3
    monkeypatch.undo()
    store.exchange(study, "ann", want=0)
    states = {ticket.id: ticket.state for ticket in served.storage.tickets(study, 1)}
    assert states[known.id] == "leased" and list(states.values()).count("open") == 3
    assert served.storage.deaths(study) == {}
    store.close()


def test_what_a_worker_by_url_cannot_do_is_said_in_one_line(served: Served, token: str, study: int) -> None:
    store = open_server(served.address, token)
    with pytest.raises(NoStudyError, match="there is no study 'tolt'"):
        store.load_study("tolt")
    store.load_study("told")
    with pytest.raises(StorageError, match="start the worker with --storage"):
        list(store.draws(study, 0, 1))
    (one,) = store.exchange(study, "ann", want=1).leased
    assert store.exchange(study, "ann", [Draw(one.id, one.lease, "ann", np.zeros(3), 0.0, 0.0)]).outcomes == ("failed",)
    assert "asked for 2 samples, got" in store.notes(study)[0].body["message"]
    wrong = open_server(served.address, "kabc_never-made")
    with pytest.raises(StorageError, match=r"refuses this \(401\): the token is wrong") as refused:
        wrong.load_study("told")
    assert not isinstance(refused.value, StoreAwayError)
    nobody = open_server("http://127.0.0.1:9", token)
    with pytest.raises(StoreAwayError, match="does not answer") as away:
        nobody.load_study("told")
    assert token not in str(away.value)
    for one_of_them in (store, wrong, nobody):
        one_of_them.close()


def test_rows_that_unpack_to_more_than_allowed_are_refused(served: Served, study: int) -> None:
    import base64

    from kabc.storage.rows import encode

    bomb = base64.b64encode(encode(np.zeros(2**24))).decode()  # 128 MB, in some kilobytes
    with served.client(served.token) as client:
        finished = [{"kind": "draw", "ticket": 1, "lease": 1, "rows": bomb, "started": 0.0, "ended": 0.0}]
        answer = client.post(f"/api/work/{study}/exchange", json={"worker": "mallory", "finished": finished})
    assert answer.status_code == 400 and "take more than 67,108,864 bytes" in answer.json()["error"]


# ---------------------------------------------------------------- processes


class Crew:
    """A server with the study of tests.running.crew, and its workers by URL."""

    def __init__(self, served: Served, marks: Path, stack: ExitStack) -> None:
        asked = {"n_clusters": 2, "seed": 1, "check_k": False}
        kabc.create_study("nightly", arms=list(MEANS), storage=served.place, **asked)  # type: ignore[arg-type]
        self.served, self.marks, self._stack = served, marks, stack
        self._environment = {**os.environ, "KABC_TOKEN": served.new_token("tell")}

    def worker(self, *options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.running.crew", self.served.address, *options]
        return self._stack.enter_context(running(command, stdout=subprocess.PIPE, env=self._environment))


@pytest.mark.slow
def test_a_worker_by_url_is_killed_and_another_one_finishes_the_study(folder: Path) -> None:
    alone = log(one_worker())
    with serving(folder) as served, ExitStack() as stack:
        crew = Crew(served, folder, stack)
        dead = crew.worker("--waits", folder, "--lease", 1000.0)
        until((folder / "begun").exists, dead)
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        (folder / "go").touch()
        finishing = crew.worker("--lease", 1000.0)
        output, _ = finishing.communicate()
        assert json.loads(output)["state"] == "ended"
        assert log(served.storage) == alone  # the same asks and samples as one worker with a store
        study = served.storage.load_study("nightly")
        kinds = [note.kind for note in served.storage.notes(study.id)]
        assert "lapsed" in kinds and "redrawn" in kinds and "superseded" not in kinds
        assert kabc.load_study("nightly", storage=served.place).result().groups == (("a", "b"), ("c", "d"))
        assert served.end() == 0
    assert "fault" not in served.log


@pytest.mark.slow
def test_workers_by_url_wait_for_a_server_that_is_started_again(folder: Path) -> None:
    alone = log(one_worker())
    place, marks = str(folder / "kabc.db"), folder / "marks"
    marks.mkdir()
    with ExitStack() as stack:
        with serving(folder, place=place) as served:
            crew = Crew(served, marks, stack)
            port = served.address.rpartition(":")[2]
            worker = crew.worker("--waits", marks)
            until((marks / "begun").exists, worker)
            served.process.kill()  # in the middle of a draw
            served.process.wait()
        (marks / "go").touch()
        command = [*KABC, "serve", "--storage", place, "--port", port, "--json"]
        with running(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL):
            output, _ = worker.communicate()
        assert json.loads(output)["state"] == "ended"
    store = kabc.load_study("nightly", storage=place).storage
    assert log(store) == alone
    store.close()


def test_the_command_line_needs_a_token_in_the_environment() -> None:
    words = ["worker", "--server", "http://127.0.0.1:9", "--study", "x", "--command", "a=echo 1", "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "KABC_TOKEN"}
    done = subprocess.run([*KABC, *words], capture_output=True, text=True, env=environment, timeout=200, check=False)
    assert done.returncode == 2
    assert "set KABC_TOKEN to a token of scope tell" in done.stderr
