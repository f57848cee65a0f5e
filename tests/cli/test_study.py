"""`kabc study`: what people see of studies, and how they steer them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.cli.stores import VARIABLE, file_of
from kabc.storage.contract import Draw, NewTicket, Storage
from kabc.study.ledger import Ledger
from tests.cli import kept
from tests.cli.conftest import Call


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """A store in a file that every command finds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "kabc.db")
    opened = kept.store(tmp_path)
    yield opened
    opened.close()


def test_list_has_a_line_for_each_study_oldest_first(store: Storage, kabc: Call) -> None:
    assert kabc("study", "list").out.startswith("no studies in ")
    kept.made(store, "nightly")
    kept.made(store, "week", rounds=0)
    listed = kabc("study", "list")
    assert listed.code == 0
    nightly, week = listed.out.splitlines()
    assert re.fullmatch(r"nightly  running: 2 rounds, 18 samples, 1 worker, changed (just now|\d+ s ago)", nightly)
    assert week.startswith("week     running: 0 rounds, 0 samples")
    facts = kabc("study", "list", "--json").json()["studies"]
    assert [(one["study"], one["n_samples"], one["n_workers"]) for one in facts] == [("nightly", 18, 1), ("week", 0, 1)]


@pytest.mark.parametrize("words", [["list"], ["status", "nightly"], ["status", "nightly", "--json"]])
def test_a_look_at_studies_loads_nothing_heavy(store: Storage, words: list[str]) -> None:
    kept.made(store)
    heavy = ["numpy", "scipy", "alembic", "rich", "psycopg", "pandas", "polars", "pyarrow", "duckdb", "narwhals"]
    heavy += ["httpx", "numba", "sqlalchemy.orm", "sqlalchemy.dialects.postgresql", "mako", "fastapi", "starlette"]
    heavy += ["kabc.strategies", "kabc.arms", "kabc.config.models", "kabc.core.kernels", "kabc.report", "kabc.server"]
    code = (
        "import sys\n"
        "from kabc.cli import main\n"
        f"code = main({['study', *words]!r})\n"
        f"print('\\n', code, [name for name in {heavy!r} if name in sys.modules])\n"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == " 0 []"
    assert "nightly" in seen.stdout


def test_status_says_when_the_samples_of_a_worker_look_different(store: Storage, kabc: Call) -> None:
    study = kept.made(store)
    line = "samples drawn by host-a look different from those of other workers (arm b; evidence 90 : 1): informational"
    store.add_note(study.id, "worker-effect", {"arm": 1, "worker": "host-a", "evidence": 90.0, "line": line})
    assert kabc("study", "status", "nightly").out.splitlines()[-1].endswith(f"worker-effect: {line}")


def test_status_says_how_far_it_is_who_works_and_what_happened(store: Storage, kabc: Call) -> None:
    study = kept.made(store, limits={"max_samples": 5000})
    store.open_round(study.id, 3, [NewTicket(arm, 0, 6, 3) for arm in range(3)])
    store.exchange(study.id, "w-1", want=1)
    store.add_note(study.id, "late", {"arm": 1, "ticket": 3, "worker": "w-9"})
    answer = kabc("study", "status", "nightly")
    assert answer.code == 0
    head, question, progress, workers, worker, notes, note = answer.out.splitlines()
    assert re.fullmatch(r"nightly: running, created \d{4}-\d\d-\d\d \d\d:\d\d UTC, last change .*", head)
    assert question == "asks: 3 arms, 2 groups, delta 0.05, strategy anytime, seed 7"
    assert progress == (
        "3 rounds, the last one with 0 of 3 draws done, 1 leased, 2 open; 18 samples of at most 5,000, spent 12"
    )
    assert workers == "workers: 1 at work; 1 lease"
    assert re.fullmatch(r"  w-1: draws a, seen (just now|\d+ s ago)", worker)
    assert notes == "notes: 1 late"
    assert re.fullmatch(r"  (just now|\d+ s ago): late: arm b, worker w-9", note)
    facts = kabc("study", "status", "nightly", "--json").json()
    assert facts["samples_per_arm"] == {"a": 6, "b": 6, "c": 6}
    assert facts["leases"][0]["arm"] == "a"
    assert facts["tickets"] == {"open": 2, "leased": 1, "done": 0, "failed": 0}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("status nigthly", "there is no study 'nigthly' in "),
        ("status nigthly", "did you mean 'nightly'? "),
        ("status nightly --storage elsewhere.db", "there is no store elsewhere.db; check --storage"),
        ("delete nightly", "study 'nightly' has 18 samples, and 1 worker at work; add --yes to delete it for ever"),
        ("export nightly samples.xlsx", "a study is written to .csv, .parquet, .kabcstudy"),
        ("export nightly no/where.csv", "there is no folder"),
        ("stauts nightly", "there is no command stauts; did you mean 'status'? there are list, status, "),
        ("status", "Missing argument 'STUDY'."),
    ],
)
def test_a_mistake_is_one_line_with_the_cure(words: str, told: str, store: Storage, kabc: Call) -> None:
    kept.made(store)
    answer = kabc("study", *words.split())
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert store.study_names() == ["nightly"]


