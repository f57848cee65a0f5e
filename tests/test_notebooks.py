"""kabc in a real notebook kernel."""

from __future__ import annotations

import importlib.util

import pytest

from tests.notebooks import executed, printed

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
