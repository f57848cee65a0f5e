"""Parts of the page that several sections use. What goes in is escaped already, but for names and summaries."""

from __future__ import annotations

from collections.abc import Sequence

from kabc.report.svg import clean


def name(text: str) -> str:
    """A name, kept from mixing its direction of writing with that of the page."""
    return f"<bdi>{clean(text)}</bdi>"


def details(summary: str, inside: str, short: bool = False) -> str:
    """What opens when it is asked for."""
    return f"<details{' class=short' if short else ''}><summary>{clean(summary)}</summary>{inside}</details>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A table of cells that are escaped already."""

    def line(tag: str, cells: Sequence[str]) -> str:
        marks = [" class=n" if place in numeric else "" for place in range(len(cells))]
        inside = "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, cells, strict=True))
        return f"<tr>{inside}</tr>"

    body = "".join(line("td", row) for row in rows)
    whole = f"<table><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll tall" tabindex="0">{whole}</div>'
