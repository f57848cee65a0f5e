"""Runs cells in a real notebook kernel."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

Outputs = list[dict[str, Any]]  # of one cell


def executed(*cells: str) -> list[Outputs]:
    """What each cell shows. An error of a cell is an error here."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries of notebooks, which are not under test
        client = NotebookClient(notebook, timeout=240, kernel_name="python3")
        asyncio.run(client.async_execute())
    return [[dict(output) for output in cell.outputs] for cell in notebook.cells]


def printed(outputs: Outputs, stream: str = "stdout") -> str:
    """The text of a stream."""
    return "".join(output["text"] for output in outputs if output.get("name") == stream)


def displayed(outputs: Outputs) -> list[dict[str, Any]]:
    """What was displayed, by type: text/plain, text/html, ..."""
    return [dict(output["data"]) for output in outputs if "data" in output]
