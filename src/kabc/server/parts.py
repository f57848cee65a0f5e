"""Parts of the report, as the page shows them: one code draws both. They hold no script, and no style of their own."""

from __future__ import annotations

from collections.abc import Callable

from kabc.report.page.answer import answer_section
from kabc.report.page.closing import certificate_section, settings_section
from kabc.report.page.figures import pairs_section, pictures_section, values_section
from kabc.report.page.groups import effects_section, groups_section
from kabc.report.page.verdicts import verdicts_section
from kabc.results.values import Result
from kabc.server.models.answers import PartName, ReportPart

_SECTIONS: dict[PartName, Callable[[Result], str]] = {
    "answer": answer_section,
    "groups": groups_section,
    "verdicts": verdicts_section,
    "effects": effects_section,
    "values": values_section,
    "pairs": pairs_section,
    "pictures": lambda result: pictures_section(result, pairs=False),
    "certificate": certificate_section,
    "settings": settings_section,
}


def part(result: Result, revision: int, name: PartName) -> ReportPart:
    """A section of the report. Texts from the data are escaped in it."""
    return ReportPart(revision=revision, html=_SECTIONS[name](result))
