"""Workers share a round: each takes its part, and none waits while there is something to draw."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.running.sharing import share
from kabc.storage.contract import Draw, NewTicket, Ticket
from kabc.storage.memory import MemoryStorage
from tests.processes import running
from tests.running.crew import log

NAMES = [f"arm {i}" for i in range(12)]


class Round:
    """A round with a ticket for each of twelve arms, and workers that serve some of them."""

    def __init__(self, *crews: Sequence[int]) -> None:
        self.storage = MemoryStorage()
        self.study = self.storage.create_study("nightly", {}, {}).id
        self.storage.open_round(self.study, 0, [NewTicket(arm, 0, 0, 1) for arm in range(len(NAMES))])
        self.serves = {f"worker {i}": frozenset(crew) for i, crew in enumerate(crews)}
        self.held: dict[str, dict[int, Ticket]] = {name: {} for name in self.serves}
        for name, arms in self.serves.items():
            self.storage.register_worker(self.study, name, {"arms": [NAMES[arm] for arm in arms]})

    def share(self, name: str, most: int = 12) -> int:
        return share(self.storage, self.study, NAMES, self.serves[name], 60.0, most)

    def take(self, name: str) -> int:
        """Lease what is its part. Returns how many tickets those were."""
        want = self.share(name) - len(self.held[name])
        leased = self.storage.exchange(self.study, name, want=want, arms=self.serves[name]).leased
        self.held[name] |= {ticket.id: ticket for ticket in leased}
        return len(leased)


@pytest.mark.parametrize(("n_workers", "parts"), [(1, [12]), (2, [6, 6]), (3, [4, 4, 4]), (5, [3, 3, 3, 3, 0])])
def test_each_worker_takes_as_much_as_the_others(n_workers: int, parts: list[int]) -> None:
    crew = Round(*[range(12)] * n_workers)
    assert [crew.take(name) for name in crew.serves] == parts


def test_arms_that_only_one_worker_serves_are_all_its_own() -> None:
    crew = Round(range(10), range(8, 12))  # arms 8 and 9 are for both of them
    assert [crew.share(name) for name in crew.serves] == [9, 3]


def test_who_has_its_part_takes_no_more_and_who_has_none_takes_one() -> None:
    crew = Round(*[range(12)] * 2)
    assert [crew.take("worker 0") for _ in range(3)] == [6, 0, 0]
    crew = Round(*[range(12)] * 20)
    assert crew.take("worker 0") == 1


def test_nobody_is_given_more_than_it_can_do() -> None:
    assert Round(range(12)).share("worker 0", most=4) == Round(*[range(12)] * 2).share("worker 0", most=4) == 4


def test_what_a_worker_does_not_take_goes_to_the_other() -> None:
    crew = Round(*[range(12)] * 2)
    turns = 0
    while any(one.state == "open" for one in crew.storage.tickets(crew.study, 0)):
        crew.take("worker 0")
        rows = np.zeros(1)
        drawn = [Draw(one.id, one.lease, "worker 0", rows, 0.0, 1.0) for one in crew.held["worker 0"].values()]
        crew.storage.exchange(crew.study, "worker 0", drawn)
        crew.held["worker 0"] = {}
        turns += 1
    assert turns == 4  # 6, 3, 2 and 1


# ---------------------------------------------------------------- processes


class Endpoints(ThreadingHTTPServer):
    """Twelve endpoints. An answer depends on the arm and the prompt alone, and none is given until `go` is set."""

    daemon_threads = True
    request_queue_size = 64
    go = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
            Endpoints.go.wait(60.0)
            noise = np.random.default_rng(int(prompt)).normal()
            body = json.dumps({"ms": (int(self.path.strip("/")) % 2) * 4.0 + noise}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    Endpoints.go.clear()
    with Endpoints(("127.0.0.1", 0), Endpoints.Handler) as running_server:
        thread = threading.Thread(target=lambda: running_server.serve_forever(0.01))
        thread.start()
        try:
            yield running_server
        finally:
            Endpoints.go.set()
            running_server.shutdown()
            thread.join()


def config(folder: Path, server: Endpoints) -> Path:
    port = server.server_address[1]
    (folder / "prompts.txt").write_text("\n".join(map(str, range(1000))))
    lines = ["[http]", 'body = { prompt = "{prompt}" }', 'prompts = "prompts.txt"', 'value = "ms"', "[http.endpoints]"]
    lines += [f'"{name}" = "http://127.0.0.1:{port}/{place}"' for place, name in enumerate(NAMES)]
    file = folder / "arms.toml"
    file.write_text("\n".join(lines))
    return file


@pytest.mark.slow
def test_two_workers_with_endpoints_draw_half_of_a_round_each_and_find_what_one_finds(
    tmp_path: Path, endpoints: Endpoints
) -> None:
    arms, store = config(tmp_path, endpoints), tmp_path / "kabc.db"
    question: dict[str, Any] = {"n_clusters": 2, "seed": 3, "check_k": False, "storage": store}
    study, alone = (kabc.create_study(name, NAMES, **question) for name in ("both", "alone"))
    study.pause()
    with ExitStack() as stack:

        def worker(name: str, *options: str) -> subprocess.Popen[str]:
            words = ["worker", "--study", name, "--storage", store, "--config", arms, "--quiet", "--json", *options]
            program = f"import sys; from kabc.cli import main; sys.exit(main({list(map(str, words))!r}))"
            where: dict[str, Any] = {"cwd": tmp_path, "stdout": subprocess.PIPE}
            return stack.enter_context(running([sys.executable, "-c", program], **where))

        both = [worker("both", "--stay") for _ in range(2)]
        while len(study.storage.workers(study.record.id)) < 2:
            assert all(one.poll() is None for one in both)
            time.sleep(0.02)
        study.resume()
        while len(leases := study.storage.leases(study.record.id)) < len(NAMES):
            assert all(one.poll() is None for one in both)
            time.sleep(0.02)
        assert sorted(Counter(one.worker for one in leases).values()) == [6, 6]
        endpoints.go.set()
        worker("alone").wait()
        while study.status != "ended":
            assert all(one.poll() is None for one in both)
            time.sleep(0.02)
    assert alone.result().status == "decided"
    assert log(study.storage, "both") == log(study.storage, "alone")
    assert study.result().labels == alone.result().labels
