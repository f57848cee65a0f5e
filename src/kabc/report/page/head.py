"""The head of the report: its title, and where the answer comes from."""

from __future__ import annotations

from pathlib import PurePath

from kabc.report.nodes import names_of
from kabc.report.svg import clean
from kabc.results.origin import Origin, day_and_time
from kabc.results.values import Result

_QUESTION = "Which arms are the same?"
_LONGEST = 600  # letters of a source or a command


def title_of(result: Result) -> str:
    """The title of a report that was given none: the question, with the name of the file if there is one."""
    if result.reference:
        reference, this = names_of(result)
        return f"Is {this} the same as {reference}?"
    source = "" if result.origin is None else result.origin.source
    is_file = bool(PurePath(source).suffix) and not any(sign in source for sign in (" ", ":", "\n"))
    return f"{PurePath(source).name}: which arms are the same?" if is_file else _QUESTION


def origin_section(result: Result) -> str:
    """When, from what and how the answer was found, as far as it is known."""
    origin = result.origin or Origin("")
    rows = {
        "Date": clean(day_and_time(origin.date)),
        "Source": clean(_cut(origin.source)),
        "Command": f"<code>{clean(_cut(origin.command))}</code>" if origin.command else "",
        "Version": clean(f"kabc {origin.version}" if origin.version else ""),
        "Seed": str(result.seed),
    }
    items = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in rows.items() if text)
    return f'<dl class="origin">{items}</dl>\n'


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
