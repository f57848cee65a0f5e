"""A real browser opens the report: it shows something, and asks the network for nothing."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from kabc.report import write_report
from kabc.results.origin import Origin
from tests.report.browser import BROWSER, Browser
from tests.report.examples import fleet, full_result, within
from tests.report.test_drawers import renamed

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the browser calls home in spite of all this
    "--enable-logging=stderr",  # what the page writes to its console: a broken policy, a failed load
]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here to open the report with")


def opened(page: Path, folder: Path, width: int, *options: str) -> str:
    """What the browser says while it takes a picture; its log of the network is net.json."""
    assert BROWSER is not None
    own = [
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={folder / 'net.json'}",
        f"--window-size={width},900",
    ]
    shot = f"--screenshot={folder / 'shot.png'}"
    command = [BROWSER, *OPTIONS, *own, shot, *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stderr


def requests(folder: Path) -> set[str]:
    """Every address that the page asked for, itself left out; what the browser asks for by itself has no origin."""
    log = json.loads((folder / "net.json").read_text(encoding="utf-8"))
    asked = [event.get("params", {}) for event in log["events"]]
    pages = [
        params for params in asked if "url" in params and params.get("initiator", "not an origin") != "not an origin"
    ]
    return {params["url"] for params in pages}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_shows_the_answer_and_asks_the_network_for_nothing(tmp_path: Path, width: int, dark: bool) -> None:
    page = tmp_path / "report.html"
    write_report(renamed(full_result([0, 1, 0, 1, 2, 2]), "<img src='http://example.com/x.png'>"), page)
    said = opened(page, tmp_path, width, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert "CONSOLE" not in said
    assert requests(tmp_path) == set()
    shot = imread(tmp_path / "shot.png")[:, :, :3]
    assert shot.shape[1] == width
    assert len(np.unique((shot * 255).astype(int).reshape(-1, 3), axis=0)) > 50
    assert (np.median(shot) < 0.5) == dark


PAGES = {"twelve": full_result([0, 1, 0, 1, 2, 2] * 2), "fleet": fleet(300), "guess": fleet(300, "budget")}
PAGES |= {"tolerance": within(PAGES["twelve"]), "fleet within a tolerance": within(PAGES["fleet"])}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_screen(browser: Browser, tmp_path: Path, name: str) -> None:
    page = tmp_path / "report.html"
    origin = Origin("2026-01-31T09:30:00+00:00", "s3://" + "a" * 300, "kabc run " + "b" * 300, "9.9")
    write_report(dataclasses.replace(PAGES[name], origin=origin), page)
    for width in (390, 768, 1400):
        browser.open(page, width, dark=width == 768)
        assert browser.value("document.documentElement.scrollWidth") <= width


def shown_arms(browser: Browser) -> list[str]:
    rows = "document.querySelectorAll('#arms-table tbody tr:not([hidden]) th')"
    found: list[str] = browser.value(f"Array.from({rows}, cell => cell.textContent)")
    return found


def test_the_table_is_searched_and_sorted(browser: Browser, tmp_path: Path) -> None:
    page, result = tmp_path / "report.html", fleet(300)
    write_report(result, page)
    browser.open(page, 1400)
    first = shown_arms(browser)
    assert len(first) == 300
    head = "Array.from(document.querySelectorAll('#arms-table th[data-sort] button'))"
    for name, place in (("Arm", 0), ("median", 5), ("Oddness", 3)):
        click = f"{head}.find(button => button.textContent === '{name}').click()"
        cells = f"Array.from(document.querySelectorAll('#arms-table tbody tr'), r => r.cells[{place}].textContent)"
        browser.value(click)
        values = browser.value(cells)
        keys = values if place == 0 else [float(value) for value in values]
        assert keys == sorted(keys, reverse=name == "Oddness")
        browser.value(click)
        again = browser.value(cells)
        assert again[0] == (min(values, key=float) if name == "Oddness" else values[-1])
        assert sorted(shown_arms(browser)) == sorted(first)
    typed = (
        "const box = document.querySelector('#arms-tools input'); box.value = %r; box.dispatchEvent(new Event('input'))"
    )
    browser.value("{" + typed % "NODE-007" + "}")
    assert sorted(shown_arms(browser)) == [f"node-{arm:04d}.eu-west.example.net" for arm in range(70, 80)]
    assert browser.value("document.querySelector('#arms-tools output').textContent") == "10 of 300 arms"
    browser.value("document.querySelector('a[data-group]').click()")
    group = browser.value("document.querySelector('a[data-group]').getAttribute('data-group')")
    assert set(shown_arms(browser)) == set(result.groups[int(group) - 1])


def test_without_its_script_the_page_shows_everything_but_the_tools(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report(fleet(300), page)
    texts = []
    for script in (False, True):
        browser.open(page, 1400, script=script)
        tools = browser.value("getComputedStyle(document.getElementById('arms-tools')).display")
        assert (tools == "none") is not script
        browser.value("document.getElementById('arms-tools').remove()")
        texts.append(browser.value("document.body.innerText"))
    assert texts[0] == texts[1]
    assert "node-0299.eu-west.example.net" in texts[0]


def test_paper_shows_the_first_arms_and_says_so(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report(fleet(300), page)
    browser.open(page, 1400)
    browser.call("Emulation.setEmulatedMedia", media="print")
    seen = "Array.from(document.querySelectorAll('#arms-table tbody tr')).filter(row => row.offsetParent).length"
    assert browser.value(seen) == 100
    assert "The first 100 of 300 arms." in browser.value("document.body.innerText")
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.value(seen) == 300
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_page_that_does_ask_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "asks.html"
    page.write_text("<img src='http://127.0.0.1:9/x.png'>", encoding="utf-8")
    opened(page, tmp_path, 400)
    assert requests(tmp_path) == {"http://127.0.0.1:9/x.png"}