def test_without_a_store_it_says_how_to_name_one(kabc: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    answer = kabc("study", "list")
    assert (answer.code, answer.out) == (2, "")
    assert "give --storage, the file or the URL where studies are kept, or set KABC_STORAGE" in answer.err


def test_a_look_makes_no_store(kabc: Call, tmp_path: Path) -> None:
    for storage in (tmp_path / "none.db", f"sqlite:///{tmp_path / 'none.db'}"):
        assert kabc("study", "list", "--storage", storage).code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("kabc.db", "kabc.db"),
        ("sqlite:///kabc.db", "kabc.db"),
        ("sqlite:////var/my%20data/kabc.db?timeout=3", "/var/my data/kabc.db"),
        ("sqlite+pysqlite:///kabc.db", "kabc.db"),
        ("postgresql://me@db/studies", None),
    ],
)
def test_a_store_is_a_file_or_a_server(given: str, file: str | None) -> None:
    assert file_of(given) == (None if file is None else Path(file))


def test_pause_stops_leasing_and_resume_starts_it_again(store: Storage, kabc: Call) -> None:
    study = kept.made(store)
    store.open_round(study.id, 3, [NewTicket(0, 0, 6, 3), NewTicket(1, 0, 6, 3)])
    store.exchange(study.id, "w-1", want=1)
    paused = kabc("study", "pause", "nightly")
    assert paused.out == "nightly: paused; 1 draw under way will be kept; kabc study resume goes on\n"
    assert store.exchange(study.id, "w-1", want=1).leased == ()
    assert kabc("study", "pause", "nightly", "--json").json() == {"study": "nightly", "state": "paused"}
    assert kabc("study", "resume", "nightly").out == "nightly: running; its workers go on\n"
    assert len(store.exchange(study.id, "w-1", want=1).leased) == 1
    assert [note.kind for note in store.notes(study.id)] == ["paused", "running"]  # once each


def test_an_ended_study_is_neither_paused_nor_resumed(store: Storage, kabc: Call) -> None:
    study = kept.made(store)
    store.end(study.id, 2, {"status": "budget"})
    assert "study 'nightly' has ended; there is nothing to pause" in kabc("study", "pause", "nightly").err
    refused = kabc("study", "resume", "nightly")
    assert refused.code == 2
    assert "kabc study raise-budget" in refused.err
    assert store.load_study("nightly").state == "ended"
    assert "ended (budget)" in kabc("study", "status", "nightly").out


def test_stop_ends_a_study_with_the_answer_so_far_and_a_raised_budget_goes_on(store: Storage, kabc: Call) -> None:
    study = kept.made(store)
    store.open_round(study.id, 3, [NewTicket(arm, 0, 6, 3) for arm in range(3)])
    (under_way,) = store.exchange(study.id, "w-1", want=1).leased
    stopped = kabc("study", "stop", "nightly")
    first, answer = stopped.out.splitlines()
    assert (stopped.code, first) == (
        0,
        "nightly: stopped, with the answer so far; kabc study raise-budget lets it go on",
    )
    assert store.load_study("nightly").state == "ended"
    notes = store.notes(study.id)
    assert [(note.kind, note.body) for note in notes] == [("paused", {"why": "to stop"}), ("stopped", {})]
    kept_answer = store.load_study("nightly").answer
    assert kept_answer is not None and (kept_answer["status"], kept_answer["n_samples"]) == ("interrupted", 18)
    assert kabc("study", "result", "nightly").out.startswith(answer)
    again = kabc("study", "stop", "nightly")
    assert again.code == 2 and "there is nothing to stop" in again.err
    assert kabc("study", "raise-budget", "nightly", "none").code == 0
    draw = Draw(under_way.id, under_way.lease, "w-1", np.zeros(3), 0.0, 0.0)
    assert store.exchange(study.id, "w-1", [draw]).outcomes == ("done",)  # the draw that was under way
    again_stopped = kabc("study", "stop", "nightly", "--json").json()
    assert (again_stopped["state"], again_stopped["status"]) == ("ended", "interrupted")


