"""DuckDB in a temporary folder: queries that Ctrl-C can stop, errors in one line, names and texts in SQL."""

from __future__ import annotations

import glob
import importlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import ArmError, SettingsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_Answer = TypeVar("_Answer")

_MEMORY = "512MB"  # what DuckDB may hold in memory; beyond it, it uses the disk
_MOST_THREADS = 4  # each needs buffers of its own


class Workspace:
    """A DuckDB connection with its temporary folder. Both are removed when nothing refers to them any more.

    It reads these files and no other; None: any, until `reads_only` is called.
    """

    def __init__(self, files: Iterable[str] | None = ()) -> None:
        duckdb = library("duckdb")
        folder = tempfile.mkdtemp(prefix="kabc-")
        self.connection: DuckDBPyConnection = duckdb.connect(
            str(Path(folder, "rows.duckdb")),
            config={
                "memory_limit": _MEMORY,
                "temp_directory": str(Path(folder, "spill")),
                "threads": min(_MOST_THREADS, os.cpu_count() or 1),
                "autoinstall_known_extensions": "false",  # nothing is downloaded,
                "autoload_known_extensions": "false",  # and nothing that somebody else has downloaded is run
            },
        )
        # in a thread of its own: a query in the main thread could not be stopped by Ctrl-C
        self._thread = ThreadPoolExecutor(1, "kabc-duckdb")
        self._finalizer = weakref.finalize(self, _tidy, self.connection, self._thread, folder)
        # asked first: in a notebook without ipywidgets there is no bar, and DuckDB refuses to turn it off
        if self.rows("SELECT current_setting('enable_progress_bar')") != [(False,)]:
            self.rows("SET enable_progress_bar = false")
        if files is not None:
            self.reads_only(files)

    def reads_only(self, files: Iterable[str]) -> None:
        """From here on no other file is read and no database is opened. This cannot be undone."""
        allowed = sorted({form for file in files for form in (file, glob.escape(file))})  # as DuckDB is asked for it
        self.rows(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
        self.rows("SET enable_external_access = false")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self._interruptible(lambda connection: connection.execute(sql).fetchall())

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """All rows of a query, by column. Missing values are None."""
        columns = self._interruptible(lambda connection: connection.execute(sql).fetchnumpy())
        return {name: _without_mask(column) for name, column in columns.items()}

    def _interruptible(self, query: Callable[[DuckDBPyConnection], _Answer]) -> _Answer:
        # the thread gets the connection, not self: the last reference to self must not be in the thread that self ends
        running = self._thread.submit(query, self.connection)
        try:
            while not wait([running], timeout=0.2).done:  # some systems cannot interrupt a wait without a timeout
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
    # Garbage is collected in any thread at any moment, also while Python starts a thread: to wait for a thread here
    # could wait for ever. No query is running any more, so there is nothing to wait for.
    thread.shutdown(wait=False)
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn an error of DuckDB into an ArmError of one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ArmError(
            f"cannot read {what}: {first_line(error)}; check that it is complete and in the format that its name says"
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of a message that is not empty."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def library(name: str, install: str = "'kabc[data]'") -> Any:
    """A module that only some tables need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SettingsError(f"reading this table needs {name}; pip install {install}") from None


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string in SQL."""
    return "'" + text.replace("'", "''") + "'"
