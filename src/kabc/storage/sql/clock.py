"""The clock of a store in SQL: one expression, so that a statement is the same for every database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Now(FunctionElement[float]):
    """Seconds since the epoch, by the clock of the database."""

    type = Float()
    inherit_cache = True


@compiles(Now, "sqlite")
def _in_sqlite(element: Now, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Now, "postgresql")
def _in_postgres(element: Now, compiler: Any, **options: Any) -> str:
    return "extract(epoch from clock_timestamp())::float8"


NOW = Now()
