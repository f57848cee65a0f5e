"""A table of samples: every sample once, late ones marked, with all that is known of them."""

from __future__ import annotations

import csv
import multiprocessing
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms.base import NamedArms
from kabc.arms.callables import CallableArm
from kabc.arms.values import Encoder
from kabc.core.errors import SettingsError
from kabc.running.work import work
from kabc.storage.contract import Draw, NewTicket, Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from kabc.study import export
from kabc.study.categories import KIND, categories_of
from kabc.study.export import ABOUT, export_study, import_study
from tests.cli import kept


@pytest.fixture
def store() -> Storage:
    return MemoryStorage()


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def with_a_late_draw(store: Storage) -> None:
    """Worker w-1 loses its lease to w-2, and both hand in."""
    study = kept.made(store)
    store.open_round(study.id, 3, [NewTicket(1, 0, 6, 3)])
    (lost,) = store.exchange(study.id, "w-1", want=1).leased
    store.bury(study.id, "w-1", counted=True)
    (taken,) = store.exchange(study.id, "w-2", want=1).leased
    draw = Draw(lost.id, lost.lease, "w-1", np.full(3, -1.0), kept.STARTED, kept.STARTED)
    assert store.exchange(study.id, "w-1", [draw]).outcomes == ("superseded",)
    assert store.exchange(study.id, "w-2", [replace(draw, lease=taken.lease, worker="w-2")]).outcomes == ("done",)


def test_csv_has_every_sample_once_with_all_that_is_known(store: Storage, tmp_path: Path) -> None:
    with_a_late_draw(store)
    path = tmp_path / "samples.csv"
    assert export_study(store, store.load_study("nightly"), path) == 24
    rows = read(path)
    assert list(rows[0]) == [*ABOUT, "ms"]
    counting = [row for row in rows if row["late"] == "0"]
    assert len(counting) == 21
    assert len({(row["arm"], row["sample"]) for row in counting}) == 21
    of_a = [row for row in rows if row["arm"] == "a"]
    assert [float(row["ms"]) for row in of_a] == [0, 1, 2, 3, 4, 5]
    assert [int(row["sample"]) for row in of_a] == [1, 2, 3, 4, 5, 6]
    assert {(row["paid"], row["cost"]) for row in of_a} == {("2.0", "1.0")}
    assert of_a[0]["started"] == "2023-11-14T22:13:20.250+00:00"
    late = [row for row in rows if row["late"] == "1"]
    assert {(row["arm"], row["round"], row["worker"], row["ms"]) for row in late} == {("b", "3", "w-1", "-1.0")}


