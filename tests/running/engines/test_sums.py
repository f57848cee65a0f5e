"""Feature sums on a cluster: the answer of one machine, while most rows stay where they are."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.typing import NDArray

import kabc
from kabc import Cluster, Gaussian, Linear, RandomFeatures, Result
from kabc.arms.parts import PartedScan
from kabc.core.arrays import Array
from kabc.running.engines.frames import DaskParts

distributed = pytest.importorskip("distributed")
dask_frames = pytest.importorskip("dask.dataframe")

N_ROWS, SHARES = 24_000, {"h1": 0.2, "h2": 0.3, "h7": 0.3, "h10": 0.2}
KERNEL = RandomFeatures(Gaussian(1.0), 64)
QUESTION: dict[str, Any] = {"arm": "host", "seed": 3, "progress": False, "watch": False}
TIGHT: dict[str, Any] = QUESTION | {"strategy": "kabc-tight", "n_clusters": 2, "kernel": KERNEL}


def table(apart: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    host = rng.choice(list(SHARES), N_ROWS, p=list(SHARES.values()))
    seconds = rng.normal(np.where(np.isin(host, ["h1", "h7"]), apart, 0.0), 1.0)
    size = rng.integers(0, 9, N_ROWS)
    return pd.DataFrame({"host": host, "seconds": seconds, "size": size, "region": np.where(size > 4, "eu", "us")})


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("table")
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        table().iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return str(folder / "*.parquet")


@pytest.fixture
def travelled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each query sent to the calling process."""
    found: list[int] = []
    usual = PartedScan.read

    def read(self: PartedScan, *arguments: Any) -> Any:
        rows = usual(self, *arguments)
        found.append(len(rows["code"]))
        return rows

    monkeypatch.setattr(PartedScan, "read", read)
    return found


def assert_same(there: Result, here: Result) -> None:
    """Decisions bit for bit, evidence to 1e-9, and what is kept for the report."""
    assert (there.labels, there.status, there.samples_per_arm) == (here.labels, here.status, here.samples_per_arm)
    assert (there.n_samples, there.n_pilot, there.notes) == (here.n_samples, here.n_pilot, here.notes)
    assert there.rounds == here.rounds
    np.testing.assert_array_equal(there.evidence.told, here.evidence.told)
    np.testing.assert_array_equal(there.evidence.compared, here.evidence.compared)
    for name in ("values", "limits", "variances"):
        np.testing.assert_allclose(getattr(there.evidence, name), getattr(here.evidence, name), rtol=0, atol=1e-9)
    assert all(np.array_equal(there.samples[name], here.samples[name]) for name in here.samples)


def test_a_dask_data_frame_has_the_answer_of_one_machine_and_few_rows_travel(client: Any, travelled: list[int]) -> None:
    frame = dask_frames.from_pandas(table(), npartitions=3, sort=False)
    there = kabc.cluster(frame, values="seconds", **TIGHT, executor=client)
    assert there.status == "decided" and min(there.samples_per_arm.values()) > 1_500
    assert sum(travelled) < 4 * 700  # of each arm 500 that are kept, and some that were fetched beforehand
    assert_same(there, kabc.cluster(frame.compute(), values="seconds", **TIGHT))


def test_parquet_files_with_columns_of_several_kinds_and_a_pilot(
    client: Any, parquet: str, travelled: list[int]
) -> None:
    def chosen(pilot: np.ndarray[Any, Any]) -> RandomFeatures:
        return RandomFeatures(Gaussian(float(pilot[:, 0].std())), 64)

    asked = TIGHT | {"values": ["seconds", "size"], "kernel": chosen, "pilot": 30}
    asked |= {"strategy_options": {"comparisons": "representatives"}, "max_samples": 4 * 1_400}
    there = kabc.cluster(parquet, **asked, executor=client)
    assert there.status == "budget" and there.n_pilot == 120 and min(there.samples_per_arm.values()) > 1_000
    assert sum(travelled) < 4 * 700
    assert_same(there, kabc.cluster(parquet, **asked))


def test_a_strategy_object_and_an_arm_that_runs_dry(client: Any, parquet: str) -> None:
    def answer(n: int, **where: Any) -> Result:
        strategy = Cluster(4, n, 0.1, RandomFeatures(Gaussian(2.0), 32), comparisons="representatives")
        return kabc.cluster(parquet, values=["seconds", "size"], strategy=strategy, **QUESTION, **where)

    there, here = (answer(4_000, **where) for where in ({"executor": client}, {}))
    assert there.status == "budget" and there.n_groups_at_least == 2
    assert_same(there, here)
    least = int(table()["host"].value_counts().min())
    there, here = (answer(least + 1, **where) for where in ({"executor": client}, {}))
    assert there.status == "exhausted" and there.n_samples == 0
    assert_same(there, here)


