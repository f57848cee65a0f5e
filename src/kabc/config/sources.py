"""From settings to arms."""

from __future__ import annotations

import glob
import warnings
from typing import Literal

from kabc.arms.base import NamedArms
from kabc.config.models import Commands, Config, Http, Sql, Table, Timings


def open_arms(config: Config, seed: int, *, with_kernel: bool) -> NamedArms:
    """The arms of the one source. `with_kernel`: text will be compared by a kernel, not by bets."""
    match config.source:
        case Table() as table:
            return _table(table, seed, with_kernel)
        case Sql() as sql:
            return _sql(sql, seed, with_kernel)
        case Timings() as timings:
            from kabc.arms.timings import timing_arms

            return timing_arms(timings.path, seed)
        case Commands() as commands:
            from kabc.arms.commands import command_arms

            return command_arms(commands.run, **commands.model_dump(exclude={"run"}))
        case Http() as http:
            from kabc.arms.http import http_arms

            endpoints = {name: one.model_dump() for name, one in http.endpoints.items()}
            text = _text(with_kernel)
            with warnings.catch_warnings():  # what they say is a note of the answer
                warnings.simplefilter("ignore", UserWarning)
                return http_arms(endpoints, text=text, **http.model_dump(exclude={"endpoints"}))
    raise AssertionError("a config without a source is refused earlier")


def opening(config: Config) -> str:
    """What takes long when arms are opened."""
    match config.source:
        case Table() as table:
            return f"reading {table.path if isinstance(table.path, str) else ', '.join(table.path)}"
        case Sql():
            return "running the query"
        case Timings() as timings:
            return f"reading {timings.path}"
    return "opening the arms"


def input_files(config: Config) -> list[str]:
    """Files that are read while arms are opened or drawn."""
    match config.source:
        case Table() as table:
            patterns = [table.path] if isinstance(table.path, str) else table.path
            # not Path.glob: patterns may start at a root
            matching = (file for pattern in patterns for file in glob.glob(pattern, recursive=True))  # noqa: PTH207
            return [*patterns, *matching]
        case Timings() as timings:
            return [timings.path]
        case Http() as http:
            return [http.prompts] if isinstance(http.prompts, str) else []
        case Sql() as sql:
            from kabc.arms.sql import database_file

            file = database_file(sql.database)
            return [] if file is None else [file]
    return []


def _table(table: Table, seed: int, with_kernel: bool) -> NamedArms:
    from kabc.arms.tables import table_arms

    return table_arms(
        table.path,
        arm=table.arm,
        values=table.values,
        wide=table.wide,
        types=table.types or None,
        missing=table.missing,
        text=_text(with_kernel),
        seed=seed,
        order=table.order,
        where=table.where,
    )


def _sql(sql: Sql, seed: int, with_kernel: bool) -> NamedArms:
    from kabc.arms.sql import sql_arms

    return sql_arms(
        sql.query,
        sql.database,
        arm=sql.arm,
        values=sql.values,
        types=sql.types or None,
        missing=sql.missing,
        text=_text(with_kernel),
        seed=seed,
        order=sql.order,
    )


def _text(with_kernel: bool) -> Literal["characters", "features"]:
    return "characters" if with_kernel else "features"
