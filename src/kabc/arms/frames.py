"""Tables in data frames of any library. They are copied once, because a frame may change later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kabc.arms.rows import Rows, check_names
from kabc.arms.workspace import Workspace, first_line, library, readable
from kabc.core.errors import ArmError, SettingsError
from kabc.core.samples import describe


def open_frame(source: Any, needed: Sequence[str] | None = None) -> Rows:
    """The rows of a data frame. Of a lazy one only the columns in `needed` are computed, None: all of them."""
    nw = library("narwhals")
    try:
        frame = nw.from_native(source)
        check_names(frame.collect_schema().names(), "the frame")
    except nw.exceptions.DuplicateError as error:
        raise SettingsError(f"the frame has columns of the same name ({first_line(error)}); rename them") from None
    except TypeError:
        raise SettingsError(
            f"cannot read a table from {describe(source)} ({type(source).__name__}); "
            "pass the path of a file, a pandas or polars frame, or an Arrow table"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame, needed)
    if frame.implementation.is_pandas():
        for column, kind in frame.to_native().dtypes.items():
            if str(kind).startswith("period"):
                raise SettingsError(
                    f"column {column!r} holds periods ({kind}), which cannot be read here; make it text, with "
                    f"df[{column!r}] = df[{column!r}].astype(str)"
                )
    if not len(frame.columns):
        raise SettingsError("the frame has no columns; pass one with a column for the arm and columns of values")
    empty = [name for name, kind in frame.schema.items() if kind == nw.Unknown and frame[name].is_null().all()]
    frame = frame.with_columns(
        nw.col(name).cast(nw.Float64) for name in empty
    )  # DuckDB cannot read the type Null of polars
    workspace = Workspace()
    with readable("the frame"):
        # DuckDB reads pandas itself, and every other frame through the Arrow interface of narwhals
        workspace.connection.register("frame", frame.to_native() if frame.implementation.is_pandas() else frame)
        workspace.rows("CREATE TABLE source AS SELECT * FROM frame")
        workspace.connection.unregister("frame")
        return Rows.of_table(workspace, "source", "the frame")


def _collected(frame: Any, needed: Sequence[str] | None) -> Any:
    known = frame.collect_schema().names()
    # a name that is not there is refused later, with the names that are
    columns = known if needed is None or not set(needed) <= set(known) else [name for name in known if name in needed]
    try:
        return frame.select(columns).collect()
    except Exception as error:  # a file that is gone, a wrong expression: each library has errors of its own
        raise ArmError(f"the lazy frame cannot be collected: {first_line(error)}; collect it to see where") from error