def test_a_strategy_that_changes_tell_alone_sees_all_samples(client: Any, parquet: str) -> None:
    seen: list[int] = []

    class Curious(Cluster):
        def tell(self, samples: Any) -> None:
            seen.extend(len(rows) for rows in samples.values())
            super().tell(samples)

    strategy = Curious(4, 1_000, 0.1, RandomFeatures(Gaussian(2.0), 32), comparisons="representatives")
    kabc.cluster(parquet, values=["seconds", "size"], strategy=strategy, **QUESTION, executor=client)
    assert seen == [1_000] * 4


def test_it_ends_when_an_arm_has_no_more_rows(client: Any) -> None:
    rows = table(apart=0.0).iloc[:6_000]
    frame = dask_frames.from_pandas(rows, npartitions=2, sort=False)
    there = kabc.cluster(frame, values="seconds", **TIGHT, executor=client)
    assert there.status == "exhausted" and min(there.samples_per_arm.values()) > 600
    assert_same(there, kabc.cluster(rows, values="seconds", **TIGHT))


def test_categories_are_encoded_on_the_workers(client: Any, parquet: str) -> None:
    asked = TIGHT | {"values": "region", "kernel": Linear(2.0**49), "max_samples": 4 * 900}
    there, here = (kabc.cluster(parquet, **asked, **where) for where in ({"executor": client}, {}))
    assert min(there.samples_per_arm.values()) > 600
    scale = 2.0**49
    np.testing.assert_allclose(there.evidence.values / scale, here.evidence.values / scale, rtol=0, atol=1e-9)
    assert there.labels == here.labels and there.samples_per_arm == here.samples_per_arm
    assert there.levels == here.levels and there.levels["region"]


def test_a_sample_that_the_kernel_refuses_is_named_as_here(client: Any) -> None:
    rows = table()
    rows.loc[rows["host"] == "h7", "seconds"] = np.where(np.arange((rows["host"] == "h7").sum()) < 100, 400.0, 0.0)
    frame = dask_frames.from_pandas(rows, npartitions=2, sort=False)
    said = []
    for source, where in ((rows, {}), (frame, {"executor": client})):
        strategy = Cluster(4, 4_000, 0.1, Linear(90.0))
        with pytest.raises(kabc.KabcError, match="arm 'h7': a sample has norm 400") as raised:
            kabc.cluster(source, values="seconds", strategy=strategy, **QUESTION, **where)
        said.append((str(raised.value.args[0]), raised.value.arm))
    assert said[0] == said[1]


def test_a_study_keeps_rows_so_it_draws_them(
    client: Any, parquet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DaskParts, "total", None)
    asked = TIGHT | {"values": "seconds", "kernel": Linear(9.0), "max_samples": 4 * 800}
    there = kabc.cluster(parquet, **asked, storage=tmp_path / "kabc.db", study="nightly", executor=client)
    assert_same(there, kabc.cluster(parquet, **asked))


@pytest.mark.parametrize("n_parts", [1, 2, 3, 5, 8])
def test_parts_are_added_in_pairs_in_their_order(client: Any, n_parts: int) -> None:
    parts = DaskParts(client, [(str(number), number) for number in range(n_parts)])
    assert parts.total(_named) == "".join(f"{number}@{number} " for number in range(n_parts))


def _named(part: str, before: int) -> str:
    return f"{part}@{before} "


@dataclass(frozen=True)
class DeadlyFeatures(Linear):
    """Kills the first worker that computes features. They are those of `Linear`."""

    mark: Path
    home: int

    def features(self, x: NDArray[Any]) -> Array:
        if os.getpid() != self.home and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().features(x)


def test_a_worker_killed_while_it_sums_changes_nothing(client: Any, parquet: str, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    asked = TIGHT | {"values": "seconds", "kernel": DeadlyFeatures(9.0, mark, os.getpid()), "max_samples": 4 * 1_000}
    there = kabc.cluster(parquet, **asked, executor=client)
    assert mark.exists()
    assert_same(there, kabc.cluster(parquet, **asked))
