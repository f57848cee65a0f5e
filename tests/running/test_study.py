"""Studies: made, resumed, asked by hand, paused, given more budget; another question is refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import ArmError, SampleError, SettingsError
from kabc.storage.contract import NewTicket
from kabc.storage.errors import NoStudyError, StudyExistsError
from kabc.storage.memory import MemoryStorage
from tests.running.studied import Breaking, Crash, dead, log, normals, pools, same

MEANS = {"a": 0.0, "b": 3.0, "c": 0.0}


def made(storage: Any = None, **settings: Any) -> kabc.Study:
    usual: dict[str, Any] = {"n_clusters": 2, "seed": 4}
    return kabc.create_study("nightly", list(MEANS), storage=storage or MemoryStorage(), **usual | settings)


def by_hand(study: kabc.Study) -> None:
    while (ask := study.ask()) is not None:
        assert study.tell(ask, ask.rng.normal(MEANS[str(ask.arm)], 1.0, ask.count)) == "done"


@pytest.fixture(scope="module")
def plain() -> kabc.Result:
    return kabc.cluster(normals(), 2, seed=4, progress=False)


# ---------------------------------------------------------------- made and loaded


def test_a_run_says_how_long_its_leases_last(plain: kabc.Result) -> None:
    study = made()
    lasts: list[float] = []

    def draw(n: int, rng: np.random.Generator) -> Any:
        storage = study.storage
        lasts.extend(one.expires - storage.now() for one in storage.leases(study.record.id))
        return rng.normal(0.0, 1.0, n)

    assert same(study.run(normals() | {"a": draw}, lease_seconds=7.0, progress=False), plain)
    assert 0 < min(lasts) <= max(lasts) <= 7
    with pytest.raises(SettingsError, match="lease_seconds must be a finite number greater than 0, got 0"):
        made().run(normals(), lease_seconds=0.0)


def test_a_study_in_a_file_is_found_again(tmp_path: Path, plain: kabc.Result) -> None:
    path = tmp_path / "kabc.db"
    first = made(path).run(normals(), progress=False)
    loaded = kabc.load_study("nightly", storage=f"sqlite:///{path}")
    assert loaded.status == "ended" and loaded.names == ("a", "b", "c")
    assert same(loaded.result(), plain) and loaded.result() == first


def test_a_name_is_given_once_unless_it_is_resumed() -> None:
    storage = MemoryStorage()
    made(storage)
    with pytest.raises(StudyExistsError, match="nightly"):
        made(storage)
    assert made(storage, if_exists="resume").seed == 4
    with pytest.raises(SettingsError, match="n_clusters=2, this call for n_clusters=3"):
        made(storage, if_exists="resume", n_clusters=3)
    with pytest.raises(SettingsError, match="if_exists must be"):
        made(storage, if_exists="replace")


@pytest.mark.fresh_seed
def test_the_seed_may_be_left_out_when_it_is_resumed() -> None:
    storage = MemoryStorage()
    first = made(storage, seed=None)
    assert made(storage, seed=None, if_exists="resume").seed == first.seed
    assert kabc.cluster(normals(), 2, storage=storage, study="nightly", progress=False).seed == first.seed


def test_a_name_that_is_not_there_is_named(tmp_path: Path) -> None:
    storage = MemoryStorage()
    made(storage)
    with pytest.raises(NoStudyError, match=r"'nightli'.*nightly"):
        kabc.load_study("nightli", storage=storage)


def test_storage_and_study_belong_together() -> None:
    with pytest.raises(SettingsError, match="belong together"):
        kabc.cluster(normals(), 2, seed=0, storage=MemoryStorage())
    with pytest.raises(SettingsError, match="belong together"):
        kabc.cluster(normals(), 2, seed=0, study="nightly")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": kabc.AnytimeKABC(3, 2, 0.05), "n_clusters": None}, "strategy object cannot be stored"),
        ({"kernel": lambda pilot: kabc.Gaussian(1.0)}, "function of a pilot cannot be stored"),
        ({"kernel": kabc.Function(lambda x, y: 1.0)}, "cannot be stored in a study"),
        ({"tolerance": lambda pool: pool, "n_clusters": None}, "function cannot be stored"),
        ({"n_clusters": 1}, "n_clusters"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_what_cannot_be_stored_or_asked_is_refused_before_the_study_is_made(
    settings: dict[str, Any], message: str
) -> None:
    storage = MemoryStorage()
    with pytest.raises(SettingsError, match=message):
        made(storage, **settings)
    assert storage.study_names() == []


@pytest.mark.parametrize("arms", ["abc", ["a"], ["a", "a"], 3, [lambda n, rng: rng, "b"]])
def test_arms_of_a_study_are_names(arms: Any) -> None:
    with pytest.raises(ArmError):
        kabc.create_study("nightly", arms, 2, seed=0, storage=MemoryStorage())


def test_the_arms_of_a_run_are_those_of_the_study_in_any_order(plain: kabc.Result) -> None:
    study = made()
    arms = normals()
    with pytest.raises(ArmError, match="arm 'd': study 'nightly' has no such arm"):
        study.run(arms | {"d": arms["a"]}, progress=False)
    with pytest.raises(ArmError, match=r"arm 'c': .*needs this arm"):
        study.run({name: arms[name] for name in "ab"}, progress=False)
    assert same(study.run({name: arms[name] for name in "cba"}, progress=False), plain)


def test_other_rows_than_those_it_began_with_are_refused() -> None:
    storage = MemoryStorage()
    with pytest.raises(Crash):
        kabc.cluster(pools(), 2, seed=4, storage=_breaking(storage, 30), study="nightly", progress=False)
    dead(storage)
    for wrong, message in ((pools()["a"][:-1], "it had 90 rows.*here it has 89"), (pools()["a"] + 1.0, "its rows are")):
        with pytest.raises(ArmError, match=f"arm 'a': {message}"):
            kabc.cluster(pools() | {"a": wrong}, 2, seed=4, storage=storage, study="nightly", progress=False)


def _breaking(storage: MemoryStorage, calls: int) -> Any:
    return Breaking(storage, calls, after=True)


def test_a_study_that_has_ended_draws_nothing() -> None:
    study = made()
    study.run(normals(), progress=False)

    def forbidden(n: int, rng: np.random.Generator) -> Any:
        raise AssertionError

    assert study.run(dict.fromkeys(MEANS, forbidden), progress=False).groups == (("a", "c"), ("b",))
    assert study.ask() is None


# ---------------------------------------------------------------- by hand


def test_by_hand_is_a_run(plain: kabc.Result) -> None:
    study = made()
    by_hand(study)
    assert study.status == "ended"
    assert same(study.result(), plain)


def test_two_processes_by_hand_get_different_draws_and_one_answer(plain: kabc.Result) -> None:
    storage = MemoryStorage()
    one, other = made(storage), kabc.load_study("nightly", storage=storage)
    while one.status == "running":
        asks = [(study, ask) for study in (one, other, one) if (ask := study.ask()) is not None]
        assert len({ask.ticket.id for _, ask in asks}) == len(asks)
        for study, ask in reversed(asks):
            study.tell(ask, ask.rng.normal(MEANS[str(ask.arm)], 1.0, ask.count))
    assert same(other.result(), plain)


def test_none_means_that_all_draws_are_under_way_or_that_it_has_ended() -> None:
    study = made()
    asks = [study.ask() for _ in MEANS]
    assert all(ask is not None for ask in asks)
    assert study.ask() is None and study.status == "running"
    for ask in asks:
        assert ask is not None
        study.tell(ask, ask.rng.normal(size=ask.count))
    assert study.ask() is not None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(99), "returned 99 samples when asked for"),
        (3.0, "returned 3.0 when asked for"),
        (None, "returned None"),
        ([np.nan, 1.0], "nan"),
        ([[1.0, 2.0], [1.0]], "do not form an array"),
        (np.zeros((2, 1, 1)), "shape"),
        ([1j, 2j], "complex"),
        ([{}, "x"], "numbers or texts"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(rows: Any, message: str, plain: kabc.Result) -> None:
    study = made()
    ask = study.ask()
    assert ask is not None and ask.count == 2
    revision = study.record.revision
    with pytest.raises((ArmError, SampleError), match=f"arm '{ask.arm}': .*{message}"):
        study.tell(ask, rows)
    assert study.record.revision == revision
    study.tell(ask, ask.rng.normal(MEANS[str(ask.arm)], 1.0, ask.count))
    by_hand(study)
    assert same(study.result(), plain)


def test_other_columns_than_before_are_refused() -> None:
    study = made()
    first, second = study.ask(), study.ask()
    assert first is not None and second is not None
    study.tell(first, np.zeros((2, 3)))
    with pytest.raises(SampleError, match="1 column, and those before had 3"):
        study.tell(second, np.zeros(2))


def test_a_draw_that_was_given_to_somebody_else_is_superseded(plain: kabc.Result) -> None:
    storage = MemoryStorage()
    slow, other = made(storage), kabc.load_study("nightly", storage=storage)
    late = slow.ask()
    assert late is not None
    dead(storage)  # its lease lapses
    by_hand(other)
    assert slow.tell(late, np.full(late.count, 99.0)) == "superseded"
    assert same(other.result(), plain)
    assert [draw.rows.tolist() for _, draw in storage.late_draws(other.record.id)] == [[99.0] * late.count]


def test_rows_of_pools_are_not_drawn_by_hand() -> None:
    storage = MemoryStorage()
    with pytest.raises(Crash):
        kabc.cluster(pools(), 2, seed=4, storage=_breaking(storage, 30), study="nightly", progress=False)
    dead(storage)
    study = kabc.load_study("nightly", storage=storage)
    with pytest.raises(SettingsError, match="arm 'a': it is a table or an array"):
        by_hand(study)


def test_no_thread_stays_behind() -> None:
    study = made()
    by_hand(study)
    other = made()
    other.ask()
    assert "kabc heartbeat" in [thread.name for thread in threading.enumerate()]
    del other
    assert "kabc heartbeat" not in [thread.name for thread in threading.enumerate()]


def test_what_was_drawn_by_hand_can_be_exported(tmp_path: Path) -> None:
    study = made()
    by_hand(study)
    assert study.export(tmp_path / "samples.csv") == study.result().n_samples
    lines = (tmp_path / "samples.csv").read_text().splitlines()
    assert len(lines) == 1 + study.result().n_samples


def test_arms_that_were_drawn_by_hand_have_no_end() -> None:
    study = made()
    ask = study.ask()
    assert ask is not None
    study.tell(ask, np.zeros(ask.count))
    with pytest.raises(ArmError, match="arm 'a': it had no end when the study began, here it has 90 rows"):
        study.run(pools(), progress=False)


# ---------------------------------------------------------------- so far, pauses, budget


def test_the_answer_so_far_counts_whole_rounds_and_says_what_is_unused() -> None:
    study = made()
    for _ in range(10):  # three rounds of three draws, and one draw
        ask = study.ask()
        assert ask is not None
        study.tell(ask, ask.rng.normal(MEANS[str(ask.arm)], 1.0, ask.count))
    found = study.result()
    assert found.status == "unfinished" and not found.certified
    assert len(found.rounds) == 3
    assert found.n_unused > 0 and found.n_samples == found.rounds[-1].n_samples + found.n_unused
    assert study.status == "running"


def test_a_paused_study_leases_nothing_until_it_is_resumed(plain: kabc.Result) -> None:
    study = made()
    study.pause()
    assert study.ask() is None and study.status == "paused"
    with pytest.raises(SettingsError, match="paused; resume it first"):
        study.run(normals(), progress=False)
    study.resume()
    assert same(study.run(normals(), progress=False), plain)


def test_a_run_ends_when_the_study_is_paused_and_goes_on_later(plain: kabc.Result) -> None:
    storage = MemoryStorage()
    study = made(storage)

    def pause(seen: Any) -> None:
        if seen.number == 2:
            kabc.load_study("nightly", storage=storage).pause()

    stopped = study.run(normals(), progress=False, on_round=pause)
    assert stopped.status == "interrupted" and study.status == "paused"
    study.resume()
    assert same(study.run(normals(), progress=False), plain)


def test_a_study_that_is_stopped_has_the_answer_so_far_and_a_new_budget_lets_it_go_on(plain: kabc.Result) -> None:
    study = made(MemoryStorage())
    study.run(normals(), progress=False, on_round=lambda seen: study.pause(by="ann") if seen.number == 2 else None)
    stopped = study.stop(by="ann")
    assert (stopped.status, study.status) == ("interrupted", "ended")
    assert study.result() == stopped == study.stop()  # once is enough
    notes = study.storage.notes(study.record.id)
    assert [(one.kind, one.body.get("by")) for one in notes] == [("paused", "ann")] * 2 + [("stopped", "ann")]
    study.raise_budget(10_000)
    assert same(study.run(normals(), progress=False), plain)


def test_a_larger_budget_goes_on_where_the_smaller_one_ended(plain: kabc.Result) -> None:
    storage = MemoryStorage()
    study = made(storage, max_samples=15)
    first = study.run(normals(), progress=False)
    assert first.status == "budget" and first.n_samples <= 15
    study.raise_budget(10_000)
    assert study.status == "running"
    assert same(study.run(normals(), progress=False), plain)
    with pytest.raises(SettingsError, match="has drawn"):
        study.raise_budget(3)


def test_the_budget_may_be_raised_by_the_same_call() -> None:
    storage = MemoryStorage()
    asked: dict[str, Any] = {"storage": storage, "study": "nightly", "seed": 4, "progress": False}
    assert kabc.cluster(normals(), 2, max_samples=15, **asked).status == "budget"
    assert kabc.cluster(normals(), 2, max_samples=500, **asked).status == "decided"


def test_a_study_that_has_decided_keeps_its_answer_whatever_the_budget(plain: kabc.Result) -> None:
    study = made(max_samples=500)
    assert same(study.run(normals(), progress=False), plain)
    with pytest.raises(SettingsError, match="not because its budget was spent: more samples change nothing"):
        study.raise_budget(10_000)
    assert same(made(study.storage, max_samples=10_000, if_exists="resume").run(normals(), progress=False), plain)
    assert study.status == "ended"


def test_the_budget_of_a_fixed_design_stays() -> None:
    study = made(n_clusters=None, strategy="kabc", kernel=kabc.Gaussian(1.0), max_samples=60)
    study.run(normals(), progress=False)
    with pytest.raises(SettingsError, match="cannot change"):
        study.raise_budget(600)


def test_a_draw_that_failed_is_drawn_again_by_the_next_run(plain: kabc.Result) -> None:
    study, calls = made(), []

    def fails(n: int, rng: np.random.Generator) -> Any:
        calls.append(n)
        if len(calls) == 3:
            raise ConnectionError("refused")
        return rng.normal(0.0, 1.0, n)

    with pytest.raises(ArmError, match=r"arm 'a': its draw failed: ConnectionError: refused") as caught:
        study.run(normals() | {"a": fails}, progress=False)
    assert caught.value.result.status == "failed" and study.status == "running"
    assert same(study.run(normals() | {"a": fails}, progress=False), plain)


# ---------------------------------------------------------------- the log rules


def test_a_logged_ask_that_differs_rules_and_a_note_says_so() -> None:
    """As another machine with other rounding would have asked: three of arm a in round 2, where here it is two."""
    storage = MemoryStorage()
    study = made(storage)
    for _ in range(3):
        ask = study.ask()
        assert ask is not None
        study.tell(ask, ask.rng.normal(MEANS[str(ask.arm)], 1.0, ask.count))
    usual = [ask for ask in log(storage) if ask[0] == 1]
    storage.open_round(study.record.id, 2, [NewTicket(arm, 0, 2, 5) for arm in (1, 0, 2)])
    result = study.run(normals(), progress=False)
    second = [one for one in log(storage) if one[0] == 2]
    assert len(usual) == 3 and [len(one[5]) for one in second] == [5, 5, 5]
    assert result.status == "decided" and result.rounds[1].n_samples == 6 + 15
    assert any("the log was followed" in note for note in result.notes)
    notes = [note for note in storage.notes(study.record.id) if note.kind == "differs"]
    assert len(notes) == 1 and notes[0].body["logged"] == {"0": 5, "1": 5, "2": 5}


def test_a_log_that_a_strategy_cannot_follow_ends_in_one_line() -> None:
    storage = MemoryStorage()
    study = made(storage, strategy="kabc", kernel=kabc.Gaussian(1.0))
    storage.open_round(study.record.id, 1, [NewTicket(arm, 0, 0, 7) for arm in (1, 0, 2)])
    with pytest.raises(kabc.StrategyError, match=r"the log asks for 21 samples.*another version of kabc"):
        study.run(normals(), progress=False)
