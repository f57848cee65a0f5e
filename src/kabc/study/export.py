"""A study as a file: a table with a row for each sample, late ones too, or all of it for another store."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SampleError, SettingsError
from kabc.core.files import StrPath, expect_writable, written_whole
from kabc.core.samples import kinds_of
from kabc.core.words import in_short, shown
from kabc.results.files import loaded
from kabc.storage.checks import LATEST
from kabc.storage.contract import Draw, Storage, StudyRecord, Ticket
from kabc.storage.errors import StorageError
from kabc.study.categories import Levels, categories_of
from kabc.study.documents import facts_of_document
from kabc.study.misfits import misfits
from kabc.study.spec import Spec

Progress = Callable[[int], None]  # is told how many samples are written

WHOLE = ".kabcstudy"

# What is known of a sample, before its values. `sample` counts the samples of an arm from 1 in the order in which they
# were asked for. `paid` are the calls that it took, `cost` their price.
ABOUT = ("study", "arm", "round", "ticket", "piece", "sample", "worker", "started", "ended", "paid", "cost", "late")

_LAST = 2**31 - 1  # later than every round
_AT_ONCE = 50_000  # rows of Parquet that are held in memory


@dataclass(frozen=True)
class Sheet:
    """What all rows of a study have in common."""

    study: str
    arms: tuple[str, ...]
    price: float
    columns: tuple[str, ...]  # of the values
    levels: tuple[Mapping[float, str], ...]  # of each value: which category a number stands for, where it is known
    kinds: str  # of each value, as `kabc.core.samples.kinds_of` says them

    @classmethod
    def of(cls, record: StudyRecord, rows: NDArray[Any], noted: Levels) -> Sheet:  # (count, d)
        """That of a study whose first rows are these, and whose workers noted these categories."""
        arms = tuple(map(str, _names(record)))
        facts = facts_of_document(record.facts or {}, len(arms), record.name)
        width, kinds = rows.shape[1], _kinds(rows)
        names = facts.columns if len(facts.columns) == width else [f"value {i}" for i in range(1, width + 1)]
        where = f"the answer of study {record.name!r}"
        ended = {} if "t" in kinds or record.answer is None else loaded(record.answer, where).levels
        return cls(
            record.name,
            arms,
            facts.price,
            tuple(f"{name} (value)" if name in ABOUT else name for name in names),
            tuple({**noted.get(name, {}), **ended.get(name, {})} for name in names),
            kinds,
        )

    def fits(self, draw: Draw) -> bool:
        """Whether the rows of a draw have the columns of the table."""
        return _kinds(draw.rows) == self.kinds

    def paid(self, draw: Draw) -> float:
        """The calls for each sample of a draw."""
        return (draw.n_paid or len(draw.rows)) / max(len(draw.rows), 1)

    def cells(self, column: int, values: NDArray[Any]) -> list[Any]:  # (count,)
        """The values of a column; a category is its text, what is missing is None."""
        levels = self.levels[column]
        if levels:
            return [None if value < 0 else levels.get(value, f"{value:g}") for value in values.tolist()]
        return [None if value != value else value for value in values.tolist()]  # NaN


def export_study(
    storage: Storage,
    record: StudyRecord,
    path: StrPath,
    progress: Progress | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> int:
    """Write a study to a file, whole or not at all. Returns the number of samples that are in it.

    `say` is told of draws that do not fit into a table, and are left out.

    ".csv" and ".parquet" are tables with a row for each sample. ".kabcstudy" is a store that has this study alone, with
    its question, rounds, workers and notes: `import_study` takes it into another store.
    """
    ending = Path(path).suffix.lower()
    write = _WRITERS.get(ending)
    if write is None and ending != WHOLE:
        known = ", ".join([*_WRITERS, WHOLE])
        raise SettingsError(f"a study is written to {known}, got {os.fspath(path)!r}; choose one of these endings")
    expect_writable(path)
    if write is not None:
        return _table(write, storage, record, path, progress or _silent, say)
    from kabc.storage.opening import open_storage

    with written_whole(path) as file, closing(open_storage(file)) as target:
        return copied(storage, record, target, record.name, progress)


def import_study(
    source: Storage,
    target: Storage,
    study: str | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> StudyRecord:
    """Take a study of another store, such as an exported file, under its own name or a new one.

    `study` names it; it may be left out where the other store has one alone.
    """
    there = source.study_names()
    if study is None and len(there) != 1:
        found = f"it has {in_short(map(shown, there))}; say which one" if there else "it has none"
        raise SettingsError(f"{source.url} should have one study: {found}")
    record = source.load_study(there[0] if study is None else study)
    copied(source, record, target, name or record.name, progress)
    return target.load_study(name or record.name)


def copied(source: Storage, record: StudyRecord, target: Storage, name: str, progress: Progress | None = None) -> int:
    """Copy a study, exactly. Returns the number of its samples."""
    from kabc.storage.sql.copying import copy_study
    from kabc.storage.sql.store import SqlStorage

    if not isinstance(source, SqlStorage) or not isinstance(target, SqlStorage):
        other = target if isinstance(source, SqlStorage) else source
        raise StorageError(f"whole studies are copied between files and PostgreSQL, not {other.url}; export to .csv")
    copy_study(source, record.id, target, name, progress or _silent)
    return target.summary(target.load_study(name).id).n_samples


def _silent(done: int) -> None:
    """Nobody listens."""


def _table(
    write: Write,
    storage: Storage,
    record: StudyRecord,
    path: StrPath,
    progress: Progress,
    say: Callable[[str], object],
) -> int:
    if write is _parquet:
        _arrow()  # refused before anything is read
    left_out = {(one.ticket.id, one.ticket.lease): one for one in misfits(storage, record, _names(record))}
    for one in left_out.values():
        say(one.line)

    def fitting(drawn: Iterator[tuple[Ticket, Draw]], sheet: Sheet | None = None) -> Iterator[tuple[Ticket, Draw]]:
        for ticket, draw in drawn:
            if not draw.late and (draw.ticket, draw.lease) in left_out:
                continue
            if sheet is None or sheet.fits(draw):
                yield ticket, draw
            else:
                say(f"ticket {ticket.id} is left out, a late draw with other values than the rest")

    drawn = chain(storage.draws(record.id, 0, _LAST), storage.late_draws(record.id))
    first = next(fitting(drawn), None)
    if first is None:
        raise SettingsError(f"study {record.name!r} has no samples yet")
    sheet = Sheet.of(record, _flat(first[1].rows), categories_of(storage, record.id))
    with written_whole(path) as file:
        return write(sheet, chain([first], fitting(drawn, sheet)), file, progress)


def _names(record: StudyRecord) -> tuple[Hashable, ...]:
    return Spec.of_json(record.spec, record.name).names


Write = Callable[["Sheet", Iterator[tuple[Ticket, Draw]], Path, Progress], int]


def _kinds(rows: NDArray[Any]) -> str:
    """As `kinds_of`; numbers that are not finite are numbers too, as of late draws of earlier versions."""
    try:
        return kinds_of(rows)
    except SampleError:
        return "n" * _flat(rows).shape[1] if rows.dtype.kind in "biuf" else ""


def _flat(rows: NDArray[Any]) -> NDArray[Any]:  # (count,) or (count, d) -> (count, d)
    return rows.reshape(len(rows), -1)


def _csv(sheet: Sheet, drawn: Iterator[tuple[Ticket, Draw]], file: Path, progress: Progress) -> int:
    done = 0
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow([*ABOUT, *sheet.columns])
        for ticket, draw in drawn:
            rows = _flat(draw.rows)
            paid = sheet.paid(draw)
            before = [sheet.study, sheet.arms[ticket.arm], ticket.round, ticket.id, ticket.piece]
            after = [draw.worker, _time(draw.started), _time(draw.ended), paid, paid * sheet.price, int(draw.late)]
            columns = [sheet.cells(i, rows[:, i]) for i in range(rows.shape[1])]
            for i, values in enumerate(zip(*columns, strict=True), ticket.start + 1):
                writer.writerow([*before, i, *after, *values])
            done += len(rows)
            progress(done)
    return done


def _time(seconds: float) -> str:
    if not 0 <= seconds <= LATEST:  # of an earlier version, which took any number
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _parquet(sheet: Sheet, drawn: Iterator[tuple[Ticket, Draw]], file: Path, progress: Progress) -> int:
    pa, parquet = _arrow()
    time = pa.timestamp("us", tz="UTC")
    kinds = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64(), pa.string(), time, time]
    kinds += [pa.float64(), pa.float64(), pa.bool_()]
    texts = [kind == "t" or levels for kind, levels in zip(sheet.kinds, sheet.levels, strict=True)]
    kinds += [pa.string() if text else pa.float64() for text in texts]
    schema = pa.schema(list(zip([*ABOUT, *sheet.columns], kinds, strict=True)))
    done, held = 0, _Held(sheet)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for ticket, draw in drawn:
            held.add(ticket, draw)
            done += len(draw.rows)
            if held.n_rows >= _AT_ONCE:
                writer.write_table(held.table(pa, schema))
                held = _Held(sheet)
            progress(done)
        if held.n_rows:
            writer.write_table(held.table(pa, schema))
    return done


class _Held:
    """Draws that wait to be written together: many are of one sample."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._about: list[list[Any]] = [[] for _ in ABOUT]
        self._values: list[NDArray[Any]] = []
        self.n_rows = 0

    def add(self, ticket: Ticket, draw: Draw) -> None:
        sheet, count = self._sheet, len(draw.rows)
        paid = sheet.paid(draw)
        known = (sheet.study, sheet.arms[ticket.arm], ticket.round, ticket.id, ticket.piece)
        times = (round(1e6 * one) if 0 <= one <= LATEST else None for one in (draw.started, draw.ended))
        numbers = list(range(ticket.start + 1, ticket.start + count + 1))
        parts: list[list[Any]] = [[one] * count for one in known]
        parts += [numbers, *([one] * count for one in (draw.worker, *times, paid, paid * sheet.price, draw.late))]
        for column, part in zip(self._about, parts, strict=True):
            column += part
        self._values.append(_flat(draw.rows))
        self.n_rows += count

    def table(self, pa: Any, schema: Any) -> Any:
        rows = np.concatenate(self._values)
        values = [self._sheet.cells(i, rows[:, i]) for i in range(rows.shape[1])]
        arrays = [pa.array(one, kind.type) for one, kind in zip([*self._about, *values], schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise SettingsError("Parquet needs pyarrow; pip install 'kabc[data]', or write CSV") from error
    return pyarrow, parquet


_WRITERS: dict[str, Write] = {".csv": _csv, ".parquet": _parquet}