def test_parquet_has_what_csv_has_with_types(store: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import parquet

    with_a_late_draw(store)
    monkeypatch.setattr(export, "_AT_ONCE", 5)  # several groups of rows
    record = store.load_study("nightly")
    assert export_study(store, record, tmp_path / "s.parquet") == export_study(store, record, tmp_path / "s.csv") == 24
    table = parquet.read_table(tmp_path / "s.parquet")
    rows = read(tmp_path / "s.csv")
    assert table.column_names == list(rows[0])
    for name in ("arm", "round", "sample", "worker", "ms", "paid", "cost"):
        assert [str(value) for value in table[name].to_pylist()] == [row[name] for row in rows], name
    assert str(table.schema.field("started").type) == "timestamp[us, tz=UTC]"
    assert table["late"].to_pylist() == [row["late"] == "1" for row in rows]


def test_texts_and_categories_are_texts_and_columns_keep_apart(store: Storage, tmp_path: Path) -> None:
    study = store.create_study("words", kept.asked("ab"), {})
    store.set_facts(study.id, kept.known(2, ["arm", "word"]))
    store.open_round(study.id, 1, [NewTicket(0, 0, 0, 3)])
    (one,) = store.exchange(study.id, "w", want=1).leased
    rows = np.array([[1.5, 0.0], [2.5, 1.0], [3.5, 7.0]])
    store.exchange(study.id, "w", [Draw(one.id, one.lease, "w", rows, 0.0, 0.0)])
    result = kabc.cluster({"a": np.arange(9.0), "b": np.arange(9.0)}, max_samples=8, seed=0, progress=False)
    answer = replace(result, levels={"word": {0.0: "yes", 1.0: "no"}}).to_dict(full=True)
    export_study(store, store.end(study.id, 1, answer), tmp_path / "words.csv")
    found = read(tmp_path / "words.csv")
    assert [(row["arm"], row["arm (value)"], row["word"]) for row in found] == [
        ("a", "1.5", "yes"),
        ("a", "2.5", "no"),
        ("a", "3.5", "7"),  # a category that nobody has named
    ]


def colours(path: Path) -> Path:
    """A table of two hosts, with a column of categories that are never all met at once."""
    rng = np.random.default_rng(0)
    words = {host: rng.choice([f"{host}-{i}" for i in range(5)] + ["both"], 400) for host in "ab"}
    path.write_text("host,colour\n" + "".join(f"{host},{word}\n" for host in "ab" for word in words[host]))
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_categories_are_texts_before_the_study_has_ended(store: Storage, tmp_path: Path, ending: str) -> None:
    table = colours(tmp_path / "colours.csv")
    study = kabc.create_study("colours", ["a", "b"], 2, storage=store, seed=0)
    study.run(table, arm="host", values="colour", on_round=lambda _: study.pause(), progress=False)
    path = tmp_path / f"samples.{ending}"
    assert study.status == "paused" and study.export(path) > 0
    if ending == "csv":
        found = [row["colour"] for row in read(path)]
    else:
        from pyarrow import parquet

        found = parquet.read_table(path)["colour"].to_pylist()
    assert set(found) <= {f"{host}-{i}" for host in "ab" for i in range(5)} | {"both"}
    assert set(study.result().levels["colour"].values()) >= set(found)  # the answer so far knows them too


def test_an_answer_has_the_categories_that_other_workers_met(store: Storage) -> None:
    study = kabc.create_study("colours", ["a", "b"], 2, storage=store, seed=0, check_k=False)

    def worker(name: str) -> None:
        encoder = Encoder(["colour"], {"colour": "category"})

        def draw(n: int, rng: np.random.Generator) -> Any:
            return encoder({"colour": [f"{name}-{i}" for i in rng.integers(0, 5, n)]})

        arms = NamedArms({name: CallableArm(draw)}, columns=encoder.names, types=encoder.types, levels=encoder.levels)
        work(store, "colours", arms, progress=False)

    crew = [threading.Thread(target=worker, args=(name,)) for name in "ab"]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    assert study.result().status == "decided"
    assert {word[0] for word in study.result().levels["colour"].values()} == {"a", "b"}


def test_notes_of_categories_that_nobody_wrote_are_left_out(store: Storage) -> None:
    study = kept.made(store)
    bodies: list[dict[str, Any]] = [{"ms": 3}, {"ms": [[1, 2], ["x", "y"], [True, "z"], [1.0], 7]}]
    for body in [*bodies, {"ms": [[1.5, "warm"]]}]:
        store.add_note(study.id, KIND, body)
    assert categories_of(store, study.id) == {"ms": {1.5: "warm"}}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_texts_come_out_as_they_were_drawn(store: Storage, tmp_path: Path, ending: str) -> None:
    study = store.create_study("texts", kept.asked("ab"), {})
    study = store.set_facts(study.id, kept.known(2, []))
    store.open_round(study.id, 1, [NewTicket(0, 0, 0, 2)])
    (one,) = store.exchange(study.id, "w", want=1).leased
    words = ['comma, "quote"\nand a line', "=1+1"]
    store.exchange(study.id, "w", [Draw(one.id, one.lease, "w", np.array(words), 0.0, 0.0)])
    path = tmp_path / f"texts.{ending}"
    export_study(store, study, path)
    if ending == "csv":
        assert [row["value 1"] for row in read(path)] == words
    else:
        from pyarrow import parquet

        assert parquet.read_table(path)["value 1"].to_pylist() == words


def test_an_old_file_stays_where_the_new_one_cannot_be_finished(store: Storage, tmp_path: Path) -> None:
    record = kept.made(store)
    path = tmp_path / "samples.csv"
    path.write_text("old")

    def full(done: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SettingsError, match="No space left on device"):
        export_study(store, record, path, full)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_refused_before_anything_is_read(store: Storage, tmp_path: Path) -> None:
    record = kept.made(store, rounds=0)
    with pytest.raises(SettingsError, match=r"a study is written to \.csv, \.parquet, \.kabcstudy, got"):
        export_study(store, record, tmp_path / "samples.xlsx")
    with pytest.raises(SettingsError, match="has no samples yet"):
        export_study(store, record, tmp_path / "samples.csv")
    assert not (tmp_path / "samples.csv").exists()


def test_without_pyarrow_parquet_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from kabc.study.export import export_study\n"
        f"export_study(None, None, {str(tmp_path / 'x.parquet')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("Parquet needs pyarrow; pip install 'kabc[data]', or write CSV")


def test_a_draw_that_does_not_fit_into_the_table_is_left_out_and_said(store: Storage, tmp_path: Path) -> None:
    study = store.create_study("wide first", kept.asked("ab"), {})
    study = store.set_facts(study.id, kept.known(2, []))
    store.open_round(study.id, 1, [NewTicket(0, 0, 0, 2), NewTicket(1, 0, 0, 2)])
    wide, narrow = store.exchange(study.id, "w-1", want=2).leased
    store.exchange(study.id, "w-1", [Draw(wide.id, wide.lease, "w-1", np.zeros((2, 5)), 0.0, 0.0)])
    store.discard(study.id, wide.id, {})
    store.exchange(study.id, "w-1", [Draw(narrow.id, narrow.lease, "w-1", np.zeros(2), 0.0, 0.0)])
    said: list[str] = []
    assert export_study(store, study, tmp_path / "samples.csv", say=said.append) == 2
    assert said == [f"ticket {wide.id} is left out, a late draw with other values than the rest"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_study(tmp_path: Path, ending: str) -> None:
    """In a process of its own: threads that other tests have left would be counted, too."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        small, large = alone.submit(sizes_of, tmp_path, ending).result()
    assert large < 4 * small


def sizes_of(folder: Path, ending: str) -> list[int]:
    """What the export of a small and of a large study takes."""
    export._AT_ONCE = 400
    sizes = []
    with closing(kept.store(folder)) as store:
        for name, rounds in (("small", 2), ("large", 20)):
            record = kept.made(store, name, rounds=rounds, count=200)
            export_study(store, record, folder / f"warm.{ending}")  # what is loaded once is not counted
            sizes.append(traced(store, record, folder / f"{name}.{ending}"))
    return sizes


def traced(store: Storage, record: StudyRecord, target: Path) -> int:
    """The most memory that Python held while a study was exported."""
    tracemalloc.start()
    try:
        export_study(store, record, target)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_study_goes_to_a_file_and_from_there_to_another_store(tmp_path: Path) -> None:
    from tests.storage.test_copying import a_store, eventful, whole

    source, target = a_store(tmp_path / "source.db"), a_store(tmp_path / "target.db")
    eventful(source)
    file = tmp_path / "nightly.kabcstudy"
    assert export_study(source, source.load_study("nightly"), file) == 21
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {
        "source.db",
        "target.db",
        "nightly.kabcstudy",
    }
    with closing(open_storage(file)) as there:
        assert import_study(there, target).name == "nightly"
        assert import_study(there, target, "nightly", "copy").name == "copy"
    assert whole(target, "nightly") == whole(source, "nightly")
    with pytest.raises(SettingsError, match="should have one study: it has nightly, copy; say which one"):
        import_study(target, source)
    source.close()
    target.close()


def test_a_study_in_memory_is_not_copied(store: Storage, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"not memory; export to \.csv"):
        export_study(store, kept.made(store), tmp_path / "nightly.kabcstudy")
    assert list(tmp_path.iterdir()) == []
