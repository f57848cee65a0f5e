"""Parts of the page that several sections use. What goes in is escaped already, but for names and summaries."""

from __future__ import annotations

from collections.abc import Container, Sequence

from kabc.report.svg.canvas import clean, colour_of

Row = Sequence[str | None]  # cells


def name(text: str) -> str:
    """A name, kept from mixing its direction of writing with that of the page."""
    return f"<bdi>{clean(text)}</bdi>"


def details(summary: str, inside: str, short: bool = False) -> str:
    """What opens when it is asked for."""
    return f"<details{' class=short' if short else ''}><summary>{clean(summary)}</summary>{inside}</details>"


def bullets(texts: Sequence[str]) -> str:
    """A list of texts."""
    return f"<ul>{''.join(f'<li>{clean(text)}</li>' for text in texts)}</ul>"


def table(heads: Sequence[str], rows: Sequence[Row], numeric: Container[int] = (), label: str = "") -> str:
    """A table of cells that are escaped already. The first cell names its row. `label` is for screen readers."""
    head = "".join(f'<th scope="col"{_mark(place, numeric)}>{cell}</th>' for place, cell in enumerate(heads))
    body = "".join(f"<tr>{row_of(row, numeric)}</tr>" for row in rows)
    return scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", label)


def row_of(cells: Row, numeric: Container[int]) -> str:
    """The cells of a row. None belongs to the cell before it."""
    parts = [f'<th scope="row"{_mark(0, numeric)}>{cells[0]}</th>']
    for place, cell in enumerate(cells[1:], 1):
        if cell is None:
            continue
        width = next((more for more, one in enumerate(cells[place + 1 :]) if one is not None), 0)
        mark = f' colspan="{width + 1}"' if width else _mark(place, numeric)
        parts.append(f"<td{mark}>{cell}</td>")
    return "".join(parts)


def _mark(place: int, numeric: Container[int]) -> str:
    return " class=n" if place in numeric else ""


def scrolling(inside: str, label: str = "") -> str:
    """What may be larger than its frame. The keyboard reaches it, to scroll."""
    spoken = f' role="region" aria-label="{clean(label)}"' if label else ""
    return f'<div class="scroll tall" tabindex="0"{spoken}>{inside}</div>'


def badge(group: int) -> str:
    """The number of a group in its colour."""
    text = f'<text class="in node-ink" x="10" y="13.2" text-anchor="middle">{group + 1}</text>'
    mark = f'<circle class="{colour_of(group)}" cx="10" cy="10" r="10"/>{text}'
    return f'<svg class="badge" width="22" height="22" viewBox="0 0 20 20" aria-hidden="true">{mark}</svg>'
