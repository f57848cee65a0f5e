"""Arms that are rows of a query, in any database that SQLAlchemy or DuckDB can open.

The query runs once and read-only. Its rows are streamed to a temporary table on disk and are then a table like any
other (kabc.arms.tables). So the database is not used while samples are drawn, and the rows cannot change.
"""

from __future__ import annotations

import datetime
import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kabc.arms.base import NamedArms
from kabc.arms.columns import in_order_of
from kabc.arms.rows import Rows, check_names
from kabc.arms.tables import arms_of
from kabc.arms.values import Kind, Missing, TextForm
from kabc.arms.workspace import Workspace, first_line, library, literal, quoted
from kabc.core.errors import ArmError, SettingsError
from kabc.core.secrets import hide, hide_url, hide_words, url_secrets
from kabc.core.words import counted

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_CHUNK = 10_000  # rows in one step
_DUCKDB_FILES = (".duckdb", ".ddb")
_SQLITE_FILES = (".db", ".sqlite", ".sqlite3")
_QUERY = "the query"
_MEMORY = ":memory:"  # DuckDB's name for a database that is no file
# comments of SQL, texts, names in quotes, names with a dot: runs.csv
_TEXTS = re.compile(r"--[^\n]*|/\*.*?\*/|'((?:[^']|'')*)'|\"([^\"]*)\"|([\w./-]+\.\w+)", re.DOTALL)


def sql_arms(
    query: str,
    database: str,
    *,
    arm: str | None = None,
    values: str | Sequence[str] | None = None,
    types: Mapping[str, Kind] | None = None,
    missing: Missing = "raise",
    text: TextForm = "features",
    seed: int = 0,
    order: str | None = None,
) -> NamedArms:
    """Arms from the rows of a query, sorted by name.

    Parameters
    ----------
    query : str
        One SELECT statement. Without ORDER BY the rows come in any order, and the order of the draws depends on it. Add
        ORDER BY where the same seed must give the same samples.
    database : str
        A URL of SQLAlchemy ("sqlite:///runs.db", "postgresql://user@host/name"), or a file of SQLite ("runs.db") or
        DuckDB ("runs.duckdb"). "duckdb:///:memory:" is an empty database, for a query over files: "SELECT * FROM
        'runs.parquet'". DuckDB reads the files that the query names, and no other. It loads no extensions.
    arm : str
        The column that names the arm of a row.
    values : str or sequence of str, optional
        The columns of a sample. Default: all other columns, if there are at most 20.
    types : mapping of str to {"number", "category", "text"}, optional
        The kind of columns where the default is wrong, see `kabc.arms.tables.table_arms`.
    missing : {"raise", "drop", "encode"}, default "raise"
        What happens to missing values. "raise" refuses them. "drop" leaves out their rows. "encode" makes them a value
        of their own.
    text : {"features", "characters"}, default "features"
        How texts become numbers. "features" are hashed n-grams; "characters" are for the Hamming kernel.
    seed : int, default 0
        Decides the order of the draws.
    order : str, optional
        The column that says when a row came. It is not compared. Default: rows came in the order of the query.

    Returns
    -------
    NamedArms
        The arms by name, for `kabc.cluster`.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> from kabc.arms.sql import sql_arms
    >>> folder = tempfile.TemporaryDirectory()
    >>> connection = sqlite3.connect(f"{folder.name}/runs.db")
    >>> _ = connection.executescript(
    ...     "CREATE TABLE runs (host TEXT, seconds REAL);"
    ...     "INSERT INTO runs VALUES ('a', 1.5), ('b', 7.0), ('a', 2.5), ('b', 7.5);"
    ... )
    >>> connection.close()
    >>> arms = sql_arms("SELECT * FROM runs", f"{folder.name}/runs.db", arm="host")
    >>> {name: arm.remaining for name, arm in arms.items()}
    {'a': 2, 'b': 2}
    >>> folder.cleanup()
    """
    file = _duckdb_file(database)
    rows = _from_server(query, database, arm) if file is None else _from_duckdb(query, file)
    arms = arms_of(in_order_of(rows, order, arm, values), arm, values, types, missing, text, seed)
    arms.source = f"{hide_url(database)}: {hide_words(query)}"
    return arms


