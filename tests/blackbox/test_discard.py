"""Stores of earlier versions that hold a draw which no strategy can be told: all else can be had, and it is mended."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.blackbox.shell import serving, shell

STUCK = Path(__file__).parent.parent / "golden" / "stores" / "stuck.sql"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Studies "texts" and "widths", which are stuck at tickets 7 and 9, and "times", which has ended."""
    file = tmp_path / "kabc.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(STUCK.read_text(encoding="utf-8"))
    connection.close()
    return file


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def normal(mean: float, *columns: int) -> Callable[[int, np.random.Generator], np.ndarray]:
    return lambda n, rng: rng.normal(mean, 1.0, (n, *columns))


STUDIES = {"texts": (7, "b", 9), "widths": (9, "c", 4)}  # the ticket, its arm, samples without it


@pytest.mark.parametrize("name", STUDIES)
def test_all_that_is_good_can_be_had(store: Path, tmp_path: Path, name: str) -> None:
    ticket, arm, n_samples = STUDIES[name]
    cure = f"kabc study discard {name} {ticket}"
    shown = shell("study", "result", name, "--storage", store, "--json", "--quiet")
    said = " ".join(shown.json["notes"])
    assert shown.code == 3 and shown.json["n_samples"] == n_samples
    assert cure in said and f"arm {arm!r}" in said and "is left out" in said
    assert "Traceback" not in shown.err
    written = shell("study", "export", name, tmp_path / "out.csv", "--storage", store, "--quiet")
    assert written.code == 0 and cure in written.err and "damaged" not in written.err
    rows = table(tmp_path / "out.csv")
    assert len(rows) == n_samples and str(ticket) not in {row["ticket"] for row in rows}
    stopped = shell("study", "stop", name, "--storage", store, "--json", "--quiet")
    assert (stopped.code, stopped.json["status"], stopped.json["n_samples"]) == (0, "interrupted", n_samples)
    study = kabc.load_study(name, storage=store)
    assert any(cure in note for note in study.result().notes)


@pytest.mark.parametrize("name", STUDIES)
def test_who_looks_and_who_draws_is_told_the_cure(store: Path, name: str) -> None:
    ticket, arm, _ = STUDIES[name]
    cure = f"kabc study discard {name} {ticket}"
    found = shell("doctor", "--storage", store, "--json")
    problem = next(one for one in found.json["findings"] if one["what"] == f"study {name}")
    assert found.code == 3 and problem["level"] == "problem"
    assert cure in problem["cure"] and f"ticket {ticket}" in problem["found"]
    study = kabc.load_study(name, storage=store)
    with pytest.raises(kabc.SampleError, match=cure) as refused:
        study.run(dict.fromkeys(study.names, normal(0, 2) if name == "widths" else normal(0)), progress=False)
    assert refused.value.arm == arm


def test_a_discarded_draw_is_drawn_again_and_its_rows_are_kept(store: Path, tmp_path: Path) -> None:
    done = shell("study", "discard", "texts", 7, "--storage", store)
    assert done.code == 0 and "ticket 7" in done.out and "arm b" in done.out
    seen = shell("study", "status", "texts", "--storage", store, "--json").json
    assert (seen["tickets"]["open"], seen["notes"]["discarded"]) == (1, 1)
    assert (seen["n_samples"], seen["samples_per_arm"]) == (9, {"a": 5, "b": 4})
    study = kabc.load_study("texts", storage=store)
    found = study.run({"a": normal(0), "b": normal(1.5)}, progress=False)
    untouched = kabc.create_study("again", ["a", "b"], 2, seed=0, storage=tmp_path / "new.db", max_samples=400)
    plain = untouched.run({"a": normal(0), "b": normal(1.5)}, progress=False)
    assert (found.status, found.groups, found.n_samples) == (plain.status, plain.groups, plain.n_samples)
    assert "1 draw was discarded" in " ".join(found.notes)
    assert shell("doctor", "--storage", store, "--json").json["n_problems"] == 1  # the other study
    written = shell("study", "export", "texts", tmp_path / "out.csv", "--storage", store, "--quiet")
    assert written.code == 0 and "ticket 7" in written.err  # the late one does not fit into the table


