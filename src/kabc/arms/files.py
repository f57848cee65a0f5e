"""Tables in files.

Parquet is scanned where it is. Every other format is copied once, in chunks, to a table of the workspace: the rows of a
text file have no numbers that stay the same in every scan.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from kabc.arms.rows import FILE_ROWS, Rows, check_names, column_types
from kabc.arms.saved import refuse_saved_answer
from kabc.arms.workspace import Workspace, first_line, library, literal, quoted, readable
from kabc.core.errors import ArmError, SettingsError

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


def open_files(patterns: list[str], as_text: str | None = None) -> Rows:
    """The rows of files. In a text file, the column `as_text` is read exactly as it is written."""
    files = [file for pattern in patterns for file in _matching(pattern)]
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise SettingsError(
            f"files of different formats ({', '.join(sorted(formats))}) are not one table; pass files of one format"
        )
    (form,) = formats
    if form == ".json":
        for file in files:
            refuse_saved_answer(file)
    name = patterns[0] if len(patterns) == 1 else f"{patterns[0]} and {len(patterns) - 1} more"
    workspace = Workspace(files)
    with readable(name):
        if form in _ARROW:
            return _copied_arrow(workspace, files, name)
        listed = _listed(files)
        relation = _READERS[form].format(files=listed)
        check_names(_names_as_written(workspace, form, files[0]), name)
        if form == ".parquet":
            return parquet_rows(workspace, files, name)
        if as_text is not None and form in (".csv", ".tsv"):
            relation = _csv_with_text(workspace, form, listed, as_text)
        workspace.rows(f"CREATE TABLE source AS SELECT * FROM {relation}")
        if as_text is not None and form in _JSON:
            _json_as_text(workspace, listed, as_text)
        return Rows.of_table(workspace, "source", name)


def _listed(files: list[str]) -> str:
    # escaped, because DuckDB would read a bracket in a path as a pattern
    return "[" + ", ".join(literal(glob.escape(file)) for file in files) + "]"


def parquet_rows(workspace: Workspace, files: list[str], name: str) -> Rows:
    """The rows of Parquet files, which stay where they are."""
    relation = _READERS[".parquet"].format(files=_listed(files))
    types = column_types(workspace, relation)
    del types["file_row_number"]
    if len(files) == 1:
        return Rows(workspace, relation, "file_row_number", types, name)
    key = f"file_index::BIGINT * {FILE_ROWS} + file_row_number"
    return Rows(workspace, relation, key, types, name, file="file_index")


def parquet_files(patterns: list[str]) -> list[str] | None:
    """The files that patterns stand for, if all of them are Parquet files."""
    files = [file for pattern in patterns for file in _matching(pattern)]
    return files if {_format(file) for file in files} == {".parquet"} else None


def _csv_with_text(workspace: Workspace, form: str, listed: str, column: str) -> str:
    """The CSV reader that reads one column as text. As numbers, 1.1 and 1.10 would be the same name."""
    names_only = _READERS[form].replace("sample_size=-1", "all_varchar=true").format(files=listed)
    relation = _READERS[form].format(files=listed)
    if column not in column_types(workspace, names_only):
        return relation
    return f"{relation.removesuffix(')')}, types={{{literal(column)}: 'VARCHAR'}})"


def _json_as_text(workspace: Workspace, listed: str, column: str) -> None:
    """Replace one column of `source` by its text in the JSON files. The other columns keep the types that were guessed.

    The files are read a second time and joined by row number: where the type of one column is given, DuckDB guesses no
    other type.
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
    # not Path.glob: patterns may be absolute and recursive
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
        f"cannot tell the format of {file!r} from its ending {Path(file).suffix!r}; use one of "
        f"{', '.join([*_READERS, *_ARROW])} (text formats also with .gz), or pass a data frame"
    )


def _names_as_written(workspace: Workspace, form: str, file: str) -> list[str]:
    """Names of the columns as they are in the file. DuckDB would rename repeated ones."""
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
    """A reader of the batches of an Arrow file or stream. Each is checked: a damaged one would crash DuckDB."""
    try:
        file = pyarrow.ipc.open_file(memory)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    except pyarrow.ArrowInvalid:
        memory.seek(0)
        file = batches = pyarrow.ipc.open_stream(memory)
    return pyarrow.RecordBatchReader.from_batches(file.schema, map(_sound, batches))


def _sound(batch: Any) -> Any:
    batch.validate(full=True)
    return batch
