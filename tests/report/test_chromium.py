"""A real browser opens the report: it shows something, and asks the network for nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from kabc.report import write_report
from tests.report.examples import full_result
from tests.report.test_drawers import renamed

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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


def test_a_page_that_does_ask_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "asks.html"
    page.write_text("<img src='http://127.0.0.1:9/x.png'>", encoding="utf-8")
    opened(page, tmp_path, 400)
    assert requests(tmp_path) == {"http://127.0.0.1:9/x.png"}
