"""The whole report in one file: the answer, groups with effects, pictures, what is certified, settings.

It needs no network and no other file. Pictures are SVG. One small script sorts and searches the table of arms; the page
reads as well without it. The security policy forbids everything else.
"""

from __future__ import annotations

import base64
import hashlib
import os

from kabc.core.files import write_text
from kabc.report.page.answer import answer_section
from kabc.report.page.arms_table import arms_section
from kabc.report.page.closing import certificate_section, settings_section
from kabc.report.page.figures import odd_section, pictures_section, values_section
from kabc.report.page.groups import effects_section, groups_section
from kabc.report.page.head import origin_section, title_of
from kabc.report.page.script import SCRIPT
from kabc.report.page.verdicts import verdicts_section
from kabc.report.style import STYLE
from kabc.report.svg import clean
from kabc.results.values import Result


def write_report(result: Result, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Write the report of a result to one HTML file that opens offline. If writing fails, no partial file is left."""
    write_text(path, report_html(result, title))


def report_html(result: Result, title: str | None = None) -> str:
    """The report of a result as one HTML text. The same result always gives the same text."""
    heading = clean(title or title_of(result))
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<link rel="icon" href="data:,">\n',  # without it, browsers ask the server for an icon
            f"<title>{heading}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
            f"<header><h1>{heading}</h1>\n{origin_section(result)}</header>\n<main>\n",
            answer_section(result),
            groups_section(result),
            verdicts_section(result),
            odd_section(result),
            effects_section(result),
            values_section(result),
            arms_section(result),
            pictures_section(result),
            certificate_section(result),
            settings_section(result),
            f'</main>\n<footer class="soft">Written by kabc {_version()}. This file loads nothing from anywhere.',
            f"</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _policy() -> str:
    style, script = (_digest(text) for text in (STYLE, SCRIPT))
    return (
        f"default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _version() -> str:
    from kabc import __version__

    return __version__
