"""Tables on a cluster of Dask: a Dask DataFrame, or Parquet files that all workers see. They are read where they are.

The columns that are needed of a frame are computed once, and kept by the workers until the run has ended, as a copy is
kept of a frame that is read here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from operator import add
from pathlib import Path
from typing import Any

import dask
from distributed import Client, KilledWorker

from kabc.arms.columns import INFERENCE_ROWS
from kabc.arms.files import parquet_files
from kabc.arms.rows import FILE_ROWS
from kabc.core.errors import ArmError
from kabc.running.engines.spread import Spread, new_key, submit


class DaskParts:
    """Parts of a table, as arguments of tasks, each with the number of its first row."""

    def __init__(self, client: Client, parts: Sequence[tuple[Any, int]]) -> None:
        self._client, self._parts = client, parts

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, query: Callable[[Any, int], Any], some: Iterable[int] | None = None) -> list[Any]:
        with _answering():
            return list(self._client.gather(self._asked(query, some)))

    def total(self, query: Callable[[Any, int], Any]) -> Any:
        with _answering():
            tasks = self._asked(query)
            while len(tasks) > 1:  # two at a time, whoever is ready first: sums depend on their order
                pairs = [tasks[first : first + 2] for first in range(0, len(tasks), 2)]
                tasks = [self._added(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            return self._client.gather(tasks[0])

    def _asked(self, query: Callable[[Any, int], Any], some: Iterable[int] | None = None) -> list[Any]:
        """Tasks that ask parts."""
        sent, threads = Spread(self._client, query), dict(self._client.nthreads())  # it may name all arms
        tasks = []
        for part, before in self._parts if some is None else [self._parts[number] for number in some]:
            where = threads if isinstance(part, str) else {}  # files are everywhere, a frame is where it is
            tasks.append(sent.submit(where, _asked, part, before, key=new_key("scan"))[0])
        return tasks

    def _added(self, one: Any, other: Any) -> Any:
        return submit(self._client, add, one, other, key=new_key("sum"))


def parts_of(client: Client, source: Any, columns: Sequence[str] | None) -> tuple[Any, DaskParts] | None:
    """A look at a table, and its parts; None if it has to be read here. `columns`: those that are needed."""
    if isinstance(source, str | os.PathLike):
        return _of_files(client, source, [os.fspath(source)])
    if isinstance(source, list | tuple):
        return _of_files(client, source, [os.fspath(file) for file in source])
    return _of_frame(client, source, columns) if dask.is_dask_collection(source) else None


def _of_files(client: Client, source: Any, patterns: list[str]) -> tuple[Any, DaskParts] | None:
    files = parquet_files(patterns)
    if files is None:
        return None
    paths = [str(Path(file).resolve()) for file in files]
    return source, DaskParts(client, [(path, number * FILE_ROWS) for number, path in enumerate(paths)])


def _of_frame(client: Client, source: Any, columns: Sequence[str] | None) -> tuple[Any, DaskParts]:
    import pandas as pd  # type: ignore[import-untyped]

    known = list(source.columns)
    if columns is not None and set(columns) <= set(known):  # what is not there is refused later, by its name
        source = source[[name for name in known if name in columns]]
    with _answering():
        frames = client.compute(source.to_delayed())
        sizes = client.gather([submit(client, len, frame, key=new_key("length")) for frame in frames])
        first = _first_rows(client, frames, sizes)
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return pd.concat(first, ignore_index=True), DaskParts(client, list(zip(frames, starts, strict=True)))


def _first_rows(client: Client, frames: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """The first rows of a frame: they decide what its columns hold."""
    first: list[Any] = []
    left = INFERENCE_ROWS
    for frame, size in zip(frames, sizes, strict=True):
        if left > 0 or not first:
            first.append(submit(client, _head, frame, max(left, 0), key=new_key("head")).result())
        left -= size
    return first


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (KilledWorker, CancelledError) as error:
        raise ArmError(
            f"the cluster lost workers again and again while it read the table, or was restarted ({error}); see to the "
            "cause (memory?), and start again"
        ) from error


def _head(frame: Any, rows: int) -> Any:
    return frame.iloc[:rows]


def _asked(query: Callable[[Any, int], Any], part: Any, before: int) -> Any:
    return query(part, before)
