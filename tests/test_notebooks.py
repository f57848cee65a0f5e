"""kabc in a real notebook kernel."""

from __future__ import annotations

import importlib.util

import pytest

from tests.notebooks import displayed, executed, printed

HOSTS = """
import numpy as np, polars as pl, kabc
rng = np.random.default_rng(3)
hosts = np.arange(900) % 3
frame = pl.DataFrame({"host": [f"h{i}" for i in hosts], "seconds": rng.normal(4.0 * (hosts == 2))})
"""


@pytest.mark.skipif(importlib.util.find_spec("ipywidgets") is not None, reason="ipywidgets is installed")
def test_frames_are_read_without_widgets() -> None:
    cells = executed(HOSTS, 'print(kabc.cluster(frame.to_pandas(), 2, arm="host", seed=0).groups)')
    assert printed(cells[1]) == "(('h0', 'h1'), ('h2',))\n"


SLOW = """
import time, kabc
def slow(n, rng):
    time.sleep(4)
    raise KeyboardInterrupt  # nothing is shown after it: what is there came while it was drawing
print(kabc.cluster({"a": slow, "b": slow}, 2, seed=0).status)
"""


def test_a_draw_that_takes_long_is_shown_below_the_cell() -> None:
    (cell,) = executed(SLOW)
    assert printed(cell) == "interrupted\n"
    (shown,) = displayed(cell)
    assert shown["text/plain"].startswith("round 1: drawing, 0 of 2 draws done, 0 samples so far")
