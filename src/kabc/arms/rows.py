"""Tables that DuckDB can scan: opened from files or frames, in a temporary workspace on disk.

Parquet is read where it lies. Everything else is copied to a table of the workspace once, in chunks: a text file has no
row numbers that survive two scans, and a frame may change under us.
"""

from __future__ import annotations

import glob
import importlib
import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import ArmError, SettingsError
from kabc.core.samples import describe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_Answer = TypeVar("_Answer")
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any

_MEMORY = "512MB"  # what DuckDB may hold; beyond it, it uses the disk
_MOST_THREADS = 4  # each needs buffers of its own
_FILE_ROWS = 1 << 40  # more rows than a file has: numbers rows over several files
_ROW_NUMBERS = ("rowid", "file_row_number", "file_index")
_READERS = {
    ".csv": "read_csv({files}, header=true, sample_size=-1)",
    ".tsv": "read_csv({files}, header=true, sample_size=-1, delim='\\t')",
    ".json": "read_json({files}, sample_size=-1)",
    ".jsonl": "read_json({files}, sample_size=-1)",
    ".ndjson": "read_json({files}, sample_size=-1)",
    ".parquet": "read_parquet({files}, file_row_number=true)",
}
_ARROW = (".arrow", ".feather", ".ipc")
_JSON = (".json", ".jsonl", ".ndjson")
_TEXT_IS_SAME = ("VARCHAR", "BIGINT", "UBIGINT", "BOOLEAN")  # types whose values DuckDB prints as JSON writes them


class Workspace:
    """A DuckDB connection with its temporary folder; both go when nobody needs them any more."""

    def __init__(self) -> None:
        duckdb = library("duckdb")
        folder = tempfile.mkdtemp(prefix="kabc-")
        self.connection: DuckDBPyConnection = duckdb.connect(
            str(Path(folder, "rows.duckdb")),
            config={
                "memory_limit": _MEMORY,
                "temp_directory": str(Path(folder, "spill")),
                "threads": min(_MOST_THREADS, os.cpu_count() or 1),
                "autoinstall_known_extensions": "false",  # nothing is downloaded
            },
        )
        # a query that runs in the main thread would not hear Ctrl-C before it ends
        self._thread = ThreadPoolExecutor(1, "kabc-duckdb")
        self._finalizer = weakref.finalize(self, _tidy, self.connection, self._thread, folder)
        self.rows("SET enable_progress_bar = false")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query gives, whole."""
        return self._interruptible(lambda connection: connection.execute(sql).fetchall())

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """What a query gives, by column; missing strings are None."""
        columns = self._interruptible(lambda connection: connection.execute(sql).fetchnumpy())
        return {name: _without_mask(column) for name, column in columns.items()}

    def _interruptible(self, query: Callable[[DuckDBPyConnection], _Answer]) -> _Answer:
        # the thread gets the connection, not self: were it the last to hold self, it would have to end itself
        running = self._thread.submit(query, self.connection)
        try:
            while not wait([running], timeout=0.2).done:  # an endless wait cannot be interrupted everywhere
                pass
        except KeyboardInterrupt:
            self.connection.interrupt()
            wait([running])
            raise
        return running.result()


def _without_mask(column: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(column, np.ma.MaskedArray):
        return column
    plain = column.data.astype(object)
    plain[np.ma.getmaskarray(column)] = None
    return plain


def _tidy(connection: DuckDBPyConnection, thread: ThreadPoolExecutor, folder: str) -> None:
    thread.shutdown()
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """DuckDB's complaint about what it reads as an error of ours, in one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ArmError(
            f"cannot read {what}: {first_line(error)}; check that it is complete and of its format"
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of a message that says anything."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def library(name: str, install: str = "'kabc[data]'") -> Any:
    """A module that is only needed for tables."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SettingsError(f"reading this table needs {name}; pip install {install}") from None


@dataclass(frozen=True)
class Rows:
    """A table that DuckDB can scan: SQL for it, SQL that numbers its rows, types of its columns, a name for people."""

    workspace: Workspace
    relation: str
    key: str
    types: dict[str, str]
    name: str

    def __post_init__(self) -> None:
        check_names(self.types, self.name)

    @classmethod
    def of_table(cls, workspace: Workspace, table: str, name: str) -> Rows:
        """A table in the temporary database."""
        return cls(workspace, quoted(table), "rowid", column_types(workspace, quoted(table)), name)


def column_types(workspace: Workspace, relation: str) -> dict[str, str]:
    """DuckDB's type of each column."""
    return {row[0]: row[1] for row in workspace.rows(f"DESCRIBE SELECT * FROM {relation}")}


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def open_table(source: Source, as_text: str | None = None) -> Rows:
    """The rows of files or of a frame; of a text file, the column `as_text` is read as it is written."""
    if isinstance(source, str | os.PathLike):
        return _open_files([os.fspath(source)], as_text)
    if isinstance(source, list | tuple) and source and all(isinstance(file, str | os.PathLike) for file in source):
        return _open_files([os.fspath(file) for file in source], as_text)
    return _open_frame(source)


