"""What all pictures are made of: elements, texts, colours, numbers and axes.

A unit of length is about a pixel of a narrow screen. A picture is 360 units wide, or more if its arms need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from kabc.report.nodes import plain, shorten

WIDTH = 360.0
N_GROUP_COLOURS = 8
LETTER = 6.0  # mean width of a letter at the usual font size


class Canvas:
    """Collects SVG elements. Texts and attributes are escaped only here."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def add(self, tag: str, css: str = "", text: str = "", tip: str = "", **attributes: float | str) -> None:
        """One element with its class, its text, and the tip shown when the reader points at it."""
        given = {"class": css, **{name.strip("_").replace("_", "-"): value for name, value in attributes.items()}}
        inside = (f"<title>{clean(tip)}</title>" if tip else "") + clean(text)
        marks = "".join(f' {name}="{written(value)}"' for name, value in given.items() if value != "")
        self._parts.append(f"<{tag}{marks}>{inside}</{tag}>" if inside else f"<{tag}{marks}/>")

    def text(self, x: float, y: float, text: str, css: str = "t", anchor: str = "start", tip: str = "") -> None:
        """A text that starts at a point, is centred on it, or ends there."""
        self.add("text", css, text, tip, x=x, y=y, text_anchor="" if anchor == "start" else anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        self.add("line", css, x1=x1, y1=y1, x2=x2, y2=y2)

    def picture(self, label: str) -> str:
        """The whole picture. Screen readers read `label` aloud."""
        size = f"{written(self.width)} {written(self.height)}"
        wide = ' class="wide"' if self.width > WIDTH else ""
        head = f'<svg{wide} role="img" aria-label="{clean(label)}" width="{written(self.width)}" viewBox="0 0 {size}">'
        return head + "".join(self._parts) + "</svg>"


def clean(text: str) -> str:
    """A text on one line, escaped for elements and quoted attributes."""
    return escape(plain(text))


def written(value: float | str) -> str:
    """The value of an attribute, escaped."""
    return clean(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def fitting(names: Sequence[str], width: float) -> list[str]:
    """Names that are short enough for a width."""
    return shorten(names, max(int(width / LETTER), 3))


def room_for(names: Sequence[str], most: float) -> float:
    """The width that names need, up to a limit."""
    return min(max(len(name) for name in names) * LETTER + 10, most)


def colour_of(group: int) -> str:
    """The class of a group's colour. Colours repeat; the number beside a colour is unique."""
    return f"g{group % N_GROUP_COLOURS}"


def stroke_of(group: int) -> str:
    """The class of a line in a group's colour."""
    return f"s{group % N_GROUP_COLOURS}"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """A limited number of round numbers within a range."""
    rough = max((high / 2 - low / 2) / most * 2, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [tick * step for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]


def number(value: float) -> str:
    """A number in an easily readable form."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:.3g}"