def test_rows_that_fit_are_late_ones_in_the_table(tmp_path: Path) -> None:
    store = tmp_path / "kabc.db"
    study = kabc.create_study("s", ["a", "b"], 2, seed=0, storage=store)
    ask = study.ask()
    assert ask is not None
    study.tell(ask, np.full(ask.count, 7.0))
    said = shell("study", "discard", "s", ask.ticket.id, "--storage", store, "--json")
    assert said.code == 0
    assert said.json == {"study": "s", "ticket": ask.ticket.id, "arm": ask.arm, "n_samples": ask.count}
    assert study.tell(ask, np.full(ask.count, 7.0)) == "superseded"  # it was given up
    study.run({"a": normal(0), "b": normal(5)}, progress=False)
    study.export(tmp_path / "out.csv")
    late = [row for row in table(tmp_path / "out.csv") if row["late"] == "1"]
    assert [row["ticket"] for row in late] == [str(ask.ticket.id)] * ask.count
    assert {row["value 1"] for row in late} == {"7.0"}


def test_what_was_told_to_the_strategy_is_not_discarded(tmp_path: Path) -> None:
    store = tmp_path / "kabc.db"
    study = kabc.create_study("s", ["a", "b"], 2, seed=0, storage=store)
    asks: list[Any] = []
    while (ask := study.ask()) is not None and not (asks and ask.ticket.round > asks[0].ticket.round):
        study.tell(ask, ask.rng.normal({"a": 0.0, "b": 5.0}[str(ask.arm)], 1.0, ask.count))
        asks.append(ask)
    assert ask is not None
    for number, reason in ((asks[0].ticket.id, "earlier rounds"), (999, "no ticket 999"), (ask.ticket.id, "not drawn")):
        said = shell("study", "discard", "s", number, "--storage", store)
        assert said.code == 2 and reason in said.err, said.err
    study.tell(ask, ask.rng.normal({"a": 0.0, "b": 5.0}[str(ask.arm)], 1.0, ask.count))
    found = study.run({"a": normal(0), "b": normal(5)}, progress=False)
    study.export(tmp_path / "out.csv")
    for name in {row["ticket"] for row in table(tmp_path / "out.csv")}:
        with pytest.raises(kabc.SettingsError, match="told to the strategy"):
            study.discard(int(name))
    assert kabc.load_study("s", storage=store).result() == found


def test_a_time_that_is_none_leaves_no_study_without_its_table(store: Path, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        written = shell("study", "export", "times", tmp_path / f"out.{form}", "--storage", store, "--quiet")
        assert written.code == 0, written.err
    rows = table(tmp_path / "out.csv")
    assert len(rows) == kabc.load_study("times", storage=store).result().n_samples  # the draw counted
    assert sum(row["started"] == "" for row in rows) == 2


def test_the_page_has_the_answer_of_a_stuck_study(store: Path, tmp_path: Path) -> None:
    with serving(tmp_path, store=store) as served, served.client(served.admin) as client:
        ids = {one["name"]: one["id"] for one in client.get("/api/studies").json()["studies"]}
        for name, (ticket, *_) in STUDIES.items():
            snapshot = client.get(f"/api/studies/{ids[name]}/snapshot")
            assert snapshot.status_code == 200, snapshot.text
            for form in ("csv", "parquet", "kabcstudy"):
                assert client.get(f"/api/studies/{ids[name]}/export", params={"form": form}).status_code == 200
            stopped = client.post(f"/api/studies/{ids[name]}/actions", json={"action": "stop"})
            assert (stopped.status_code, stopped.json()["state"]) == (200, "ended")
            assert shell("study", "discard", name, ticket, "--storage", store).code == 0
