"""What it costs to go on with a large study (see `study_costs.py --only resume`)."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
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


def resume(n_samples: int, folder: str | None = None) -> dict[str, float]:
    """Computing seconds and bytes. With a folder, the study is kept there, and the same call again goes on with it."""
    with ExitStack() as stack:
        kept = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        kept.mkdir(exist_ok=True)
        return _measured(kept, _drawn(kept / "kabc.db", n_samples))


def _drawn(path: Path, n_samples: int) -> kabc.Study:
    names = [f"arm {i}" for i in range(ARMS)]
    study = kabc.create_study(
        "large", names, 2, storage=path, seed=0, max_samples=n_samples, check_k=False, if_exists="resume"
    )
    if study.status != "ended":
        study.run(dict.fromkeys(names, draw), progress=False)
    return study


def _measured(folder: Path, study: kabc.Study) -> dict[str, float]:
    with_snapshot = study.storage.load_snapshot(study.record.id)
    found = {"samples": float(study.storage.summary(study.record.id).n_samples), "alone": _alone(study)}
    if with_snapshot is not None:  # it is kept where it is small, or saves much time
        found |= {"from a snapshot": _resumed(study), "snapshot, bytes": float(len(with_snapshot[1]))}
    study.storage.drop_snapshot(study.record.id)
    found["by replay"] = _resumed(study)
    found["parquet, bytes"] = float(_parquet(study, folder / "rows.parquet"))
    study.storage.close()
    found["store, bytes"] = float(sum(file.stat().st_size for file in folder.glob("kabc.db*")))
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