def _open_files(patterns: list[str], as_text: str | None) -> Rows:
    files = [file for pattern in patterns for file in _matching(pattern)]
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise SettingsError(
            f"files of different formats ({', '.join(sorted(formats))}) do not make one table; pass one"
        )
    (form,) = formats
    name = patterns[0] if len(patterns) == 1 else f"{patterns[0]} and {len(patterns) - 1} more"
    workspace = Workspace()
    with readable(name):
        if form in _ARROW:
            return _copied_arrow(workspace, files, name)
        # escaped because DuckDB would take a bracket in a path for a pattern
        listed = "[" + ", ".join(literal(glob.escape(file)) for file in files) + "]"
        relation = _READERS[form].format(files=listed)
        check_names(_names_as_written(workspace, form, files[0]), name)
        if form == ".parquet":
            types = column_types(workspace, relation)
            del types["file_row_number"]
            key = f"file_index::BIGINT * {_FILE_ROWS} + file_row_number" if len(files) > 1 else "file_row_number"
            return Rows(workspace, relation, key, types, name)
        if as_text is not None and form in (".csv", ".tsv"):
            relation = _csv_with_text(workspace, form, listed, as_text)
        workspace.rows(f"CREATE TABLE source AS SELECT * FROM {relation}")
        if as_text is not None and form in _JSON:
            _json_as_text(workspace, listed, as_text)
        return Rows.of_table(workspace, "source", name)


def _csv_with_text(workspace: Workspace, form: str, listed: str, column: str) -> str:
    """The CSV reader with one column not guessed: as numbers, 1.1 and 1.10 would be one name."""
    names_only = _READERS[form].replace("sample_size=-1", "all_varchar=true").format(files=listed)
    relation = _READERS[form].format(files=listed)
    if column not in column_types(workspace, names_only):
        return relation
    return f"{relation.removesuffix(')')}, types={{{literal(column)}: 'VARCHAR'}})"


def _json_as_text(workspace: Workspace, listed: str, column: str) -> None:
    """Put one column of JSON files into `source` as it is written; other columns keep the guessed types.

    A second reading, joined by row number: a reader that is told the type of one column guesses no other.
    """
    kind = column_types(workspace, "source").get(column)
    if kind is None or kind in _TEXT_IS_SAME:
        return
    place = quoted(column)
    workspace.rows(
        f"CREATE TABLE written AS SELECT {place} FROM read_json({listed}, columns={{{literal(column)}: 'VARCHAR'}})"
    )
    workspace.rows(
        f"CREATE TABLE joined AS SELECT source.* REPLACE (written.{place} AS {place}) FROM source "
        "JOIN written ON source.rowid = written.rowid ORDER BY source.rowid"
    )
    workspace.rows("DROP TABLE source; DROP TABLE written; ALTER TABLE joined RENAME TO source")


