"""kabc in a real notebook kernel."""

from __future__ import annotations

import importlib.util

import pytest

from tests.notebooks import Outputs, displayed, executed, printed

HOSTS = """
import time, numpy as np, polars as pl, kabc
rng = np.random.default_rng(3)
hosts = np.arange(900) % 3
frame = pl.DataFrame({"host": [f"h{i}" for i in hosts], "seconds": rng.normal(4.0 * (hosts == 2))})
result = kabc.cluster(frame.to_pandas(), 2, arm="host", seed=0)
print(result.groups)
"""

SLOW = """
import IPython.display
lines, usual = [], IPython.display.display
def heard(data, **how):
    lines.append(data["text/plain"])
    usual(data, **how)
IPython.display.display = heard
def slow(mean):
    def draw(n, rng):
        time.sleep(0.4)
        return rng.normal(mean, 1, n)
    return draw
slowly = kabc.cluster({"a": slow(0), "b": slow(0), "c": slow(9)}, 2, seed=0)
IPython.display.display = usual
print(lines[0])
"""


@pytest.fixture(scope="module")
def cells() -> list[Outputs]:
    return executed(HOSTS, SLOW, "result", "result.to_frame()", "result.plot('values')")


@pytest.mark.skipif(importlib.util.find_spec("ipywidgets") is not None, reason="ipywidgets is installed")
def test_frames_are_read_without_widgets(cells: list[Outputs]) -> None:
    assert printed(cells[0]) == "(('h0', 'h1'), ('h2',))\n"


def test_progress_is_one_line_that_changes_and_is_gone_at_the_end(cells: list[Outputs]) -> None:
    assert printed(cells[1], "stderr") == ""
    assert printed(cells[1]).startswith("round ")
    (line,) = displayed(cells[1])
    assert line["text/plain"] == ""


def test_a_result_is_a_page_a_frame_and_a_picture(cells: list[Outputs]) -> None:
    (page,), (frame,), (picture,) = map(displayed, cells[2:])
    assert "2 groups, wrong with probability at most 5 %" in page["text/html"]
    assert "2 groups, wrong with probability at most 5 %" in page["text/plain"]
    assert "<table" in frame["text/html"]
    assert picture["image/png"]


LONG = """
import time, kabc
import IPython.display
lines, usual = [], IPython.display.display
def heard(data, **how):
    lines.append(data["text/plain"])
    usual(data, **how)
IPython.display.display = heard
def slow(n, rng):
    time.sleep(4)
    raise KeyboardInterrupt  # nothing is shown after it: what is there came while it was drawing
print(kabc.cluster({"a": slow, "b": slow}, 2, seed=0).status)
print(lines[0])
"""


def test_a_draw_that_takes_long_is_shown_below_the_cell() -> None:
    (cell,) = executed(LONG)
    status, line = printed(cell).splitlines()
    assert status == "interrupted"
    assert line.startswith("round 1: drawing, 0 of 2 draws done, 0 samples so far")
    (shown,) = displayed(cell)
    assert shown["text/plain"] == ""
