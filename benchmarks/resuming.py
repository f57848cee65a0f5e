"""What it costs to go on with a large study (see `study_costs.py --only resume`)."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc
from kabc.running.loop import blas_threads
from kabc.running.steps import whole_rounds
from kabc.running.studies import run_of
from kabc.study.growth import drawn_rows, last_whole_round

ARMS, COLUMNS = 10, 10


def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(0.0, 1.0, (n, COLUMNS))


def resume(n_samples: int) -> dict[str, float]:
    """Computing seconds and bytes."""
    names = [f"arm {i}" for i in range(ARMS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kabc.db")
        study = kabc.create_study("large", names, 2, storage=path, seed=0, max_samples=n_samples, check_k=False)
        result = study.run(dict.fromkeys(names, draw), progress=False)
        with_snapshot = study.storage.load_snapshot(study.record.id)
        found = {
            "samples": float(result.n_samples),
            "alone": _alone(study),
        }
        if with_snapshot is not None:  # it is kept where it is small, or saves much time
            found |= {"from a snapshot": _resumed(study), "snapshot, bytes": float(len(with_snapshot[1]))}
        study.storage.drop_snapshot(study.record.id)
        found["by replay"] = _resumed(study)
        found["parquet, bytes"] = float(_parquet(study, Path(folder, "rows.parquet")))
        study.storage.close()
        found["store, bytes"] = float(sum(file.stat().st_size for file in Path(folder).glob("kabc.db*")))
    return found


def shown(found: dict[str, float]) -> str:
    lines = [f"{found['samples']:,.0f} samples of {COLUMNS} columns, {ARMS} arms; computing time"]
    lines += [
        f"  {name:<18} {found[name]:>8.2f} s  {found[name] / found['alone']:>5.2f} x"
        for name in _TIMES
        if name in found
    ]
    ratio = found["store, bytes"] / found["parquet, bytes"]
    pages = " (with free pages of the dropped snapshot)" if "from a snapshot" in found else ""
    lines.append(f"store over Parquet   {ratio:.2f}{pages}")
    return "\n".join(lines)


_TIMES = ("alone", "by replay", "from a snapshot")


def _alone(study: kabc.Study) -> float:
    """The strategy told the same samples, from memory."""
    rows = drawn_rows(study.storage, study.record.id, 0, last_whole_round(study.storage, study.record.id))
    strategy = kabc.AnytimeKABC(ARMS, 2, study.spec.delta or 0.05, seed=0, check_k=False)
    place, began = dict.fromkeys(rows, 0), time.process_time()
    with blas_threads(strategy):
        while (request := strategy.ask()) and all(place[arm] + n <= len(rows[arm]) for arm, n in request.items()):
            strategy.tell({arm: rows[arm][place[arm] : place[arm] + n] for arm, n in request.items()})
            place = {arm: at + request.get(arm, 0) for arm, at in place.items()}
    return time.process_time() - began


def _resumed(study: kabc.Study) -> float:
    """A process without arms that goes on from the log, as far as it goes."""
    began = time.process_time()
    run_of(study.storage, study.record, study.spec, None).result(whole_rounds)
    return time.process_time() - began


def _parquet(study: kabc.Study, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = drawn_rows(study.storage, study.record.id, 0, last_whole_round(study.storage, study.record.id))
    table: dict[str, Any] = {"arm": np.repeat(list(rows), [len(one) for one in rows.values()]).astype(np.int16)}
    whole = np.concatenate(list(rows.values()))
    table |= {f"column {place}": whole[:, place] for place in range(COLUMNS)}
    pq.write_table(pa.table(table), path, compression="zstd")
    return path.stat().st_size