def _matching(pattern: str) -> list[str]:
    if Path(pattern).is_file():
        return [pattern]
    # not Path.glob: patterns may start at a root and go through folders
    files = sorted(file for file in glob.glob(pattern, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        what = "no file matches" if glob.has_magic(pattern) else "there is no file"
        raise SettingsError(f"{what} {pattern!r} (looked from {Path.cwd()}); check the path")
    return files


def _format(file: str) -> str:
    path = Path(file.removesuffix(".gz"))
    if path.suffix.lower() in _READERS or (path.suffix.lower() in _ARROW and str(path) == file):
        return path.suffix.lower()
    raise SettingsError(
        f"{file!r}: cannot tell the format from {Path(file).suffix!r}; use one of "
        f"{', '.join([*_READERS, *_ARROW])} (text formats also with .gz), or pass a data frame"
    )


def _names_as_written(workspace: Workspace, form: str, file: str) -> list[str]:
    """Names of the columns before DuckDB makes repeated ones different."""
    path = literal(glob.escape(file))
    if form == ".parquet":
        _, *leaves = workspace.rows(f"SELECT name, num_children FROM parquet_schema({path})")
        return [] if any(children for _, children in leaves) else [name for name, _ in leaves]
    if form not in (".csv", ".tsv"):
        return []
    ((delimiter, skipped),) = workspace.rows(f"SELECT Delimiter, SkipRows FROM sniff_csv({path}, header=true)")
    first = workspace.rows(
        f"SELECT * FROM read_csv({path}, header=false, all_varchar=true, delim={literal(delimiter)}, skip={skipped}) "
        "LIMIT 1"
    )
    return [name for row in first for name in row]


def check_names(names: Iterable[object], where: str) -> None:
    """Refuse columns of one name, and of names that row numbers have.

    DuckDB does not tell capitals from small letters in names, so these must not be all that differs.
    """
    written = [str(name) for name in names]
    counts = Counter(name.casefold() for name in written)
    twice = [name for name in written if counts[name.casefold()] > 1]
    if twice:
        raise SettingsError(
            f"{where} has columns of the same name: {', '.join(map(repr, twice))}; "
            "rename them (capital and small letters count as the same)"
        )
    for name in written:
        if name.casefold() in _ROW_NUMBERS:
            raise SettingsError(f"{where} has a column {name!r}, a name that row numbers need; rename it")


def _copied_arrow(workspace: Workspace, files: list[str], name: str) -> Rows:
    pyarrow = library("pyarrow", "pyarrow")
    for number, file in enumerate(files):
        try:
            with pyarrow.memory_map(file) as memory:
                reader = _batches(pyarrow, memory)
                check_names(reader.schema.names, name)
                workspace.connection.register("batches", reader)
                how = "INSERT INTO source BY NAME" if number else "CREATE TABLE source AS"
                workspace.rows(f"{how} SELECT * FROM batches")
                workspace.connection.unregister("batches")
        except (pyarrow.ArrowException, OSError) as error:
            raise ArmError(f"cannot read {file}: {first_line(error)}; check that it is an Arrow file") from error
    return Rows.of_table(workspace, "source", name)


def _batches(pyarrow: Any, memory: Any) -> Any:
    """A reader of the batches of an Arrow file or stream."""
    try:
        file = pyarrow.ipc.open_file(memory)
    except pyarrow.ArrowInvalid:
        memory.seek(0)
        return pyarrow.ipc.open_stream(memory)
    batches = (file.get_batch(number) for number in range(file.num_record_batches))
    return pyarrow.RecordBatchReader.from_batches(file.schema, batches)


def _open_frame(source: Any) -> Rows:
    nw = library("narwhals")
    try:
        frame = nw.from_native(source)
        check_names(frame.collect_schema().names(), "the frame")
    except nw.exceptions.DuplicateError as error:
        raise SettingsError(f"the frame has columns of the same name ({first_line(error)}); rename them") from None
    except TypeError:
        raise SettingsError(
            f"cannot read a table from {describe(source)} ({type(source).__name__}); "
            "pass the path of a file, a pandas or polars frame or an Arrow table"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not len(frame.columns):
        raise SettingsError("the frame has no columns; pass one with a column for the arm and columns of values")
    empty = [name for name, kind in frame.schema.items() if kind == nw.Unknown and frame[name].is_null().all()]
    frame = frame.with_columns(nw.col(name).cast(nw.Float64) for name in empty)  # DuckDB cannot read polars' type Null
    workspace = Workspace()
    with readable("the frame"):
        # DuckDB reads pandas by itself, and all others by the Arrow interface of narwhals
        workspace.connection.register("frame", frame.to_native() if frame.implementation.is_pandas() else frame)
        workspace.rows("CREATE TABLE source AS SELECT * FROM frame")
        workspace.connection.unregister("frame")
        return Rows.of_table(workspace, "source", "the frame")