def database_file(database: str) -> str | None:
    """The file that a database is, or None where it is a server."""
    file = _duckdb_file(database)
    if file is not None:
        return None if file == _MEMORY else file
    if _is_sqlite_file(database):
        return database
    sqlalchemy = library("sqlalchemy")
    try:
        url: URL = sqlalchemy.make_url(database)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        return None  # refused, in better words, when it is opened
    return (url.database or "").removeprefix("file:") or None if url.get_backend_name() == "sqlite" else None


def _is_sqlite_file(database: str) -> bool:
    return Path(database).suffix in _SQLITE_FILES and ":" not in database


def _duckdb_file(database: str) -> str | None:
    if database == _MEMORY:
        return database
    if database.startswith("duckdb:"):
        return database.removeprefix("duckdb:").removeprefix("///") or _MEMORY
    return database if "://" not in database and Path(database).suffix in _DUCKDB_FILES else None


def _from_duckdb(query: str, file: str) -> Rows:
    duckdb = library("duckdb")
    workspace = Workspace(None)
    ((here,),) = workspace.rows("SELECT current_database()")
    if file != _MEMORY:
        _existing(file)
    try:
        what = f"{literal(file)} AS their_database" + ("" if file == _MEMORY else " (READ_ONLY)")
        workspace.rows(f"ATTACH {what}")
    except duckdb.Error as error:
        raise ArmError(f"cannot open database {file!r}: {first_line(error)}; check that it is a DuckDB file") from error
    try:
        statements = workspace.connection.extract_statements(query)
        if len(statements) != 1:
            raise _wrong_query(f"it has {counted(len(statements), 'statement')} instead of one")
        workspace.reads_only(_files_named(query))  # not those that a view of the database reads
        workspace.rows("USE their_database")
        check_names((row[0] for row in workspace.rows(f"DESCRIBE {statements[0].query}")), _QUERY)
        workspace.rows(f"CREATE TABLE {quoted(here)}.main.source AS {statements[0].query}")
        workspace.rows(f"USE {quoted(here)}.main")
        workspace.rows("DETACH their_database")
    except duckdb.PermissionException as error:
        cure = "a query reads only the files that it names, so write its path into the query, in quotes"
        raise SettingsError(f"the database refuses the query: {first_line(error)}; {cure}") from error
    except duckdb.Error as error:
        raise _wrong_query(first_line(error)) from error
    return Rows.of_table(workspace, "source", _QUERY)


def _files_named(query: str) -> list[str]:
    """What may be a file in a query: its texts and names, and the files that match them."""
    texts = [text for found in _TEXTS.finditer(query) for text in found.groups() if text]
    # not Path.glob: patterns may be absolute and recursive
    return texts + [file for text in texts if glob.has_magic(text) for file in glob.glob(text, recursive=True)]  # noqa: PTH207


def _existing(file: str) -> None:
    if not Path(file).is_file():
        raise SettingsError(f"there is no database {file!r} (looked from {Path.cwd()}); check the path")


def _wrong_query(why: str) -> SettingsError:
    return SettingsError(f"the database refuses the query: {why}; correct the SQL")


def _from_server(query: str, database: str, arm: str | None) -> Rows:
    engine = _engine(database)
    try:
        with _connected(engine) as connection:
            return _copied(connection, query, arm)
    finally:
        engine.dispose()


