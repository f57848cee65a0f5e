"""The workspace: interrupted, tidied up, and loaded only when it is needed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from kabc.arms.tables import table_arms
from kabc.arms.workspace import Workspace, first_line, library, literal, quoted, readable
from kabc.core.errors import ArmError, SettingsError
from tests.arms.written import drawn, frame


def folders(monkeypatch: pytest.MonkeyPatch, where: Path) -> Path:
    """The folder in which temporary folders are made from now on."""
    monkeypatch.setattr(tempfile, "tempdir", str(where))
    return where


def test_the_temporary_folder_goes_with_the_workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    where = folders(monkeypatch, tmp_path)
    workspace = Workspace()
    assert len(list(where.glob("kabc-*/rows.duckdb"))) == 1
    del workspace
    gc.collect()
    assert list(where.iterdir()) == []


def test_nothing_waits_for_a_thread_while_garbage_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[threading.Thread] = []
    workspace = Workspace()
    workspace.rows("SELECT 1")
    monkeypatch.setattr(threading.Thread, "join", lambda thread, timeout=None: waited.append(thread))
    del workspace
    gc.collect()
    assert waited == []


def test_one_arm_keeps_the_workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    where = folders(monkeypatch, tmp_path)
    arms = table_arms(frame(), arm="machine")
    arm = arms["m0"]
    del arms
    gc.collect()
    assert len(drawn(arm)) == 40
    del arm
    gc.collect()
    assert list(where.iterdir()) == []


def test_an_interrupted_query_is_an_interrupt() -> None:
    workspace = Workspace()
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        workspace.rows("SELECT count(*) FROM range(1000000000000) AS t(i) WHERE hash(i) % 7 = 3")
    assert workspace.rows("SELECT 1") == [(1,)]


def test_missing_values_of_a_query_are_none() -> None:
    found = Workspace().arrays("SELECT * FROM (VALUES (1, 'a'), (NULL, NULL)) AS t(x, y)")
    assert {name: column.tolist() for name, column in found.items()} == {"x": [1, None], "y": ["a", None]}


def test_names_and_texts_are_quoted() -> None:
    name, text = 'a "b', "it's"
    ((row),) = Workspace().arrays(f"SELECT {literal(text)} AS {quoted(name)}").items()
    assert (row[0], row[1].tolist()) == (name, [text])


def test_an_error_of_duckdb_is_one_line_about_what_is_read() -> None:
    workspace = Workspace()
    with (
        pytest.raises(ArmError, match=r"^cannot read the table: .*nowhere.*; check that") as caught,
        readable("the table"),
    ):
        workspace.rows("SELECT * FROM nowhere")
    assert "\n" not in str(caught.value)
    assert first_line(ValueError("\n\n  one \n two")) == "one"
    assert first_line(ValueError("")) == "ValueError"


def test_nothing_heavy_is_loaded_before_a_table_is_read() -> None:
    heavy = ["duckdb", "narwhals", "sqlalchemy", "pandas", "pyarrow", "polars"]
    modules = "kabc.arms.tables, kabc.arms.sql, kabc.arms.timings, kabc.arms.values, kabc.testing"
    code = f"import sys, {modules}; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SettingsError, match=r"needs duckdb; pip install 'kabc\[data\]'"):
        Workspace()


def test_the_package_to_install_can_be_named() -> None:
    with pytest.raises(SettingsError, match="reading this table needs no_such_module; pip install that"):
        library("no_such_module", "that")
