"""A study grows: a new one reads the samples of an earlier one first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import kabc
from kabc.arms.sql import sql_arms
from kabc.arms.tables import table_arms
from kabc.core.errors import ArmError, SettingsError
from kabc.running.work import work
from kabc.storage.errors import StorageError
from kabc.study.growth import drawn_rows, last_whole_round
from tests.running.reusing import normal

ARMS: dict[str, Any] = {"v1": normal(0.0), "v2": normal(4.0), "v3": normal(0.0)}


def first(tmp_path: Path, **settings: Any) -> kabc.Study:
    """A study that has ended."""
    question: dict[str, Any] = {"n_clusters": 2, "delta": 0.1, "seed": 1} | settings
    study = kabc.create_study("monday", arms=list(ARMS), storage=tmp_path / "kabc.db", **question)
    study.run(ARMS, progress=False)
    return study


def rows_of(study: kabc.Study) -> dict[Any, NDArray[Any]]:
    last = last_whole_round(study.storage, study.record.id)
    found = drawn_rows(study.storage, study.record.id, 0, last)
    return {study.names[arm]: rows.ravel() for arm, rows in found.items()}


def test_a_new_arm_joins_and_what_was_recorded_is_not_drawn_again(tmp_path: Path) -> None:
    monday = first(tmp_path)
    tuesday = monday.grow("tuesday", arms=["v4"], seed=2)
    result = tuesday.run(ARMS | {"v4": normal(4.0)}, progress=False)
    assert (result.status, result.groups) == ("decided", (("v1", "v3"), ("v2", "v4")))
    assert result.n_recorded > 0
    drawn = rows_of(tuesday)
    assert result.n_samples - result.n_recorded == sum(map(len, drawn.values()))
    assert tuesday.result().to_dict() == result.to_dict() or tuesday.result().labels == result.labels
    kept = result.samples["v1"].ravel()
    before = rows_of(monday)["v1"]
    n = min(len(kept), len(before))
    assert kept[:n].tolist() == before[:n].tolist()


def test_its_certificate_says_what_reading_the_record_assumes(tmp_path: Path) -> None:
    tuesday = first(tmp_path).grow("tuesday", arms=["v4"], seed=2)
    tuesday.run(ARMS | {"v4": normal(4.0)}, progress=False)
    said = " ".join(tuesday.result().certificate().split())
    assert "samples of an arm have one law then and now" in said
    assert "recorded samples of study 'monday' were read" in said
    assert "a small change may not show" in said
    assert "was not chosen by looking at the recorded samples (not checked)" in said


def test_it_goes_on_after_it_was_interrupted_as_if_nothing_had_happened(tmp_path: Path) -> None:
    monday = first(tmp_path, n_clusters=None, max_samples=300)
    arms = ARMS | {"v4": normal(0.5)}
    whole = monday.grow("whole", arms=["v4"], seed=5, max_samples=400).run(arms, progress=False)

    calls = 0

    def dies(n: int, rng: np.random.Generator) -> NDArray[Any]:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return rng.normal(0.5, 1.0, n)

    cut = monday.grow("cut", arms=["v4"], seed=5, max_samples=400)
    assert cut.run(arms | {"v4": dies}, progress=False).status == "interrupted"
    again = kabc.load_study("cut", tmp_path / "kabc.db").run(arms, progress=False)
    assert calls == 4
    assert again.samples_per_arm == whole.samples_per_arm
    assert np.array_equal(again.evidence.strength, whole.evidence.strength, equal_nan=True)
    assert (again.labels, again.status) == (whole.labels, whole.status)


def test_an_arm_that_is_gone_has_its_record_alone(tmp_path: Path) -> None:
    monday = first(tmp_path)
    tuesday = monday.grow("tuesday", arms=["v4"], gone=["v1"], seed=2)
    with pytest.raises(ArmError, match="is gone"):
        tuesday.run(ARMS | {"v4": normal(0.0)}, progress=False)
    result = tuesday.run({"v2": ARMS["v2"], "v3": ARMS["v3"], "v4": normal(0.0)}, progress=False)
    assert result.samples_per_arm["v1"] <= len(rows_of(monday)["v1"])
    assert "v1" not in rows_of(tuesday)


def test_an_arm_that_is_gone_may_be_told_of_by_a_process_that_draws_by_hand(tmp_path: Path) -> None:
    tuesday = first(tmp_path).grow("tuesday", arms=["v4"], gone=["v1"], seed=2)
    ticket = tuesday.ask()
    assert ticket is not None
    tuesday.tell(ticket, ticket.rng.normal(0.0 if ticket.arm != "v2" else 4.0, 1.0, ticket.count))
    result = tuesday.run({"v2": ARMS["v2"], "v3": ARMS["v3"], "v4": normal(0.0)}, progress=False)
    assert result.groups == (("v1", "v3", "v4"), ("v2",))


def rows_as(kind: str, folder: Path) -> Any:
    """The rows of arm v3, in something that has an end."""
    rows = np.random.default_rng(0).normal(0.0, 1.0, 500)
    if kind == "array":
        return rows
    table = pl.DataFrame({"arm": ["v3", "other"] * 250, "value": rows})
    if kind == "table":
        return table_arms(table, arm="arm", values="value")["v3"]
    place = f"sqlite:///{folder / 'rows.db'}"
    table.write_database("rows", place)
    return sql_arms("SELECT arm, value FROM rows", place, arm="arm", values="value")["v3"]


@pytest.mark.parametrize("kind", ["array", "table", "SQL"])
def test_rows_that_may_be_in_the_record_already_are_refused_and_nothing_is_drawn(kind: str, tmp_path: Path) -> None:
    def never(n: int, rng: np.random.Generator) -> NDArray[Any]:
        raise AssertionError("something was drawn")

    tuesday = first(tmp_path).grow("tuesday", arms=["v4"], seed=2)
    with_rows: dict[str, Any] = dict.fromkeys(tuesday.names, never) | {"v3": rows_as(kind, tmp_path)}
    said = r"'v3': its samples of study 'monday' are read first, .* rows here .* gone=\['v3'\]"
    with pytest.raises(ArmError, match=said):
        tuesday.run(with_rows, progress=False)
    with pytest.raises(ArmError, match=said):
        work(tuesday.storage, "tuesday", with_rows, progress=False)
    assert tuesday.record.facts is None  # so the study is not bound to these rows
    assert tuesday.run(ARMS | {"v4": np.random.default_rng(0).normal(0.0, 1.0, 500)}, progress=False).n_recorded > 0


def test_drift_ends_the_reuse_by_name_and_the_run_starts_from_new_samples(tmp_path: Path) -> None:
    monday = first(tmp_path, n_clusters=None, max_samples=600)
    slower = {name: normal(mean) for name, mean in [("v1", 3.0), ("v2", 7.0), ("v3", 3.0), ("v4", 3.0)]}
    tuesday = monday.grow("tuesday", arms=["v4"], n_clusters=2, max_samples=None, seed=2)
    result = tuesday.run(slower, progress=False)
    assert result.groups == (("v1", "v3", "v4"), ("v2",))
    assert result.n_recorded == 0
    assert any("recorded samples are not used: " in note and "evidence" in note for note in result.notes)


def test_a_third_study_reads_all_that_the_first_two_have(tmp_path: Path) -> None:
    monday = first(tmp_path, n_clusters=None, max_samples=150)
    tuesday = monday.grow("tuesday", arms=["v4"], max_samples=200, seed=2)
    tuesday.run(ARMS | {"v4": normal(0.0)}, progress=False)
    wednesday = tuesday.grow("wednesday", max_samples=100, seed=3)
    result = wednesday.run(ARMS | {"v4": normal(0.0)}, progress=False)
    both = [np.concatenate([rows_of(one).get("v1", np.zeros(0)) for one in (monday, tuesday, wednesday)])]
    kept = result.samples["v1"].ravel()
    assert kept.tolist() == both[0][: len(kept)].tolist()
    assert result.n_recorded == sum(len(rows) for one in (monday, tuesday) for rows in rows_of(one).values())


def test_a_round_that_is_still_being_drawn_is_not_read(tmp_path: Path) -> None:
    study = kabc.create_study("by hand", arms=["a", "b"], n_clusters=2, seed=0, storage=tmp_path / "kabc.db")
    ticket = study.ask()
    assert ticket is not None
    study.tell(ticket, np.zeros(ticket.count))
    with pytest.raises(SettingsError, match="no whole round"):
        study.grow("next", seed=1)


def test_a_record_whose_study_was_deleted_is_missed_by_name(tmp_path: Path) -> None:
    monday = first(tmp_path)
    tuesday = monday.grow("tuesday", arms=["v4"], seed=2)
    monday.storage.delete_study(monday.record.id)
    with pytest.raises(StorageError, match="'monday', which was deleted"):
        tuesday.run(ARMS | {"v4": normal(0.0)}, progress=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gone": ["v9"]}, "'v9'"),
        ({"anchors": 0}, "anchors"),
        ({"reuse": None, "gone": ["v1"]}, "reuse"),
        ({"arms": ["x", "y"]}, "none of these arms"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    monday = first(tmp_path)
    given: dict[str, Any] = {"arms": list(ARMS), "reuse": "monday", "n_clusters": 2} | settings
    with pytest.raises(SettingsError, match=message):
        kabc.create_study("tuesday", seed=2, storage=monday.storage, **given)


@pytest.mark.fresh_seed
def test_a_study_that_reads_another_is_resumed_by_the_same_call(tmp_path: Path) -> None:
    first(tmp_path)
    given: dict[str, Any] = {"arms": list(ARMS), "reuse": "monday", "n_clusters": 2, "storage": tmp_path / "kabc.db"}
    made = kabc.create_study("tuesday", **given)
    again = kabc.create_study("tuesday", if_exists="resume", **given)
    assert again.spec == made.spec
    with pytest.raises(SettingsError, match="reuse"):
        kabc.create_study("tuesday", if_exists="resume", **given | {"reuse": None})