def _engine(database: str) -> Engine:
    sqlalchemy = library("sqlalchemy")
    if _is_sqlite_file(database):
        database = f"sqlite:///{database}"
    try:
        url: URL = sqlalchemy.make_url(database)
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        engine: Engine = sqlalchemy.create_engine(url)
    except sqlalchemy.exc.NoSuchModuleError:
        raise SettingsError(
            f"database {_shown(url)!r} needs a driver of SQLAlchemy for {url.drivername!r}; install one"
        ) from None
    except (sqlalchemy.exc.ArgumentError, ValueError):  # ValueError: of a port. The messages may hold the password
        raise SettingsError(
            "the database is not a file or URL that can be opened; write it like sqlite:///runs.db or "
            "postgresql://user:password@host:5432/name"
        ) from None
    except ModuleNotFoundError as error:
        extra = "'kabc[postgres]'" if url.get_backend_name() == "postgresql" else str(error.name)
        raise SettingsError(f"database {_shown(url)!r} needs {error.name}; pip install {extra}") from None
    if url.get_backend_name() == "sqlite":
        _existing(url.database or "")  # SQLite would create a missing file
    return engine


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    """A connection that streams and cannot write."""
    from sqlalchemy import exc

    # no_parameters: a % or a colon in the query is only a character
    streaming = engine.execution_options(stream_results=True, max_row_buffer=_CHUNK, no_parameters=True)
    backend = engine.url.get_backend_name()
    try:
        connection = streaming.connect()
    except exc.DBAPIError as error:
        raise ArmError(
            f"cannot reach database {_shown(engine.url)}: {_their_words(error, engine.url)}; "
            "check that it is running, and its address and name"
        ) from None
    with connection:
        if backend == "postgresql":
            connection = connection.execution_options(postgresql_readonly=True)
        if backend == "sqlite":
            connection.exec_driver_sql("PRAGMA query_only = ON")
        try:
            yield connection
        except exc.DBAPIError as error:
            raise _wrong_query(_their_words(error, engine.url)) from None
        finally:
            connection.rollback()  # nothing is written


def _shown(url: URL) -> str:
    """The address without its passwords, wherever they stand in it."""
    return hide_url(url.render_as_string(hide_password=False))


def _their_words(error: Any, url: URL) -> str:
    """The first line of the database's own message, without passwords."""
    return hide(first_line(error.orig), url_secrets(url.render_as_string(hide_password=False)))


def _copied(connection: Connection, query: str, arm: str | None) -> Rows:
    """The rows of the query in a table of the workspace.

    They are copied as strings, because the values of every driver become strings without loss. Columns get their type
    at the end, when all values are known: in the first rows, a column may have no value at all.
    """
    with connection.exec_driver_sql(query) as result:
        if not result.returns_rows:
            raise _wrong_query("it returns no rows")
        names = list(result.keys())
        check_names(names, _QUERY)
        workspace = Workspace()
        workspace.rows(f"CREATE TABLE source ({', '.join(f'{quoted(name)} VARCHAR' for name in names)})")
        seen: list[set[type]] = [set() for _ in names]
        for chunk in result.partitions(_CHUNK):
            columns = list(zip(*chunk, strict=True))
            for types, column in zip(seen, columns, strict=True):
                types.update(map(type, column))
            _insert(workspace, columns)
    for name, types in zip(names, seen, strict=True):
        if name == arm and _would_merge(workspace, name, types):
            continue
        workspace.rows(f"ALTER TABLE source ALTER {quoted(name)} SET DATA TYPE {_duckdb_type(types)}")
    return Rows.of_table(workspace, "source", _QUERY)


def _would_merge(workspace: Workspace, column: str, seen: set[type]) -> bool:
    """Whether different whole numbers, such as ids of 64 bits, are equal as numbers of DuckDB. Then they stay text."""
    if not seen or not seen <= {int, type(None)}:
        return False
    name = quoted(column)
    ((merged,),) = workspace.rows(f"SELECT count(DISTINCT {name}) > count(DISTINCT {name}::DOUBLE) FROM source")
    return bool(merged)


def _insert(workspace: Workspace, columns: list[tuple[object, ...]]) -> None:
    workspace.connection.register("chunk", {str(place): _strings(column) for place, column in enumerate(columns)})
    casts = ", ".join(f'CAST("{place}" AS VARCHAR)' for place in range(len(columns)))
    workspace.rows(f"INSERT INTO source SELECT {casts} FROM chunk")
    workspace.connection.unregister("chunk")


def _strings(column: Iterable[object]) -> np.ndarray[Any, np.dtype[np.object_]]:
    return np.array([None if value is None else str(value) for value in column], dtype=object)


def _duckdb_type(seen: set[type]) -> str:
    types = seen - {type(None)}
    if types and types <= {bool}:
        return "BOOLEAN"
    if (
        types and bool not in types and all(issubclass(one, Number) for one in types)
    ):  # a Decimal is a Number, but not a Real
        return "DOUBLE"
    if types and all(issubclass(one, datetime.date) for one in types):
        return "TIMESTAMP"
    return "VARCHAR"
