"""What notebooks show of a result: the same claim as the text, escaped, and short for many arms."""

from __future__ import annotations

import dataclasses
import re
from xml.etree import ElementTree

import pytest

from kabc import Result
from kabc.results import words
from kabc.results.values import Assumption
from tests.results.examples import EXAMPLES, answer, example, renamed


def read(result: Result) -> str:
    """The text of the page, which is well-formed and asks for nothing from elsewhere."""
    page = result._repr_html_()
    assert not re.search(r"<script|<link|<img|src=|href=|url\(|class=", page)
    return " ".join("".join(f"{part} " for part in ElementTree.fromstring(page).itertext()).split())


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_claims_what_the_text_claims(name: str) -> None:
    result = example(name)
    shown = read(result)
    assert shown.startswith(words.headline(result))
    assert all(line in shown for line in words.certified_lines(result))
    assert ("(guess)" in shown) == bool(result.groups and not result.certified)
    if len(result.names) < 10:
        assert all(words.one_line(name) in shown for name in result.names)


def test_hostile_names_are_escaped() -> None:
    given = renamed(example("bets"), ["<b onclick=x>", "two\nlines\x1b[2J", "&amp;"])
    shown = read(dataclasses.replace(given, notes=("<script>alert(1)</script>",)))
    assert "<b onclick=x>" in shown and r"two\nlines\x1b[2J" in shown and "&amp;" in shown
    assert "<script>alert(1)</script>" in shown
    assert "<b onclick" not in given._repr_html_()


def test_doubts_and_arms_set_aside_are_in_sight() -> None:
    result = dataclasses.replace(
        answer("ab|c", decided=False),
        assumptions=(Assumption("a", "later samples differ from earlier ones", 400.0),),
        failure="arm 'c': the line is dead",
    )
    page = result._repr_html_()
    seen = page.split("<details")[0]
    assert "doubt: a: later samples differ from earlier ones (evidence 400 : 1)" in seen
    assert "failure: arm &#x27;c&#x27;: the line is dead" in seen


def test_many_arms_are_cut_and_the_odd_one_comes_first() -> None:
    shown = read(example("many arms"))
    assert shown.index(" 7 ") < shown.index(" 0 ")
    assert "and 29 more" in shown
    assert len(example("many arms")._repr_html_()) < 10_000


def test_ipython_prints_the_text() -> None:
    class Printer:
        def text(self, words: str) -> None:
            self.printed = words

    printer, result = Printer(), example("bets")
    result._repr_pretty_(printer, False)
    assert printer.printed == str(result)
