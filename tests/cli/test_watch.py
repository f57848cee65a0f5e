"""What a person sees of a study that goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from kabc.cli import watch
from kabc.cli.status import Status
from kabc.cli.watch import Watching
from kabc.storage.contract import NewTicket, StudyRecord
from kabc.storage.memory import MemoryStorage
from tests.cli import kept


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    monkeypatch.setattr(watch, "_LINE_SECONDS", 0.0)
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.2)
    return MemoryStorage()


def watched(
    store: MemoryStorage, study: StudyRecord, meanwhile: Callable[[], object], *, as_json: bool = False
) -> Status:
    """The last look at a study that others work on meanwhile."""
    watching = Watching(store, study, as_json=as_json)
    others = threading.Thread(target=meanwhile)
    others.start()
    try:
        return watching.to_the_end()
    finally:
        others.join()


def test_lines_tell_rounds_notes_and_the_end(store: MemoryStorage, capsys: pytest.CaptureFixture[str]) -> None:
    study = kept.made(store)

    def others() -> None:
        kept.draw_round(store, study.id, 3, 3)
        store.add_note(study.id, "late", {"arm": 2, "worker": "w-9", "ticket": 5})
        store.end(study.id, 3, {"status": "decided"})

    last = watched(store, study, others)
    out, err = capsys.readouterr()
    assert last.study.state == "ended"
    lines = out.splitlines()
    assert lines[0].startswith("nightly: running, created ")
    assert "note: late: arm c, worker w-9" in lines
    assert lines[-1] == "ended (decided): 3 rounds; 27 samples, spent 18; workers: 1 at work"
    assert err == ""


def test_with_json_the_lines_go_to_standard_error(store: MemoryStorage, capsys: pytest.CaptureFixture[str]) -> None:
    study = kept.made(store)
    watched(store, study, lambda: store.end(study.id, 2, {"status": "budget"}), as_json=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "ended (budget)" in err


def test_a_study_that_has_ended_is_shown_once(store: MemoryStorage, capsys: pytest.CaptureFixture[str]) -> None:
    study = kept.made(store)
    ended = store.end(study.id, 2, {"status": "decided"})
    watched(store, ended, lambda: None)
    assert capsys.readouterr().out.count("ended (decided)") == 1


def test_a_terminal_gets_a_panel_and_at_the_end_the_last_look(
    store: MemoryStorage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = kept.made(store)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    watched(store, study, lambda: store.end(study.id, 2, {"status": "decided"}))
    out = capsys.readouterr().out
    assert "(Ctrl-C ends watching, not the study)" in out
    assert "\x1b[2K" in out  # the panel is erased
    workers, worker = out.splitlines()[-2:]
    assert workers == "workers: 1 at work"
    assert worker.startswith("  w-1: no draw, seen ")


def test_ctrl_c_ends_watching_and_leaves_the_study(
    store: MemoryStorage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = kept.made(store)

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "wait", interrupted)
    assert Watching(store, study, as_json=False).to_the_end().study.state == "running"
    assert store.load_study("nightly").state == "running"


def test_leases_are_told_by_worker_and_lapsed_ones_are_marked(store: MemoryStorage) -> None:
    study = kept.made(store)
    store.open_round(study.id, 3, [NewTicket(arm, 0, 6, 3) for arm in range(3)])
    store.exchange(study.id, "w-1", want=2)
    store.register_worker(study.id, "w-2", {})
    store.exchange(study.id, "w-2", want=1, seconds=-1.0)
    lines = Status.of(store, study).worker_lines()
    assert lines[0] == "workers: 2 at work; 3 leases"
    assert lines[1].startswith("  w-1: draws a, b, seen ")
    assert lines[2].startswith("  w-2: draws c (1 lease lapsed), seen ")


def test_of_very_many_workers_the_first_ones_are_named(store: MemoryStorage) -> None:
    study = kept.made(store, rounds=0)
    for i in range(40):
        store.register_worker(study.id, f"x-{i}", {})
    lines = Status.of(store, study).worker_lines()
    assert len(lines) == 14
    assert lines[-1] == "  and 29 more"


def test_many_notes_of_one_kind_are_one_line(store: MemoryStorage, capsys: pytest.CaptureFixture[str]) -> None:
    study = kept.made(store)

    def others() -> None:
        store.open_round(study.id, 3, [NewTicket(arm, piece, 6 + piece, 1) for piece in range(4) for arm in range(3)])
        store.exchange(study.id, "w-1", want=12)
        store.bury(study.id, "w-1", counted=True)
        store.end(study.id, 3, {"status": "decided"})

    watched(store, study, others)
    assert "note: lapsed: 12 times, the last one of arm c, round 3, worker w-1\n" in capsys.readouterr().out
