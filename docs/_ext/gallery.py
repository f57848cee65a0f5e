"""The reports of docs/gallery.md: its commands are run when the site is built, and their reports stand under them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.display import status_iterator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PAGE = "gallery"
ANSWERED = (0, 3, 5, 6)  # exit codes of an answer: decided, undecided, different, doubtful
_PYTHON = [sys.executable]
_PROGRAMS = {"python": _PYTHON, "kabc": [*_PYTHON, "-c", "from kabc.cli import main; raise SystemExit(main())"]}
_EXAMPLES = Path(__file__).parents[2] / "examples"


def commands(page: str) -> Iterator[str]:
    """What the page types, one command after the other."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        lines = block.replace("\\\n", " ").splitlines()
        yield from (line.removeprefix("$ ") for line in lines if line.startswith("$ ") and line != "$ echo $?")


def report_of(command: str) -> str | None:
    """The file that a command writes its report to."""
    words = shlex.split(command)
    return words[words.index("--report") + 1] if "--report" in words else None


def _run(command: str, folder: str) -> None:
    first, *words = shlex.split(command)
    home = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*_PROGRAMS[first], *words], cwd=folder, env=home, capture_output=True, text=True, check=False
    )
    if done.returncode not in ANSWERED:
        raise ExtensionError(f"{PAGE}.md: {command} ended with {done.returncode}: {done.stderr}")


def _make(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    page = (app.srcdir / f"{PAGE}.md").read_text(encoding="utf-8")
    target = app.outdir / "reports"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_EXAMPLES, Path(folder) / "examples")
        todo = list(commands(page))
        for command in status_iterator(todo, "making the gallery... ", length=len(todo)):
            _run(command, folder)
            if report := report_of(command):
                shutil.copy(Path(folder) / report, target)


def _show(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if docname != PAGE or app.builder.format != "html":
        return
    for block in list(doctree.findall(nodes.literal_block)):
        for report in filter(None, map(report_of, commands(f"```console\n{block.astext()}\n```"))):
            link = f'<a href="reports/{report}">the whole report</a>'
            frame = f'<iframe class="report" src="reports/{report}" title="report: {report}" loading="lazy"></iframe>'
            block.parent.insert(block.parent.index(block) + 1, nodes.raw("", f"<p>{link}</p>{frame}", format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _make)
    app.connect("doctree-resolved", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
