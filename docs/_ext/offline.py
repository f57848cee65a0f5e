"""After a build: no page loads anything from a network, and every link inside the site leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_LOADS = re.compile(r"<(?:script|link|img|iframe|source|object)\b[^>]*?\s(?:src|href|data)=\"([^\"]*)\"")
_LINKS = re.compile(r"<a\b[^>]*?\shref=\"([^\"]*)\"")
_FROM_CSS = re.compile(r"(?:url\(|@import\s*)[\"']?((?:https?:)?//[^\"')]*)")


def problems(site: Path) -> Iterator[str]:
    """What a browser would fetch from elsewhere, and links to files or headings that are not there."""
    pages = {page: page.read_text(encoding="utf-8") for page in sorted(site.rglob("*.html"))}
    anchors = {page: set(re.findall(r"\s(?:id|name)=\"([^\"]+)\"", text)) for page, text in pages.items()}
    for page, text in pages.items():
        where = page.relative_to(site)
        for target in _LOADS.findall(text):
            if re.match(r"(?:https?:)?//", target):
                yield f"{where} loads {target}"
        for target in _LINKS.findall(text):
            if not re.match(r"[a-z]+:|//", target) and not _leads(page, target, anchors):
                yield f"{where} links to {target}, which is not there"
    for sheet in sorted(site.rglob("*.css")):
        for target in _FROM_CSS.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)} loads {target}"


def _leads(page: Path, target: str, anchors: dict[Path, set[str]]) -> bool:
    name, _, anchor = unquote(target).partition("#")
    file = (page.parent / name.partition("?")[0]).resolve() if name else page
    if not file.exists():
        return False
    return not anchor or file not in anchors or anchor in anchors[file]


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        found = list(problems(app.outdir.resolve()))
        if found:
            raise ExtensionError("\n".join(found))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
