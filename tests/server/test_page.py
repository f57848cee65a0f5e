"""The page in a real browser, with a real server and a real worker."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kabc.results import words
from kabc.running.studies import stored_answer
from kabc.server.access import new_token
from tests.processes import running
from tests.report.browser import BROWSER
from tests.server.page import AXE, PATIENCE, Page
from tests.server.paged import MARKED, N_FLEET, make_studies
from tests.server.served import Served, serving

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here to open the page with")

ENDED, LIVE, FLEET, MARKUP, STEERED, AGAIN = range(1, 7)
ODD = "node-0191.eu-west.example.net"
SHOWN = "document.querySelector('.card') && document.querySelector('.list-row a')"  # a study with its groups and arms


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    with serving(folder, place=make_studies(folder)) as found:
        yield found


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Page]:
    """Somebody who opened the printed address."""
    with Page() as page:
        page.visit(served.url, "document.querySelector('tbody tr')")
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.resize(1280)
    browser.complaints.clear()
    yield browser
    assert browser.complaints == []


def at(served: Served, view: str) -> str:
    return f"{served.address}/#/{view}"


def test_the_printed_address_leaves_no_token_behind_and_the_list_is_searched(served: Served, page: Page) -> None:
    page.visit(at(served, ""), "document.querySelectorAll('tbody tr').length === 6")
    assert served.token is not None
    assert served.token not in page.value("location.href + document.cookie + document.documentElement.outerHTML")
    assert MARKED in page.text("tbody")  # a text, no element
    assert page.value("document.querySelectorAll('main img').length") == 0
    page.type("#search", "fleet ended")
    page.until("document.querySelectorAll('tbody tr').length === 1")
    page.says("3,000", "ended: decided", "1 match of 6", "6, certified")


def test_who_has_no_token_is_asked_for_one(served: Served) -> None:
    with Page() as page:
        page.visit(at(served, f"study/{ENDED}"), "document.querySelector('#token')")
        page.type("#token", "wrong")
        page.press("Enter")
        page.says("The token does not begin with kabc_")
        page.type("#token", new_token())
        page.press("Enter")
        page.says("The token is wrong, revoked or expired")
        page.type("#token", served.new_token("read"))
        page.press("Enter")
        page.until(SHOWN)  # the view of the address
        assert "Delete" not in page.text()  # who reads does not steer
        page.click("Sign out")
        page.until("document.querySelector('#token')")
        assert "group" not in page.text("main").lower()


def test_a_new_token_in_one_tab_opens_the_others(served: Served) -> None:
    with Page() as page:
        page.visit(at(served, f"study/{ENDED}"), "document.querySelector('#token')")
        before = page.new_tab(at(served, ""))
        page.until("document.querySelector('#token')")
        page.visit(served.url, "document.querySelector('tbody tr')")  # the printed address
        page.close_tab(before)
        page.until(SHOWN)


def test_a_study_shows_what_changed_since_the_last_run_of_its_name(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{AGAIN}"), "document.querySelector('#changes')")
    page.says("Changes since ended", "1 of 4 arms changed group", "b (certified)", selector="#changes")
    page.click("Changes", ".tabs")
    page.value("document.querySelector('#changes a').click()")
    page.until("document.querySelector('h1').innerText === 'ended'")
    page.until(SHOWN)
    assert page.value("document.querySelector('#changes')") is None  # there is no run before it


def test_a_study_shows_what_the_report_says_of_it(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{ENDED}"), SHOWN)
    result = stored_answer(served.storage.load_study("ended"))
    said = words.headline(result)
    page.says(said[1:].removesuffix("."), selector="#answer .part.answer .verdict")  # what is seen, not only spoken
    cards = page.value("[...document.querySelectorAll('.card')].map(c => c.innerText)")
    sizes = sorted(len(group) for group in result.groups)
    assert [int(one.split(": ")[1].split(" arm")[0]) for one in cards] == sizes
    for section in ("Pictures", "Certificate"):
        page.click(section, ".tabs")
    page.says("Map of the arms", "What is certified", "Settings")
    page.click("Pairs", ".tabs")


def test_the_keyboard_chooses_a_pair_and_opens_it_by_its_own_address(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{ENDED}"), SHOWN)
    page.until("document.querySelector('canvas').getAttribute('aria-label').includes('4 of 6 different')")
    page.value("document.querySelector('canvas').focus()")
    page.press("ArrowRight")
    page.says("a (8 samples) and b (8 samples): open", selector="#pair-said")
    page.press("ArrowRight")
    page.says("a (8 samples) and c (8 samples): different; evidence", selector="#pair-said")
    page.press("Enter")
    page.until(
        "document.querySelector('h1').innerText === 'a and c' && document.querySelectorAll('figure svg').length === 2"
    )
    assert page.value("location.hash") == f"#/study/{ENDED}/pair/a/c"
    page.says("Different, if there are exactly 2 groups", "first told apart in round")
    page.visit(at(served, f"study/{ENDED}/arm/d"), "document.querySelectorAll('tbody tr').length === 4")
    page.says("Group", "compare")


def test_a_worker_is_seen_at_work_and_its_samples_as_they_come(served: Served, page: Page, tmp_path: Path) -> None:
    page.visit(at(served, f"study/{LIVE}"), "document.querySelector('h1').innerText === 'live'")
    page.says("No answer yet", "Nobody has drawn")
    before = page.new_tab(at(served, f"study/{LIVE}"))
    page.until("document.querySelector('.line.live').dataset.tabs === '2'")  # one stream for both
    command = [sys.executable, "-m", "tests.running.crew", served.address, "--study", "live", "--waits", tmp_path]
    token = served.new_token("tell")
    with running(command, env=os.environ | {"KABC_TOKEN": token}, cwd=Path(__file__).parents[2]) as worker:
        page.until("document.querySelector('#workers').innerText.includes('here')")
        page.until("/[1-9] leased/.test(document.querySelector('#workers').innerText)")
        (tmp_path / "go").touch()
        page.says("ended: decided", "2 groups, wrong with probability at most 5 %")
        assert worker.wait(PATIENCE) == 0
    page.close_tab(before)
    page.says("ended: decided")  # the other tab heard it too
    assert f"{served.storage.summary(LIVE).n_samples}" in page.text(".facts")


def test_three_thousand_arms_are_a_list_of_a_few_rows(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{FLEET}"), "document.querySelector('.list-row a')")
    page.says("3,000 arms")
    assert page.value("document.querySelectorAll('*').length") < 5_000
    assert page.value("document.querySelectorAll('.list-row').length") < 60
    page.value("document.querySelector('.list').scrollTo(0, 1e9)")
    page.until(f"document.querySelector('.list-row:last-child[aria-rowindex=\"{N_FLEET + 1}\"] a')")
    page.type("#arms-search", "node-0191")
    page.until("document.querySelectorAll('.list-body .list-row').length === 1")
    page.says("node-0191.eu-west.example.net", selector=".list-body")
    assert (
        page.value("Math.max(...[...document.querySelectorAll('svg')].map(s => s.querySelectorAll('*').length))")
        < 5_000
    )


def test_on_paper_the_first_hundred_arms_stand_below_each_other_and_nothing_to_press(
    served: Served, page: Page
) -> None:
    page.visit(at(served, f"study/{FLEET}"), SHOWN)
    page.paper(True)
    try:
        page.until("document.querySelectorAll('.list-body .list-row a').length === 100")
        page.says("The first 100 of 3,000 arms")
        frame = "document.querySelector('.list')"
        page.until(f"{frame}.clientHeight === {frame}.scrollHeight")  # nothing is cut off
        for hidden in (".bar", ".tabs", ".actions", ".tools"):
            assert page.value(f"getComputedStyle(document.querySelector({hidden!r})).display") == "none"
        page.until("!document.querySelector('.part.waits')")  # also what is far below is there
    finally:
        page.paper(False)
    page.until("document.querySelectorAll('.list-body .list-row').length < 60")


def test_on_a_phone_a_study_of_the_list_is_a_card_with_all_its_figures(served: Served, page: Page) -> None:
    page.visit(at(served, ""), "document.querySelectorAll('tbody tr').length > 3")
    page.resize(360)
    cells = "[...document.querySelectorAll('tbody tr > *')].map(c => c.getBoundingClientRect().right)"
    page.until(f"Math.max(...{cells}) <= 360")
    assert page.value("getComputedStyle(document.querySelector('td:nth-child(4)'), '::before').content") == (
        '"Groups so far"'
    )


def test_nothing_moves_for_those_who_want_it_still(served: Served, page: Page) -> None:
    moves = "getComputedStyle(document.querySelector('.line .dot')).animationName"
    page.visit(at(served, ""), "document.querySelector('.line .dot')")
    page.value("document.querySelector('.line').className = 'line stale'")
    assert page.value(moves) == "waiting"
    page.resize(1280, still=True)
    assert page.value(moves) == "none"


def test_a_silent_server_is_said_to_be_stale_until_it_is_back(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{STEERED}"), "document.querySelector('.line.live')")
    served.process.send_signal(signal.SIGSTOP)
    try:
        page.says("stale: nothing heard since", selector=".line")
    finally:
        served.process.send_signal(signal.SIGCONT)
    page.until("document.querySelector('.line.live')")
    page.visit("about:blank", "true")
    page.complaints.clear()  # loads that failed meanwhile


def test_who_steers_pauses_resumes_raises_and_deletes_with_the_name_typed(served: Served, page: Page) -> None:
    page.visit(at(served, f"study/{STEERED}"), "document.querySelector('h1').innerText === 'steered'")
    page.click("Pause")
    page.click("Resume")
    page.click("Raise budget …")
    page.type("#most", "777")
    page.click("Raise it", "dialog")
    page.says("0 of 777", selector=".facts")
    assert served.storage.load_study("steered").limits["max_samples"] == 777
    page.says("limits", "paused", "running", selector="#events")
    page.click("Stop …")
    page.until("document.activeElement.innerText === 'Cancel'")  # the safe one
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.click("Delete …")
    page.until("document.activeElement.id === 'typed'")
    page.type("#typed", "steere")
    assert page.value("document.querySelector('dialog button.grave').disabled")
    page.type("#typed", "steered")
    page.click("Delete it", "dialog")
    page.until("document.querySelector('h1').innerText === 'Studies'")
    assert "steered" not in served.storage.study_names()
    # a question that was under way when the study went is answered by "not found"
    page.visit("about:blank", "true")
    gone = re.compile(rf"404.*/studies/{STEERED}\b")
    page.complaints[:] = [one for one in page.complaints if not gone.search(one)]


VIEWS = ["", f"study/{AGAIN}", f"study/{ENDED}/pair/a/c", f"study/{ENDED}/arm/a", f"study/{FLEET}/arm/{ODD}"]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_its_window_and_has_names_for_what_it_shows(served: Served, page: Page, view: str) -> None:
    page.visit(
        at(served, view),
        "document.querySelector('h1') && (document.querySelector('tbody tr') || document.querySelector('figure svg'))",
    )
    for width in (360, 1280, 2560):
        page.resize(width)
        page.until(f"document.documentElement.scrollWidth <= {width}")
    assert page.value("document.querySelectorAll('h1').length") == 1
    assert page.value("document.querySelectorAll('main').length") == 1
    if not AXE.exists():
        pytest.skip("no axe-core here: npm install --no-save in web/ installs it")
    for dark in (False, True):
        page.resize(1280, dark=dark)
        assert page.violations() == []
