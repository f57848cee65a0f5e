"""Failed samples of a study are counted once, whoever drew them: every place where they are told has one figure."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kabc
from tests.blackbox.shell import KABC, environment, serving, shell
from tests.processes import running

SLOW = "echo >> drawn; sleep 0.01; "  # so that one worker is not done before the other has begun
STEADY = f"{SLOW}echo $((KABC_SEED % 1000))"
FLAKY = f"{SLOW}test $((KABC_SEED % 5)) -ne 0 || {{ echo broken >&2; exit 3; }}; echo $((KABC_SEED % 1000))"
ARMS = ["--command", f"steady={STEADY}", "--command", f"flaky={FLAKY}", "--on-failure", "encode", "--quiet"]
BUDGET = 160  # samples


def make(folder: Path, name: str, **more: Any) -> str:
    """A study in the store of the folder; its path."""
    store = str(folder / "kabc.db")
    kabc.create_study(
        name, arms=["steady", "flaky"], tolerance="50%", max_samples=BUDGET, seed=3, watch=False, storage=store, **more
    )
    return store


def work(stack: ExitStack, folder: Path, name: str, *place: object, token: str | None = None) -> subprocess.Popen[str]:
    """A worker that draws both arms."""
    command = [KABC, "worker", "--study", name, "--lease", 2, *place, *ARMS]
    return stack.enter_context(running(command, env=environment({"KABC_TOKEN": token}), cwd=folder))


def wait_for(folder: Path, n_draws: int) -> None:
    """Until so many draws have begun in all."""
    file, end = folder / "drawn", time.monotonic() + 120
    while not file.exists() or file.stat().st_size < n_draws:
        assert time.monotonic() < end
        time.sleep(0.02)


def in_the_rows(folder: Path, store: str, name: str) -> tuple[int, int, set[str]]:
    """What the exported samples say of the arm that fails: failed ones, all, and who drew them."""
    assert shell("study", "export", name, folder / f"{name}.csv", "--storage", store).code == 0
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["arm"] == "flaky" and row["late"] == "0"]
    return sum(float(row["failed"]) == 1 for row in rows), len(rows), {row["worker"] for row in rows}


def expect_one_figure(folder: Path, store: str, name: str, n_workers: int) -> None:
    """All that is told of the arm that fails, against the samples themselves."""
    failed, drawn, drawn_by = in_the_rows(folder, store, name)
    assert failed > 5, "the arm did not fail: nothing is seen here"
    assert len(drawn_by) >= n_workers

    document = shell("study", "result", name, "--storage", store, "--json").json
    told = document["failures"]["flaky"]
    assert list(document["failures"]) == ["flaky"]
    assert (told["count"], told["tries"], told["values"]) == (failed, drawn, failed)
    assert told["kinds"] == {"exit code 3": failed}
    assert "broken" in told["last"]

    text = shell("study", "result", name, "--storage", store).out
    assert f"{failed:,} of {drawn:,} values of flaky are failures" in text
    assert f"failures: {failed:,} of {drawn:,} tries of flaky (exit code 3: {failed:,}; last: " in text
    group = next(one["arms"] for one in document["groups"] if "flaky" in one["arms"])
    share = 100 * failed / sum(document["samples_per_arm"][arm] for arm in group)
    (shown,) = [line for line in text.splitlines() if re.search(r"failed: .*1 \(", line)]
    assert f"1 ({share:.2g} %)" in shown, text

    status = shell("study", "status", name, "--storage", store, "--json").json
    assert status["failures"] == {"flaky": failed}
    assert "failures" not in status["notes"]  # these are what was just counted, and no event

    with serving(folder, store=store) as server, server.client(server.token("read")) as guest:
        arms = guest.get("/api/studies/1/arms").json()["arms"]
        assert {one["arm"]: one["n_failures"] for one in arms} == {"steady": 0, "flaky": failed}
        assert "failures" not in {one["kind"] for one in guest.get("/api/studies/1/notes").json()["notes"]}


def test_two_workers_on_a_store_and_a_run_without_one(tmp_path: Path) -> None:
    """The same seed gives the same samples, so the same figures; trial runs before the first are none of them."""
    store = make(tmp_path, "nightly")
    with ExitStack() as stack:
        workers = [work(stack, tmp_path, "nightly", "--storage", store) for _ in range(2)]
        assert [worker.wait(180) for worker in workers] == [0, 0]
    expect_one_figure(tmp_path, store, "nightly", 2)
    question = ["--tolerance", "50%", "--max-samples", BUDGET, "--seed", 3, "--no-watch"]
    alone = shell("run", *question, *ARMS, "--json", folder=tmp_path).json
    kept = shell("study", "result", "nightly", "--storage", store, "--json").json
    assert kept["samples_per_arm"] == alone["samples_per_arm"]
    assert kept["failures"] == alone["failures"]


def test_two_workers_by_url_one_of_them_killed_and_replaced(tmp_path: Path) -> None:
    store = make(tmp_path, "nightly")
    with ExitStack() as stack, serving(tmp_path, store=store) as server:
        place, token = ("--server", server.address), server.token("tell")
        first, second = (work(stack, tmp_path, "nightly", *place, token=token) for _ in range(2))
        wait_for(tmp_path, BUDGET // 4)
        os.killpg(first.pid, signal.SIGKILL)
        third = work(stack, tmp_path, "nightly", *place, token=token)
        assert [worker.wait(180) for worker in (second, third)] == [0, 0]
    expect_one_figure(tmp_path, store, "nightly", 2)


def test_a_worker_that_is_killed_and_started_again(tmp_path: Path) -> None:
    """The answer so far counts rounds that are whole, and nothing is lost or counted twice in the end."""
    store = make(tmp_path, "nightly")
    with ExitStack() as stack:
        worker = work(stack, tmp_path, "nightly", "--storage", store)
        wait_for(tmp_path, BUDGET // 2)
        os.killpg(worker.pid, signal.SIGKILL)
    document = shell("study", "result", "nightly", "--storage", store, "--json").json
    told, note = document["failures"]["flaky"], next(one for one in document["notes"] if "values of flaky" in one)
    assert document["status"] == "unfinished"
    assert told["tries"] == document["samples_per_arm"]["flaky"]
    assert told["count"] == told["values"] == sum(told["kinds"].values())
    assert f"{told['count']} of {told['tries']} values" in note

    assert shell("worker", "--study", "nightly", "--storage", store, *ARMS, folder=tmp_path).code == 0
    expect_one_figure(tmp_path, store, "nightly", 2)
