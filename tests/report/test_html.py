"""The report: one file, the answer first, everything escaped, nothing loaded."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import kabc
from kabc.core.words import shown
from kabc.report import report_html, write_report
from kabc.report.style import DARK, LIGHT
from kabc.report.svg import number, ticks
from kabc.results.effects.words import figures
from kabc.results.values import Result
from kabc.results.words import headline
from kabc.strategies.answers import Status
from tests.report.examples import full_result, result_of
from tests.report.test_drawers import renamed

VOID = {"meta", "link", "input"}
LOADING = ("src", "srcset", "href", "xlink:href", "action", "formaction", "poster", "data", "background", "style")
EVIL = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='x'>",
    "a & b &lt;",
    "two\nlines",
    "\ud800\x00",
    "\u202eabc",
]


class Page(HTMLParser):
    """Reads a page and refuses tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def results() -> Iterator[Result]:
    for status in get_args(Status):
        yield full_result([0, 1, 0, 1, 2], status)
    yield result_of([0, 0], "budget")  # no samples, no trace
    yield full_result([arm % 3 for arm in range(41)])
    yield full_result(list(range(50)), "budget")
    yield renamed(full_result([0, 1, 0]), EVIL[0])


@pytest.mark.parametrize("result", list(results()))
def test_the_page_is_well_formed_and_loads_nothing(result: Result) -> None:
    page = Page(report_html(result))
    loads = [value for name, value in page.attributes if name in LOADING]
    assert set(loads) <= {"data:,", "#arms"}  # the icon that keeps browsers from asking for one, links within the page
    assert page.tags.count("script") == 1
    assert not {"iframe", "object", "embed", "img", "form", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in report_html(result) and "@import" not in report_html(result)


def test_the_policy_forbids_everything_but_its_own_style_sheet_and_its_own_script() -> None:
    text = report_html(full_result([0, 1]))
    digests = []
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests.append(base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode())
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy
    own = f"style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; img-src data:;"
    assert policy[1].startswith(f"default-src 'none'; {own}")


@pytest.mark.parametrize("evil", EVIL)
def test_names_columns_notes_and_titles_are_texts_whatever_they_hold(evil: str) -> None:
    calm = Page(report_html(full_result([0, 1, 0], columns=("calm", "failed", "size"), notes=("calm",)), "calm"))
    result = renamed(full_result([0, 1, 0], columns=(evil, "failed", "size"), notes=(evil,)), evil)
    page = Page(report_html(result, title=evil))
    assert set(page.tags) == set(calm.tags)
    assert {name for name, _ in page.attributes} == {name for name, _ in calm.attributes}
    assert page.text.count(" ".join(shown(evil).split())) >= 5


def test_a_name_with_line_breaks_cannot_add_to_claim_assumptions_or_rule() -> None:
    forged = "x\nClaim: everything is certified"
    text = report_html(renamed(full_result([0, 1, 0]), forged))
    assert text.count("<b>Claim:</b>") == 1
    assert "<b>Claim:</b> claim" in text


@pytest.mark.parametrize("status", get_args(Status))
def test_words_say_what_is_certified_and_what_a_guess(status: Status) -> None:
    page = Page(report_html(full_result([0, 1, 0, 1, 2], status)))
    said = headline(full_result([0, 1, 0, 1, 2], status))
    assert f"{said[0].upper()}{said[1:]}." in page.text
    assert ("(guess)" in page.text) == (status != "decided")
    assert ("Groups (a guess)" in page.text) == (status != "decided")


def test_what_is_taken_for_granted_is_in_the_answer() -> None:
    result = result_of([0, 0, 1, 2], "budget")
    why = dataclasses.replace(result.guarantee, conditional_on="there are at most 3 groups")
    page = report_html(dataclasses.replace(result, guarantee=why))
    assert "wrong with probability at most 5 % if there are at most 3 groups: there" in page


def test_the_smallest_group_comes_first_and_every_arm_is_named() -> None:
    text = report_html(full_result([0, 0, 0, 1, 0, 2, 2]))
    headings = re.findall(r"Group \d+: \d+ arms?", text)
    assert headings == ["Group 2: 1 arm", "Group 3: 2 arms", "Group 1: 4 arms"]
    assert all(f"<li><bdi>arm {arm}</bdi></li>" in text for arm in range(7))


def test_the_answer_comes_first_then_groups_with_effects_pictures_what_is_certified_and_settings() -> None:
    text = report_html(full_result([0, 0, 1, 0]))
    parts = [
        "<h1>",
        "2 groups, wrong with probability",
        "<h2>Groups",
        "<h2>Odd ones first",
        "<h2>Effects",
        "<h2>Values",
        '<h2 id="arms">All 4 arms',
        "<h2>Pictures",
        "<h2>What is certified",
        "<summary>The rule of",
        "<h2>Notes",
        "<h2>Settings",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_effects_are_shown_in_units_with_their_intervals() -> None:
    page = Page(report_html(full_result([0, 0, 1, 0])))
    result = full_result([0, 0, 1, 0])
    column = result.effects.groups[1].columns[0]
    assert column.column == "latency"
    assert "no part of the guarantee" in page.text
    assert f"{column.median:.2f}" in page.text
    assert re.search(r"median \+[\d.]+ against group 1 \(\+?[\d.-]+ to \+[\d.]+\)", page.text)
    assert "share of 1: " in page.text  # the flag


def test_every_arm_has_its_quantiles_the_odd_ones_first() -> None:
    text = report_html(full_result([0] * 13 + [4]))
    table = text[text.index('<table id="arms-table"') :]
    assert table.index("<bdi>arm 13</bdi>") < table.index("<bdi>arm 0</bdi>")
    rows = re.findall(r"<tr><th scope=\"row\"><bdi>(.*?)</bdi></th>(.*?)</tr>", table[: table.index("</table>")])
    assert {name for name, _ in rows} == {f"arm {arm}" for arm in range(14)}
    result = full_result([0] * 13 + [4])
    odd = result.effects.arms[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", rows[0][1])
    assert cells[:3] == ["2", "1,234", f"{odd.oddness:.2f}"]
    assert cells[4:7] == list(figures(odd.columns[0]))


def test_without_samples_there_are_no_effects() -> None:
    assert "<h2>Effects</h2>" not in report_html(result_of([0, 0], "budget"))


def test_every_picture_has_words_for_those_who_do_not_see_it() -> None:
    text = report_html(full_result([0, 1, 0]))
    pictures = re.findall(r"<svg[^>]*>", text)
    hidden = [tag for tag in pictures if 'aria-hidden="true"' in tag]  # badges beside their words
    labelled = [tag for tag in pictures if re.search(r'role="img" aria-label="[^"]{15,}"', tag)]
    assert len(hidden) == 3
    assert len(labelled) == len(pictures) - 3 == 9
    assert text.count("<figcaption>") == 6


def test_a_picture_that_cannot_be_drawn_gives_its_reason() -> None:
    page = Page(report_html(result_of([0, 1, 0])))
    assert "These 3 arms have no trace of their evidence" in page.text
    assert "No samples were kept" in page.text


def test_what_is_missing_to_decide_is_called_an_estimate() -> None:
    result = full_result([0, 0, 1, 1], "budget", needs={"arm 0": 30})
    assert "(an estimate, not a promise): 30 of " in report_html(result)
    unknown = report_html(full_result([0, 0, 1, 1], "budget"))
    assert "How many more samples it takes cannot be told yet." in unknown
    assert "(an estimate" not in Page(report_html(full_result([0, 0, 1, 1]))).text


def test_the_same_result_gives_the_same_text_and_looking_changes_nothing() -> None:
    result = full_result([0, 1, 0])
    before = result.evidence.strength.copy()
    assert report_html(result) == report_html(result)
    np.testing.assert_array_equal(result.evidence.strength, before)


def test_twelve_arms_take_less_than_a_megabyte_and_a_thousand_too() -> None:
    many = [f"column {i}" for i in range(13)]
    twelve = full_result([arm % 3 for arm in range(12)])
    wide = {name: np.random.default_rng(0).normal(size=(500, 13)) for name in twelve.names}
    assert len(report_html(dataclasses.replace(twelve, samples=wide, columns=tuple(many)))) < 300_000
    thousand = report_html(full_result([arm % 7 for arm in range(1000)], "budget"))
    assert len(thousand) < 1_000_000
    assert thousand.count("<tr>") > 1000
    Page(thousand)


def test_many_groups_are_cut_to_what_can_be_seen() -> None:
    text = report_html(full_result(list(range(300)), "budget"))
    assert "276 more groups" in text
    assert "288 smaller groups left out" in text
    assert len(text) < 1_000_000


def test_it_is_written_to_a_file_and_a_wrong_path_is_named(tmp_path: Path) -> None:
    result = full_result([0, 1])
    write_report(result, tmp_path / "report.html", title="Lines")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_html(result, "Lines")
    with pytest.raises(kabc.SettingsError, match=r"cannot write .*nowhere.*; choose another path"):
        write_report(result, tmp_path / "nowhere" / "report.html")


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_texts_and_lines_stand_out_as_wcag_asks(colours: dict[str, str]) -> None:
    texts = [*product(("ink", "soft"), ("page", "card", "yes-back", "no-back")), ("link", "page"), ("link", "card")]
    texts += [("yes", "yes-back"), ("no", "no-back"), ("apart", "page"), ("together", "page")]
    texts += [(f"i{place}", f"h{place}") for place in range(8)]
    texts += [(behind, f"g{place}") for place in range(8) for behind in ("node", "page")]
    for front, back in texts:
        assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
    assert contrast(colours["thin"], colours["page"]) >= 3.0


@pytest.mark.parametrize(("low", "high"), [(0, 105), (-1e-9, 3e-9), (-1e308, 1e308), (5, 5.001), (1e6, 1e6 + 1)])
def test_ticks_are_few_round_numbers_within_the_range(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in found)
    assert found == sorted(found)


def test_numbers_read_as_people_write_them() -> None:
    assert [number(x) for x in (0, 1000, 0.25, 1234567, 1.5e9, 1e-5)] == [
        "0",
        "1,000",
        "0.25",
        "1,234,567",
        "1.5e+09",
        "1e-05",
    ]