def test_a_study_without_a_round_can_be_stopped(store: Storage, kabc: Call) -> None:
    kept.made(store, rounds=0)
    assert kabc("study", "stop", "nightly", "--json").json() == {
        "study": "nightly", "state": "ended", "status": "interrupted", "n_samples": 0
    }  # fmt: skip
    assert kabc("study", "result", "nightly").code == 3


def test_an_interrupt_while_it_reads_leaves_the_study_paused(
    store: Storage, kabc: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.made(store, rounds=3)
    reads = iter([False])

    def interrupted(self: Ledger, *words: Any) -> Any:
        if next(reads, True):
            raise KeyboardInterrupt
        return round_of(self, *words)

    round_of = Ledger.round
    monkeypatch.setattr(Ledger, "round", interrupted)
    answer = kabc("study", "stop", "nightly")
    assert "interrupted; study 'nightly' is paused" in answer.err
    assert store.load_study("nightly").state == "paused" and store.load_study("nightly").answer is None


def test_delete_asks_to_be_sure(store: Storage, kabc: Call) -> None:
    kept.made(store)
    assert kabc("study", "delete", "nightly").code == 2
    assert store.study_names() == ["nightly"]
    assert kabc("study", "delete", "nightly", "--yes").out == "nightly: deleted, with 18 samples\n"
    assert store.study_names() == []


def test_names_of_a_hostile_store_move_no_cursor(store: Storage, kabc: Call) -> None:
    kept.made(store, arms=("a\x1b[2J", "b\n", "c"))
    study = store.load_study("nightly")
    store.open_round(study.id, 3, [NewTicket(0, 0, 6, 3)])
    store.exchange(study.id, "w-1", want=1)
    store.add_note(study.id, "late\x1b[2J", {"arm": 1})
    for words in (["status", "nightly"], ["list"]):
        out = kabc("study", *words).out
        assert "\x1b" not in out
        assert "\nb" not in out


def test_export_and_import_move_a_study(store: Storage, kabc: Call, tmp_path: Path) -> None:
    kept.made(store)
    assert kabc("study", "export", "nightly", "n.kabcstudy").out == "18 samples: n.kabcstudy\n"
    assert kabc("study", "export", "nightly", "n.csv", "--json").json() == {
        "study": "nightly",
        "file": "n.csv",
        "n_samples": 18,
        "left_out": [],
    }
    assert len((tmp_path / "n.csv").read_text().splitlines()) == 19
    taken = kabc("study", "import", "n.kabcstudy", "--storage", "new.db")
    assert (taken.code, taken.out) == (0, "nightly: imported, 18 samples\n")
    there = kabc("study", "import", "n.kabcstudy", "--storage", "new.db")
    assert there.code == 2
    assert "there is already a study 'nightly' in " in there.err and "give another name with --as" in there.err
    assert kabc("study", "import", "n.kabcstudy", "--storage", "new.db", "--as", "b").out.startswith("b: imported")
    several = kabc("study", "import", "new.db")
    assert "should have one study: it has nightly, b; say which one" in several.err
    assert kabc("study", "import", "none.kabcstudy").code == 2


def test_a_table_of_samples_is_no_study_and_a_name_is_given_once(store: Storage, kabc: Call) -> None:
    kept.made(store)
    assert kabc("study", "export", "nightly", "samples.csv").code == 0
    table = kabc("study", "import", "samples.csv")
    assert table.code == 2 and "FILE.kabcstudy writes a whole study" in table.err
    grown = kabc("study", "add-arm", "nightly", "--new", "nightly", "--arm", "d")
    assert grown.code == 2 and "give another name with --new" in grown.err
