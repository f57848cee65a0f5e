"""Tables that stay on a cluster: the same answer as when they are read here, and few rows travel."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import kabc
from kabc import ArmError, SettingsError
from kabc.arms.parts import PartedScan
from kabc.arms.rows import FILE_ROWS
from kabc.running.engines.base import engine_of
from tests.running.engines.deadly import in_the_long_form
from tests.running.engines.workers import nobody_steals, pids
from tests.running.studied import same

distributed = pytest.importorskip("distributed")
dask_frames = pytest.importorskip("dask.dataframe")

N_ROWS = 6_000
QUESTION: dict[str, Any] = {"arm": "host", "n_clusters": 2, "seed": 3, "progress": False}


def table(missing: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    host = rng.choice(["h2", "h10", "h1", "h7"], N_ROWS, p=[0.4, 0.3, 0.2, 0.1])
    seconds = rng.normal(np.where(np.isin(host, ["h1", "h7"]), 0.8, 0.0), 1.0)
    seconds[rng.random(N_ROWS) < missing] = np.nan
    region = np.where(rng.random(N_ROWS) < 0.5, "eu", "us")
    return pd.DataFrame({"host": host, "seconds": seconds, "region": region, "size": rng.integers(0, 9, N_ROWS)})


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("table")
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 5)):
        table().iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return str(folder / "*.parquet")


def test_a_dask_data_frame_has_the_answer_of_the_frame_that_it_computes(client: Any) -> None:
    values = ["seconds", "region", "size"]
    frame = dask_frames.from_pandas(table().astype({"region": "category"}), npartitions=7, sort=False)
    there = kabc.cluster(frame, values=values, **QUESTION, executor=client)
    here = kabc.cluster(frame.compute(), values=values, **QUESTION)
    assert there.status == "decided" and same(there, here)
    assert there.notes == here.notes


def test_so_have_parquet_files_that_all_workers_see(client: Any, parquet: str) -> None:
    there, here = (kabc.cluster(parquet, values="seconds", **QUESTION, **where) for where in ({"executor": client}, {}))
    assert there.status == "decided" and same(there, here)


def test_all_workers_read_files(client: Any, parquet: str) -> None:
    client.wait_for_workers(4, timeout=200)
    engine = engine_of(client)
    found = None if engine is None else engine.parts_of(parquet, None)
    assert found is not None
    with nobody_steals(client):
        readers = found[1].each(lambda part, before: (os.getpid(), part, before))
    assert len({pid for pid, *_ in readers}) == min(5, len(pids(client)))
    assert [(part[-14:], before) for _, part, before in readers] == [
        (f"part-{number}.parquet", number * FILE_ROWS) for number in range(5)
    ]


def test_a_study_of_them_can_be_gone_on_with_here(client: Any, parquet: str, tmp_path: Path) -> None:
    asked = QUESTION | {"values": "seconds", "storage": tmp_path / "kabc.db", "study": "nightly"}
    pause = kabc.cluster(parquet, **asked | {"max_samples": 60}, executor=client)
    assert pause.status == "budget"
    study = kabc.load_study("nightly", tmp_path / "kabc.db")
    study.raise_budget(None)
    ended = study.run(parquet, arm="host", values="seconds", progress=False)  # refused if a fingerprint differs
    assert same(ended, kabc.cluster(parquet, values="seconds", **QUESTION))


@pytest.mark.parametrize("missing", ["drop", "encode"])
def test_missing_values_are_counted_over_all_parts(client: Any, missing: str) -> None:
    frame = dask_frames.from_pandas(table(0.05), npartitions=4, sort=False)
    asked = QUESTION | {"values": "seconds", "missing": missing}
    there, here = kabc.cluster(frame, **asked, executor=client), kabc.cluster(table(0.05), **asked)
    assert same(there, here) and there.notes == here.notes


def test_bad_values_are_refused_wherever_they_are(client: Any) -> None:
    frame = dask_frames.from_pandas(table(0.001), npartitions=4, sort=False)
    with pytest.raises(kabc.SampleError, match=r"column 'seconds' has \d missing value"):
        kabc.cluster(frame, values="seconds", **QUESTION, executor=client)
    bad = table()
    bad.loc[5_900, "seconds"] = np.inf
    with pytest.raises(kabc.SampleError, match="1 infinite value"):
        kabc.cluster(dask_frames.from_pandas(bad, npartitions=4, sort=False), **QUESTION, executor=client)


def test_rows_that_nobody_asks_for_do_not_travel(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    travelled = 0
    usual = PartedScan.read

    def read(self: PartedScan, *arguments: Any) -> Any:
        nonlocal travelled
        found = usual(self, *arguments)
        travelled += len(found["code"])
        return found

    monkeypatch.setattr(PartedScan, "read", read)
    frame = dask_frames.from_pandas(pd.concat([table()] * 10, ignore_index=True), npartitions=4, sort=False)
    result = kabc.cluster(frame, values="seconds", **QUESTION, executor=client)
    assert result.n_samples <= travelled <= 6 * result.n_samples + 4 * 150 < 10 * N_ROWS / 5


@in_the_long_form
def test_a_worker_killed_while_it_reads_changes_nothing(client: Any, parquet: str) -> None:
    def kill(seen: Any) -> None:
        if seen.number == 1:
            threading.Timer(0.02, os.kill, (min(client.run(os.getpid).values()), signal.SIGKILL)).start()

    there = kabc.cluster(parquet, values="seconds", **QUESTION, executor=client, on_round=kill)
    assert same(there, kabc.cluster(parquet, values="seconds", **QUESTION))


@pytest.mark.parametrize("change", [{"order": "size"}, {"where": "size > 2"}, {"block": 5}])
def test_what_needs_all_rows_in_one_place_is_refused(client: Any, parquet: str, change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"(in one place|in parts).*executor= out"):
        kabc.cluster(parquet, values="seconds", **QUESTION, **change, executor=client)


@in_the_long_form
def test_files_of_other_kinds_are_read_here(client: Any, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "table.csv", index=False)
    asked = QUESTION | {"values": "seconds"}
    there = kabc.cluster(str(tmp_path / "table.csv"), **asked, executor=client)
    assert same(there, kabc.cluster(str(tmp_path / "table.csv"), **asked))


def test_a_column_that_is_not_there_is_named(client: Any) -> None:
    frame = dask_frames.from_pandas(table(), npartitions=2, sort=False)
    with pytest.raises(SettingsError, match="values= names a column 'secs' that the frame does not have"):
        kabc.cluster(frame, values="secs", **QUESTION, executor=client)


@in_the_long_form
def test_a_table_of_one_arm_is_refused(client: Any) -> None:
    frame = dask_frames.from_pandas(table().assign(host="h1"), npartitions=2, sort=False)
    with pytest.raises(ArmError, match="has only one arm, 'h1'"):
        kabc.cluster(frame, values="seconds", **QUESTION, executor=client)
